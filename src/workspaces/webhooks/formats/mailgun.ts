/** Events as Mailgun sends them. The signature is in the body: an HMAC over the time of the attempt and a token. */
import { createHmac } from 'node:crypto'
import { EventData } from './event-data.js'
import { type EventFormat, type FormattedEvent, JSON_TYPE } from './event-format.js'
import { readPlainTags } from './plain-tags.js'
import { replaceTest, TEST_TYPE } from './sample-event.js'
import { readReplyCodes } from './smtp-reply.js'
import { tokenOf } from './stable-numbers.js'

type Fields = Readonly<Record<string, unknown>>

const writers: ReadonlyMap<string, (data: EventData) => Fields> = new Map<string, (data: EventData) => Fields>([
  ['email.queued', () => ({ event: 'accepted', 'log-level': 'info' })],
  ['email.delivered', (data) => ({ event: 'delivered', 'log-level': 'info', ...deliveryStatus(data, '250 OK') })],
  ['email.deferred', (data) => writeFailure(data, 'temporary', 'generic')],
  ['email.bounced', (data) => writeFailure(data, 'permanent', 'bounce')],
  ['email.failed', (data) => writeFailure(data, 'permanent', 'generic')],
  ['email.suppressed', (data) => writeFailure(data, 'permanent', suppressReasonOf(data))],
  ['email.complained', () => ({ event: 'complained', 'log-level': 'warn' })],
  ['email.opened', (data) => ({ event: 'opened', 'log-level': 'info', ...visitFields(data) })],
  ['email.clicked', (data) => ({ event: 'clicked', 'log-level': 'info', ...visitFields(data), url: data.text('url') })],
  ['email.unsubscribed', () => ({ event: 'unsubscribed', 'log-level': 'info' })],
])

export const mailgun: EventFormat = {
  types: new Set([...writers.keys(), 'email.received', TEST_TYPE]),
  compose: (original) => {
    const event = replaceTest(original)
    const data = new EventData(event.data)
    const fields = { ...commonFields(data, event), ...writers.get(event.type)?.(data) }
    const body = { signature: signMailgun(event), 'event-data': fields }
    return { body: JSON.stringify(body), contentType: JSON_TYPE }
  },
}

interface MailgunSignature {
  /** Seconds since 1970. */
  readonly timestamp: string
  /** It is the same at each attempt. */
  readonly token: string
  readonly signature: string
}

export function signMailgun({ id, at, secret }: Pick<FormattedEvent, 'id' | 'at' | 'secret'>): MailgunSignature {
  const timestamp = String(Math.floor(at / 1000))
  const token = tokenOf(id)
  return { timestamp, token, signature: createHmac('sha256', secret).update(timestamp).update(token).digest('hex') }
}

function commonFields(data: EventData, { id, createdAt, email }: FormattedEvent): Fields {
  const { words, values } = readPlainTags(data, email)
  const recipient = data.text('to')
  return {
    id,
    timestamp: createdAt / 1000,
    recipient,
    'recipient-domain': recipient.slice(recipient.lastIndexOf('@') + 1),
    message: {
      headers: {
        ...(email === null ? {} : { 'message-id': email.message_id.replace(/^<|>$/g, '') }),
        from: data.text('from') || (email?.from_email ?? ''),
        to: recipient,
        subject: data.text('subject') || (email?.subject ?? ''),
      },
      attachments: [],
    },
    tags: words,
    'user-variables': values,
    campaigns: [],
    flags: { 'is-routed': false, 'is-authenticated': true, 'is-system-test': false, 'is-test-mode': false },
  }
}

function deliveryStatus(data: EventData, otherwise = ''): Fields {
  const message = data.text('bounce_reason') || data.text('response') || otherwise
  const { code, status } = readReplyCodes(message)
  return {
    'delivery-status': {
      code: code ?? 0,
      ...(status === null ? {} : { 'enhanced-code': status }),
      message,
      description: '',
      'attempt-no': data.number('attempts') ?? 1,
    },
  }
}

function writeFailure(data: EventData, severity: 'temporary' | 'permanent', reason: string): Fields {
  const level = severity === 'permanent' ? 'error' : 'warn'
  return { event: 'failed', 'log-level': level, severity, reason, ...deliveryStatus(data) }
}

function suppressReasonOf(data: EventData): string {
  const reason = data.text('reason')
  if (reason === 'unsubscribe') return 'suppress-unsubscribe'
  return reason === 'spam_complaint' ? 'suppress-complaint' : 'suppress-bounce'
}

function visitFields(data: EventData): Fields {
  return { ip: data.text('ip_address'), 'client-info': { 'user-agent': data.text('user_agent') } }
}
