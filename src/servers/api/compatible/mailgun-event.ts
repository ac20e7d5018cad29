/** Events of our log as Mailgun's clients read them (https://documentation.mailgun.com/docs/mailgun/user-manual/events). */
import { domainOf, tryParseAddress } from '../../../base/mail/address.js'
import { isRecord } from '../../../base/platform/records.js'
import { parseJson } from '../../../base/storage/tables/columns.js'
import type { EventType, Tag } from '../../../base/storage/tables/email-tables.js'
import type { ListedEvent } from '../../../records/events/event-list.js'
import type { Email } from '../../../records/messages/email/email.js'

type Fields = Readonly<Record<string, unknown>>
type Data = Readonly<Record<string, unknown>>
type Severity = 'temporary' | 'permanent'

interface Kind {
  readonly type: EventType
  readonly event: string
  readonly severity?: Severity
  readonly more?: (data: Data) => Fields
}

/** Opens and clicks of programs are listed too, and `client-info` says so. */
const kinds: readonly Kind[] = [
  { type: 'email.queued', event: 'accepted' },
  { type: 'email.delivered', event: 'delivered', more: (data) => ({ 'delivery-status': statusOf(data, '250 OK') }) },
  { type: 'email.suppressed', event: 'failed', severity: 'permanent', more: suppressedFields },
  {
    ...{ type: 'email.deferred', event: 'failed', severity: 'temporary' },
    more: (data) => ({ reason: 'generic', 'delivery-status': statusOf(data) }),
  },
  {
    ...{ type: 'email.bounced', event: 'failed', severity: 'permanent' },
    more: (data) => ({ reason: data['bounce_type'] === 'soft' ? 'old' : 'bounce', 'delivery-status': statusOf(data) }),
  },
  {
    ...{ type: 'email.failed', event: 'failed', severity: 'permanent' },
    more: (data) => ({ reason: 'generic', 'delivery-status': statusOf(data) }),
  },
  { type: 'email.opened', event: 'opened', more: visitFields },
  { type: 'email.clicked', event: 'clicked', more: (data) => ({ ...visitFields(data), url: data['url'] }) },
  { type: 'email.complained', event: 'complained' },
  { type: 'email.unsubscribed', event: 'unsubscribed' },
]

/** Types of our log that are one of these events, of all if it is null, and of this severity if there is one. */
export function typesOfEvents(names: readonly string[] | null, severity: Severity | undefined): readonly EventType[] {
  return kinds
    .filter((kind) => names === null || names.includes(kind.event))
    .filter((kind) => severity === undefined || kind.severity === severity)
    .map(({ type }) => type)
}

/** The words of an email that are called `tag`, and the values of its other tags. */
interface Tags {
  readonly words: readonly string[]
  readonly values: Readonly<Record<string, string>>
}

export function readTags({ data }: ListedEvent, email: Email | undefined): Tags {
  const tags = email === undefined ? tagsOfData(parseJson(data)) : parseJson(email.tags)
  const others = tags.filter(({ name }) => name !== 'tag')
  return {
    words: tags.filter(({ name }) => name === 'tag').map(({ value }) => value),
    values: Object.fromEntries(others.map(({ name, value }) => [name, value])),
  }
}

/** Tags of an event whose email is no longer stored. */
function tagsOfData({ tags }: Data): readonly Tag[] {
  if (!isRecord(tags)) return []
  return Object.entries(tags).flatMap(([name, value]) => [value].flat().map((one) => ({ name, value: String(one) })))
}

/** `email` is absent if it is no longer stored. */
export function toMailgunEvent(event: ListedEvent, email: Email | undefined): Fields {
  const { id, type, created_at, recipient: to } = event
  const data = parseJson(event.data)
  const kind = kinds.find((one) => one.type === type)
  const recipient = to ?? ''
  const address = tryParseAddress(recipient)
  const { words, values } = readTags(event, email)
  return {
    ...{ id, event: kind?.event, timestamp: created_at / 1_000 },
    'log-level': kind?.severity === 'permanent' ? 'error' : kind?.severity === 'temporary' ? 'warn' : 'info',
    recipient,
    'recipient-domain': address === null ? '' : domainOf(address),
    ...{ tags: words, 'user-variables': values, campaigns: [] },
    message: { headers: headersOf(data, recipient, email), attachments: [], size: email?.size ?? 0 },
    envelope: { sender: email?.from_email ?? textIn(data, 'from'), targets: recipient, transport: 'smtp' },
    flags: { 'is-routed': false, 'is-authenticated': true, 'is-system-test': false, 'is-test-mode': false },
    ...(kind?.severity === undefined ? {} : { severity: kind.severity }),
    ...kind?.more?.(data),
  }
}

function headersOf(data: Data, recipient: string, email: Email | undefined): Fields {
  if (email === undefined) return { from: textIn(data, 'from'), to: recipient, subject: textIn(data, 'subject') }
  return {
    'message-id': email.message_id.replace(/^<|>$/g, ''),
    from: email.from_email,
    to: parseJson(email.to_emails).join(', '),
    subject: email.subject,
  }
}

function textIn(data: Data, name: string): string {
  const value = data[name]
  return typeof value === 'string' ? value : ''
}

/** The codes of SMTP at the beginning of a reply. */
const replyCodes = /^([245]\d\d)[ -](?:([245]\.\d{1,3}\.\d{1,3})\b)?/

function statusOf(data: Data, otherwise = ''): Fields {
  const message = textIn(data, 'bounce_reason') || textIn(data, 'response') || otherwise
  const [, code = '0', enhanced] = replyCodes.exec(message) ?? []
  const { attempts } = data
  return {
    ...{ code: Number(code), message, description: '' },
    ...(enhanced === undefined ? {} : { 'enhanced-code': enhanced }),
    'attempt-no': typeof attempts === 'number' ? attempts : 1,
  }
}

/** Clients recognize a recipient who is on a suppression list by the code. */
function suppressedFields({ reason }: Data): Fields {
  const [word, code, list] =
    reason === 'unsubscribe'
      ? ['suppress-unsubscribe', 606, 'unsubscribed']
      : reason === 'spam_complaint'
        ? ['suppress-complaint', 607, 'complained']
        : ['suppress-bounce', 605, 'bounced']
  const message = `Not delivering to previously ${list} address`
  return { reason: word, 'delivery-status': { code, message, description: '', 'attempt-no': 1 } }
}

function visitFields(data: Data): Fields {
  const isProgram = data['machine'] === true
  return {
    ip: data['ip_address'] ?? '',
    geolocation: { country: 'Unknown', region: 'Unknown', city: 'Unknown' },
    'client-info': {
      'user-agent': data['user_agent'] ?? '',
      'client-type': isProgram ? 'robot' : 'unknown',
      ...{ 'client-os': 'unknown', 'device-type': 'unknown', 'client-name': 'unknown' },
      ...(isProgram ? { bot: 'generic' } : {}),
    },
  }
}
