/**
 * Events as SendGrid sends them: a list with one event. `signing.ts` signs the request with the key pair of the
 * webhook.
 */
import { EventData } from './event-data.js'
import { type EventFormat, type FormattedEvent, JSON_TYPE } from './event-format.js'
import { readPlainTags } from './plain-tags.js'
import { replaceTest, TEST_TYPE } from './sample-event.js'
import { readReplyCodes } from './smtp-reply.js'

type Fields = Readonly<Record<string, unknown>>

const writers: ReadonlyMap<string, (data: EventData) => Fields> = new Map<string, (data: EventData) => Fields>([
  ['email.queued', () => ({ event: 'processed' })],
  ['email.delivered', (data) => ({ event: 'delivered', response: data.text('response') || '250 OK' })],
  ['email.deferred', writeDeferred],
  ['email.bounced', (data) => writeBounce(data, data.text('bounce_reason'))],
  ['email.failed', (data) => writeBounce(data, data.text('response') || data.text('reason'))],
  ['email.suppressed', (data) => ({ event: 'dropped', reason: dropReasons.get(data.text('reason')) ?? 'Invalid' })],
  ['email.complained', () => ({ event: 'spamreport' })],
  ['email.opened', (data) => ({ event: 'open', ...visitFields(data), sg_machine_open: isMachine(data) })],
  ['email.clicked', (data) => ({ event: 'click', ...visitFields(data), url: data.text('url') })],
  ['email.unsubscribed', () => ({ event: 'unsubscribe' })],
])

export const sendgrid: EventFormat = {
  types: new Set([...writers.keys(), 'email.received', TEST_TYPE]),
  compose: (original) => {
    const event = replaceTest(original)
    const data = new EventData(event.data)
    const fields = { ...commonFields(data, event), ...writers.get(event.type)?.(data) }
    return { body: JSON.stringify([fields]), contentType: JSON_TYPE }
  },
}

/** Values by name stand beside the fields, as its unique arguments do. They never replace one of the fields. */
function commonFields(data: EventData, { id, createdAt, email }: FormattedEvent): Fields {
  const { words, values } = readPlainTags(data, email)
  return {
    ...values,
    email: data.text('to'),
    timestamp: Math.floor(createdAt / 1000),
    ...(email === null ? {} : { 'smtp-id': email.message_id }),
    ...(words.length === 0 ? {} : { category: words }),
    sg_event_id: id,
    sg_message_id: data.text('email_id'),
  }
}

function writeDeferred(data: EventData): Fields {
  return { event: 'deferred', response: data.text('response'), attempt: String(data.number('attempts') ?? 1) }
}

const blocks: ReadonlySet<string> = new Set([
  ...['spam-block', 'spam-content', 'policy', 'content', 'authentication', 'reverse-dns', 'mailbox-full', 'too-large'],
])

function writeBounce(data: EventData, reason: string): Fields {
  const { status } = readReplyCodes(reason)
  const isBlock = data.text('bounce_type') !== 'hard' || blocks.has(data.text('bounce_subtype'))
  return { event: 'bounce', reason, type: isBlock ? 'blocked' : 'bounce', ...(status === null ? {} : { status }) }
}

const dropReasons: ReadonlyMap<string, string> = new Map([
  ['hard_bounce', 'Bounced Address'],
  ['spam_complaint', 'Spam Reporting Address'],
  ['unsubscribe', 'Unsubscribed Address'],
])

function visitFields(data: EventData): Fields {
  return { useragent: data.text('user_agent'), ip: data.text('ip_address') }
}

function isMachine(data: EventData): boolean {
  return data.fields['machine'] === true
}
