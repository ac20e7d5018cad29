/**
 * Events as Mailgun lists them and as it sends them
 * (https://documentation.mailgun.com/docs/mailgun/user-manual/events).
 */
import type { EventType } from '../../../base/storage/tables/email-tables.js'
import { EventData } from './event-data.js'
import type { FormattedEvent } from './event-format.js'
import { readPlainTags } from './plain-tags.js'
import { readReplyCodes } from './smtp-reply.js'

type Fields = Readonly<Record<string, unknown>>
type Severity = 'temporary' | 'permanent'

interface Kind {
  readonly type: EventType
  readonly event: string
  readonly severity?: Severity
  readonly more?: (data: EventData) => Fields
}

/** Opens and clicks of programs are events too, and `client-info` says so. */
const kinds: readonly Kind[] = [
  { type: 'email.queued', event: 'accepted' },
  { type: 'email.delivered', event: 'delivered', more: (data) => deliveryStatus(data, '250 OK') },
  { type: 'email.suppressed', event: 'failed', severity: 'permanent', more: suppressedFields },
  {
    ...{ type: 'email.deferred', event: 'failed', severity: 'temporary' },
    more: (data) => ({ reason: 'generic', ...deliveryStatus(data) }),
  },
  {
    ...{ type: 'email.bounced', event: 'failed', severity: 'permanent' },
    more: (data) => ({ reason: data.text('bounce_type') === 'soft' ? 'old' : 'bounce', ...deliveryStatus(data) }),
  },
  {
    ...{ type: 'email.failed', event: 'failed', severity: 'permanent' },
    more: (data) => ({ reason: 'generic', ...deliveryStatus(data) }),
  },
  { type: 'email.opened', event: 'opened', more: visitFields },
  { type: 'email.clicked', event: 'clicked', more: (data) => ({ ...visitFields(data), url: data.text('url') }) },
  { type: 'email.complained', event: 'complained', more: () => ({ 'log-level': 'warn' }) },
  { type: 'email.unsubscribed', event: 'unsubscribed' },
]

/** Types of our log that are one of these events, of all if it is null, and of this severity if there is one. */
export function typesOfMailgunEvents(names: readonly string[] | null, severity?: Severity): readonly EventType[] {
  return kinds
    .filter((kind) => names === null || names.includes(kind.event))
    .filter((kind) => severity === undefined || kind.severity === severity)
    .map(({ type }) => type)
}

type MailgunSource = Pick<FormattedEvent, 'id' | 'type' | 'createdAt' | 'data' | 'email'>

export function writeMailgunEvent({ id, type, createdAt, data: json, email }: MailgunSource): Fields {
  const data = new EventData(json)
  const kind = kinds.find((one) => one.type === type)
  const recipient = data.text('to')
  const { words, values } = readPlainTags(data, email)
  return {
    ...{ id, event: kind?.event, timestamp: createdAt / 1_000 },
    'log-level': kind?.severity === 'permanent' ? 'error' : kind?.severity === 'temporary' ? 'warn' : 'info',
    recipient,
    'recipient-domain': recipient.slice(recipient.lastIndexOf('@') + 1),
    ...{ tags: words, 'user-variables': values, campaigns: [] },
    message: { headers: headersOf(data, recipient, email), attachments: [], size: email?.size ?? 0 },
    envelope: { sender: email?.from_email ?? data.text('from'), targets: recipient, transport: 'smtp' },
    flags: { 'is-routed': false, 'is-authenticated': true, 'is-system-test': false, 'is-test-mode': false },
    ...(kind?.severity === undefined ? {} : { severity: kind.severity }),
    ...kind?.more?.(data),
  }
}

function headersOf(data: EventData, recipient: string, email: MailgunSource['email']): Fields {
  if (email === null) return { from: data.text('from'), to: recipient, subject: data.text('subject') }
  return {
    'message-id': email.message_id.replace(/^<|>$/g, ''),
    from: email.from_email,
    to: email.to_emails.join(', '),
    subject: email.subject,
  }
}

function deliveryStatus(data: EventData, otherwise = ''): Fields {
  const message = data.text('bounce_reason') || data.text('response') || otherwise
  const { code, status } = readReplyCodes(message)
  return {
    'delivery-status': {
      ...{ code: code ?? 0, message, description: '' },
      ...(status === null ? {} : { 'enhanced-code': status }),
      'attempt-no': data.number('attempts') ?? 1,
    },
  }
}

/** Clients recognize a recipient who is on a suppression list by the code. */
function suppressedFields(data: EventData): Fields {
  const reason = data.text('reason')
  const [word, code, list] =
    reason === 'unsubscribe'
      ? ['suppress-unsubscribe', 606, 'unsubscribed']
      : reason === 'spam_complaint'
        ? ['suppress-complaint', 607, 'complained']
        : ['suppress-bounce', 605, 'bounced']
  const message = `Not delivering to previously ${list} address`
  return { reason: word, 'delivery-status': { code, message, description: '', 'attempt-no': 1 } }
}

function visitFields(data: EventData): Fields {
  const isProgram = data.fields['machine'] === true
  return {
    ip: data.text('ip_address'),
    geolocation: { country: 'Unknown', region: 'Unknown', city: 'Unknown' },
    'client-info': {
      'user-agent': data.text('user_agent'),
      'client-type': isProgram ? 'robot' : 'unknown',
      ...{ 'client-os': 'unknown', 'device-type': 'unknown', 'client-name': 'unknown' },
      ...(isProgram ? { bot: 'generic' } : {}),
    },
  }
}
