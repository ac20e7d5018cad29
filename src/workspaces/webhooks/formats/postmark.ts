/** Events as Postmark sends them. They are not signed: receivers ask for the credentials in the URL. */
import { formatTimestamp } from '../../../base/platform/clock.js'
import { EventData } from './event-data.js'
import { type EventFormat, type FormattedEvent, JSON_TYPE } from './event-format.js'
import { type PlainTags, readPlainTags } from './plain-tags.js'
import { replaceTest, TEST_TYPE } from './sample-event.js'
import { numberOf } from './stable-numbers.js'

type Fields = Readonly<Record<string, unknown>>

const SERVER_ID = 0
const STREAM = 'outbound'

const writers: ReadonlyMap<string, (data: EventData, event: FormattedEvent) => Fields> = new Map([
  ['email.delivered', writeDelivery],
  ['email.bounced', (data, event) => writeBounce(data, event, kindOfBounce(data))],
  ['email.failed', (data, event) => writeBounce(data, event, bounceKinds.SoftBounce)],
  ['email.complained', (data, event) => writeBounce(data, event, bounceKinds.SpamComplaint)],
  ['email.opened', writeOpen],
  ['email.clicked', writeClick],
  ['email.unsubscribed', writeSubscription],
])

export const postmark: EventFormat = {
  types: new Set([...writers.keys(), 'email.received', TEST_TYPE]),
  compose: (original) => {
    const event = replaceTest(original)
    const data = new EventData(event.data)
    const fields = writers.get(event.type)?.(data, event) ?? {}
    return { body: JSON.stringify(fields), contentType: JSON_TYPE }
  },
}

/** What all of its events about an email have. */
function commonFields(recordType: string, data: EventData, { email }: FormattedEvent): Fields {
  const tags: PlainTags = readPlainTags(data, email)
  const [tag] = tags.words
  return {
    RecordType: recordType,
    MessageStream: STREAM,
    ServerID: SERVER_ID,
    MessageID: data.text('email_id'),
    ...(tag === undefined ? {} : { Tag: tag }),
    Metadata: tags.values,
  }
}

function writeDelivery(data: EventData, event: FormattedEvent): Fields {
  return {
    ...commonFields('Delivery', data, event),
    Recipient: data.text('to'),
    DeliveredAt: formatTimestamp(data.time(['delivered_at'], event.createdAt)),
    Details: data.text('response'),
  }
}

interface BounceKind {
  readonly type: string
  readonly code: number
  readonly name: string
  readonly description: string
}

const bounceKinds = {
  HardBounce: {
    type: 'HardBounce',
    code: 1,
    name: 'Hard bounce',
    description: 'The server was unable to deliver the message: the mailbox does not exist.',
  },
  SoftBounce: {
    type: 'SoftBounce',
    code: 4096,
    name: 'Soft bounce',
    description: 'The message could not be delivered, but the address may be right.',
  },
  Blocked: {
    type: 'Blocked',
    code: 100_006,
    name: 'Blocked',
    description: 'The receiving side blocked the message for its content or its origin.',
  },
  DMARCPolicy: {
    type: 'DMARCPolicy',
    code: 100_009,
    name: 'DMARC policy',
    description: 'The receiving side refused the message because its authentication failed.',
  },
  SpamComplaint: {
    type: 'SpamComplaint',
    code: 100_001,
    name: 'Spam complaint',
    description: 'The recipient reported the message as spam.',
  },
} as const satisfies Readonly<Record<string, BounceKind>>

const kindBySubtype: ReadonlyMap<string, BounceKind> = new Map<string, BounceKind>([
  ['spam-block', bounceKinds.Blocked],
  ['spam-content', bounceKinds.Blocked],
  ['policy', bounceKinds.Blocked],
  ['content', bounceKinds.Blocked],
  ['reverse-dns', bounceKinds.Blocked],
  ['authentication', bounceKinds.DMARCPolicy],
  ['mailbox-full', bounceKinds.SoftBounce],
  ['too-large', bounceKinds.SoftBounce],
])

function kindOfBounce(data: EventData): BounceKind {
  if (data.text('bounce_type') === 'soft') return bounceKinds.SoftBounce
  return kindBySubtype.get(data.text('bounce_subtype')) ?? bounceKinds.HardBounce
}

function writeBounce(data: EventData, event: FormattedEvent, kind: BounceKind): Fields {
  const isComplaint = kind.type === 'SpamComplaint'
  return {
    ...commonFields(isComplaint ? 'SpamComplaint' : 'Bounce', data, event),
    ID: numberOf(event.id),
    Type: kind.type,
    TypeCode: kind.code,
    Name: kind.name,
    Description: kind.description,
    Details: data.text('bounce_reason') || data.text('response') || data.text('feedback_type'),
    Email: data.text('to'),
    From: data.text('from'),
    BouncedAt: formatTimestamp(data.time(['complained_at'], event.createdAt)),
    DumpAvailable: false,
    Inactive: isComplaint || kind.type === 'HardBounce',
    CanActivate: !isComplaint,
    Subject: data.text('subject'),
  }
}

function visitFields(data: EventData): Fields {
  return { UserAgent: data.text('user_agent'), Geo: { IP: data.text('ip_address') }, Recipient: data.text('to') }
}

function writeOpen(data: EventData, event: FormattedEvent): Fields {
  const at = data.time(['opened_at'], event.createdAt)
  return {
    ...commonFields('Open', data, event),
    ...visitFields(data),
    FirstOpen: event.email?.opened_at === at,
    ReceivedAt: formatTimestamp(at),
  }
}

function writeClick(data: EventData, event: FormattedEvent): Fields {
  return {
    ...commonFields('Click', data, event),
    ...visitFields(data),
    ClickLocation: 'HTML',
    OriginalLink: data.text('url'),
    ReceivedAt: formatTimestamp(data.time(['clicked_at'], event.createdAt)),
  }
}

function writeSubscription(data: EventData, event: FormattedEvent): Fields {
  return {
    ...commonFields('SubscriptionChange', data, event),
    Recipient: data.text('to'),
    ChangedAt: formatTimestamp(data.time(['unsubscribed_at'], event.createdAt)),
    Origin: 'Recipient',
    SuppressSending: true,
    SuppressionReason: 'ManualSuppression',
  }
}
