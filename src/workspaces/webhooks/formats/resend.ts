/** Events as Resend sends them, signed with the fields `svix-*`. */
import { formatTimestamp } from '../../../base/platform/clock.js'
import { EventData } from './event-data.js'
import { type ComposedBody, type EmailFacts, type EventFormat, type FormattedEvent, JSON_TYPE } from './event-format.js'
import { replaceTest, TEST_TYPE } from './sample-event.js'

/** The names of Resend by ours. */
const names: ReadonlyMap<string, string> = new Map([
  ['email.sent', 'email.sent'],
  ['email.delivered', 'email.delivered'],
  ['email.deferred', 'email.delivery_delayed'],
  ['email.bounced', 'email.bounced'],
  ['email.failed', 'email.failed'],
  ['email.suppressed', 'email.suppressed'],
  ['email.complained', 'email.complained'],
  ['email.opened', 'email.opened'],
  ['email.clicked', 'email.clicked'],
  ['email.received', 'email.received'],
])

export const resend: EventFormat = {
  types: new Set([...names.keys(), TEST_TYPE]),
  compose: (event) => compose(replaceTest(event)),
}

function compose(event: FormattedEvent): ComposedBody {
  const { type, createdAt } = event
  const data = new EventData(event.data)
  const shared = type === 'email.received' ? receivedData(data, event) : emailData(data, event)
  // `data` comes last, because the content of an inbound message is inserted at its end.
  const body = { type: names.get(type) ?? type, created_at: formatTimestamp(createdAt), data: shared }
  return { body: JSON.stringify(body), contentType: JSON_TYPE }
}

function receivedData(data: EventData, { createdAt }: FormattedEvent): Readonly<Record<string, unknown>> {
  return {
    ...data.fields,
    email_id: data.text('inbound_email_id'),
    created_at: formatTimestamp(createdAt),
    cc: data.texts('cc'),
    bcc: [],
  }
}

function emailData(data: EventData, event: FormattedEvent): Readonly<Record<string, unknown>> {
  const { email, createdAt } = event
  const broadcast = data.text('broadcast_id')
  return {
    email_id: data.text('email_id'),
    created_at: formatTimestamp(createdAt),
    from: data.text('from') || (email?.from_email ?? ''),
    to: [data.text('to')],
    subject: data.text('subject') || (email?.subject ?? ''),
    tags: data.fields['tags'] ?? tagObjectOf(email),
    ...(email === null ? {} : { message_id: email.message_id }),
    ...(broadcast === '' ? {} : { broadcast_id: broadcast }),
    ...detailsOf(data, event),
  }
}

function tagObjectOf(email: EmailFacts | null): Readonly<Record<string, string>> {
  return Object.fromEntries((email?.tags ?? []).map(({ name, value }) => [name, value]))
}

function detailsOf(data: EventData, { type, createdAt }: FormattedEvent): Readonly<Record<string, unknown>> {
  const visit = { ipAddress: data.text('ip_address'), userAgent: data.text('user_agent') }
  const timestamp = formatTimestamp(data.time(['opened_at', 'clicked_at'], createdAt))
  switch (type) {
    case 'email.bounced':
      return { bounce: toBounce(data) }
    case 'email.failed':
      return { failed: { reason: data.text('response') || data.text('reason') } }
    case 'email.suppressed':
      return { suppressed: { message: 'The recipient is on the suppression list.', type: data.text('reason') } }
    case 'email.opened':
      return { open: { ...visit, timestamp } }
    case 'email.clicked':
      return { click: { ...visit, link: data.text('url'), timestamp } }
    default:
      return {}
  }
}

const subTypes: ReadonlyMap<string, string> = new Map([
  ['bad-mailbox', 'NoEmail'],
  ['mailbox-disabled', 'NoEmail'],
  ['mailbox-full', 'MailboxFull'],
  ['too-large', 'MessageTooLarge'],
  ['content', 'ContentRejected'],
  ['spam-content', 'ContentRejected'],
])

function toBounce(data: EventData): Readonly<Record<string, string>> {
  return {
    message: data.text('bounce_reason'),
    type: data.text('bounce_type') === 'hard' ? 'Permanent' : 'Transient',
    subType: subTypes.get(data.text('bounce_subtype')) ?? 'General',
  }
}
