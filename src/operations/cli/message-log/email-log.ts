/**
 * The life of one email as entries: accepted, prepared, signed, attempts, events of its readers, webhooks, reports to its
 * sender, acts of people, answers, and what is left of it.
 *
 * It reads records only. The address of the client that submitted it is in the log of the daemon and nowhere else.
 */
import { findFields, readFieldValue, scanHeaderOrEmpty } from '../../../base/mail/header-fields.js'
import { describeReason } from '../../../base/mail/reasons.js'
import { formatTimestamp } from '../../../base/platform/clock.js'
import { prepareRead, type Read } from '../../../base/storage/db/prepared.js'
import { LostBytes, orLost } from '../../../base/storage/db/write.js'
import { SERVICE_WORKSPACE } from '../../../base/storage/tables/tables.js'
import type { Email } from '../../../records/messages/email/email.js'
import { readRaw } from '../../../records/messages/email/raw-message.js'
import {
  type AttemptDetails,
  type EmailDetails,
  type EmailLookup,
  filterRecipients,
  type RecipientDetails,
  readEmailDetails,
} from '../../../records/messages/email-details.js'
import { isPassedOn } from '../../../records/messages/service-email.js'
import { describeLaterReport, describeNext } from '../../../records/messages/story/describe-next.js'
import { keyById } from '../../../workspaces/accounts/keys/api-keys.js'
import type { ShowProgress } from '../command/progress.js'
import { inboundAnswers } from './answers.js'
import { auditEntries } from './audit-entries.js'
import { eventEntries, eventsOfMessage } from './event-entries.js'
import { entryOf, joinParts, type LogEntry, sortEntries } from './log-entry.js'
import { ruleEntries } from './rule-entries.js'
import { webhookEntries } from './webhook-entries.js'

/** Milliseconds from an outcome to the notification about it. */
const MAX_DELAY = 10_000

/** Mails of the service that are read around one outcome, and outcomes that are read. */
const MAX_NOTICES = 100

const MAX_OUTCOMES = 100

const serviceMailBetween = prepareRead<{ from: number; to: number; limit: number }>()(({ db, slot }) =>
  db
    .selectFrom('emails')
    .select(['id', 'created_at', 'to_emails', 'subject', 'status'])
    .where('workspace_id', '=', SERVICE_WORKSPACE)
    .where('created_at', '>=', slot('from'))
    .where('created_at', '<=', slot('to'))
    .orderBy('created_at')
    .limit(slot('limit')),
)

/** Null if the email was removed. `keptFor` is the number of milliseconds that bytes are kept. */
export async function readEmailLog(
  read: Read,
  lookup: EmailLookup,
  { keptFor, showProgress }: { readonly keptFor: number; readonly showProgress: ShowProgress },
): Promise<readonly LogEntry[] | null> {
  const { email } = lookup
  const { id, workspace_id: workspaceId, created_at: since } = email
  const known = await readEmailDetails(read, { workspaceId, id })
  if (known === null) return null
  const story = filterRecipients(lookup, known)
  const raw = await orLost(() => readRaw(read, { workspaceId, emailId: id }))
  const events = await eventsOfMessage(read, email, new Set(story.recipients.map(({ email: address }) => address)))
  const ids = new Set([id, ...story.recipients.map((recipient) => recipient.id)])
  const outcomes = new Set(story.recipients.flatMap(({ attempts }) => attempts.map(endOf)))
  return sortEntries([
    await describeAcceptance(read, email, raw),
    ...describePreparation(email, story),
    ...(await signatureEntries(read, email)),
    ...story.recipients.flatMap(attemptEntries),
    ...eventEntries(events, outcomes),
    ...(await webhookEntries(read, workspaceId, events)),
    ...(await noticeEntries(read, email, [...outcomes, ...events.map(({ created_at }) => created_at)])),
    ...(await auditEntries(read, { workspaceId, ids, since })),
    ...(await ruleEntries(read, email, story.recipients)),
    ...(await inboundAnswers(read, email, showProgress)),
    ...story.recipients.flatMap(presentEntries),
    describeBytes(email, raw, keptFor),
  ])
}

async function describeAcceptance(read: Read, email: Email, raw: Buffer | LostBytes | undefined): Promise<LogEntry> {
  const { workspace_id: workspaceId, source, key_id, size, created_at, envelope_from, message_id } = email
  const [key] = key_id === null ? [] : await keyById(read, { workspaceId, id: key_id })
  const sender = key_id === null ? null : `key ${key === undefined ? key_id : `${key.key_prefix} (${key.name})`}`
  const protocol = raw instanceof Buffer ? protocolOf(raw) : null
  const from = source === 'smtp' ? `from <${envelope_from}>` : `from ${email.from_email}`
  return entryOf(
    created_at,
    'accepted',
    joinParts(`over ${protocol ?? source}`, `workspace ${workspaceId}`, sender, from, `${size} bytes`),
    {
      source,
      protocol,
      workspace_id: workspaceId,
      key_id,
      key_name: key?.name ?? null,
      size,
      envelope_from,
      message_id,
    },
  )
}

/**
 * The word after `with` of our Received field (RFC 3848): ESMTPSA came over TLS with AUTH. Null if it has no such
 * field.
 */
function protocolOf(raw: Buffer): string | null {
  const [received] = findFields(scanHeaderOrEmpty(raw), 'received')
  if (received === undefined) return null
  const words = readFieldValue(raw, received).split(/\s/, 20)
  return words[words.indexOf('with') + 1] ?? null
}

function describePreparation(email: Email, { recipients, tracking, priority }: EmailDetails): LogEntry[] {
  const tracked = [tracking.open ? 'opens' : null, tracking.click ? 'clicks' : null].filter((one) => one !== null)
  const suppressed = recipients.filter(({ status }) => status === 'suppressed').map(({ email: address }) => address)
  const queued = recipients.length - suppressed.length
  const trackingText = tracking.skipped ?? (tracked.length === 0 ? 'none' : tracked.join(' and '))
  const text = joinParts(
    `${queued} ${queued === 1 ? 'recipient' : 'recipients'} queued`,
    suppressed.length === 0 ? null : `left out because they are suppressed: ${suppressed.join(' ')}`,
    `tracking: ${trackingText}`,
    priority === 'normal' ? null : `priority ${priority}`,
    email.scheduled_for === null ? null : `scheduled for ${formatTimestamp(email.scheduled_for)}`,
  )
  return [entryOf(email.created_at, 'prepared', text, { suppressed, tracking, priority })]
}

const storedSignature = prepareRead<{ emailId: string; workspaceId: string }>()(({ db, slot }) =>
  db
    .selectFrom('dkim_signatures')
    .select(['created_at', 'field'])
    .where('email_id', '=', slot('emailId'))
    .where('workspace_id', '=', slot('workspaceId')),
)

async function signatureEntries(read: Read, { id: emailId, workspace_id: workspaceId }: Email): Promise<LogEntry[]> {
  return (await storedSignature(read, { emailId, workspaceId })).map(({ created_at, field }) => {
    const tags = new Map(
      field
        .slice(field.indexOf(':') + 1)
        .split(';')
        .map((tag) => [tag.split('=', 1)[0]?.trim() ?? '', tag.slice(tag.indexOf('=') + 1).trim()]),
    )
    const [domain, selector, algorithm] = ['d', 's', 'a'].map((name) => tags.get(name) ?? '')
    const text = `DKIM by ${domain}, selector ${selector}, ${algorithm}`
    return entryOf(created_at, 'signed', text, { domain, selector, algorithm })
  })
}

function endOf({ at, duration_ms: duration }: AttemptDetails): number {
  return Date.parse(at) + duration
}

function attemptEntries({ email: recipient, attempts }: RecipientDetails): LogEntry[] {
  return attempts.map((attempt) => {
    const { number, mx, address, tls, outcome, reason, response, duration_ms } = attempt
    const host = mx === null ? 'no host' : joinParts(`${mx}${address === null ? '' : ` [${address}]`}`, tls ?? 'no TLS')
    const why = reason === null ? null : describeReason(reason)
    const text = `${number} to ${recipient}, ${host}, ${duration_ms} ms: ${outcome}: ${response}${why === null ? '' : ` — ${why}`}`
    return entryOf(Date.parse(attempt.at), 'attempt', text, {
      ...{ recipient, number, mx, address, tls, outcome, reason, why, response, duration_ms },
      next_attempt_at: attempt.next_attempt_at,
    })
  })
}

/** The entries of the present state. */
function presentEntries(recipient: RecipientDetails): LogEntry[] {
  const { email: address, status, held_by } = recipient
  const later = describeLaterReport(recipient)
  const next = describeNext(recipient)
  const nextText = next === null ? null : `${next.before}${next.at ?? ''}${next.after}`
  const text = joinParts(`${address} is ${status}`, later, nextText)
  return [entryOf(null, 'now', text, { recipient: address, status, held_by, later, next: nextText })]
}

function describeBytes(email: Email, raw: Buffer | LostBytes | undefined, keptFor: number): LogEntry {
  if (raw instanceof LostBytes) {
    const facts = { stored: false, kept_until: null }
    return entryOf(null, 'bytes', `the message is not sent or shown: ${raw.message}`, facts)
  }
  const { created_at, size } = email
  if (isPassedOn(email)) {
    const when =
      raw === undefined ? 'were removed when all recipients were settled' : 'are kept until all recipients are settled'
    const facts = { stored: raw !== undefined, kept_until: null }
    return entryOf(null, 'bytes', `the ${size} bytes of the message, which was passed on, ${when}`, facts)
  }
  const until = formatTimestamp(created_at + keptFor)
  const text =
    raw === undefined
      ? `the bytes of the message were removed: retention.messages ended at ${until}`
      : `the ${size} bytes of the message are kept until ${until}, and longer while a recipient is not settled`
  return entryOf(null, 'bytes', text, { stored: raw !== undefined, kept_until: until })
}

/**
 * Finds the delivery status notifications that the sender of a message got: mail of the service that contains its
 * Message-ID.
 *
 * `outcomes` are the times at which a notification may have been made.
 */
async function noticeEntries(read: Read, email: Email, outcomes: readonly number[]): Promise<readonly LogEntry[]> {
  if (email.source !== 'smtp' || email.envelope_from === '') return []
  const found = new Map<string, LogEntry>()
  for (const outcome of [...new Set(outcomes)].slice(0, MAX_OUTCOMES)) {
    const near = { from: outcome, to: outcome + MAX_DELAY, limit: MAX_NOTICES }
    for (const { id, created_at, to_emails, subject, status } of await serviceMailBetween(read, near)) {
      if (found.has(id) || !to_emails.includes(email.envelope_from) || !(await isAbout(read, id, email))) continue
      const text = `"${subject}" to ${email.envelope_from}: ${status}, ${id}`
      found.set(
        id,
        entryOf(created_at, 'notification', text, { email_id: id, to: email.envelope_from, subject, status }),
      )
    }
  }
  return [...found.values()]
}

async function isAbout(read: Read, emailId: string, { message_id }: Email): Promise<boolean> {
  const raw = await orLost(() => readRaw(read, { workspaceId: SERVICE_WORKSPACE, emailId }))
  return raw instanceof Buffer && raw.includes(message_id)
}
