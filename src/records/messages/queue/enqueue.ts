/**
 * The only way into the queue: an email, its bytes, its recipients, their entries and the first events, as writes of
 * one commit. Once that commit is on disk, this server is responsible for the email.
 */

import { type Address, domainOf } from '../../../base/mail/address.js'
import { uuidv7 } from '../../../base/platform/ids.js'
import { MessageBytes } from '../../../base/storage/db/message-bytes.js'
import type { Write } from '../../../base/storage/db/write.js'
import type { SuppressionReason } from '../../../base/storage/tables/content-tables.js'
import { HOLD } from '../../../base/storage/tables/hold.js'
import { SERVICE_WORKSPACE } from '../../../base/storage/tables/tables.js'
import { recordEvent } from '../../events/event-log.js'
import { type Email, insertEmail } from '../email/email.js'
import { buildEmailEvent } from '../email/email-event.js'
import { insertRaw } from '../email/raw-message.js'
import type { RecipientCountColumn } from '../email/recipient-counts.js'
import { type DsnRequest, insertRecipient } from '../email/recipients.js'
import { insertEntry, priorityRank, type QueueEntry } from './queue.js'

export interface NewRecipient {
  readonly address: Address
  readonly suppressed: boolean
  /** The reason on the suppression list. Absent if the address is not on it. */
  readonly suppressionReason?: SuppressionReason
  /** The NOTIFY of RFC 3461, such as `SUCCESS,FAILURE`. Null if the client did not give it. */
  readonly notify: string | null
  readonly orcpt: string | null
  /** An id from `createRecipientIds`, if the message already contains it. Otherwise it is made here. */
  readonly id?: string | undefined
}

/** Returns sorted ids. Ids of one millisecond have no order, and sorted ids keep the recipients in the given order. */
export function createRecipientIds(count: number, now: number): readonly string[] {
  return Array.from({ length: count }, () => uuidv7(now)).sort()
}

export type NewEmail = Pick<
  Email,
  | 'id'
  | 'workspace_id'
  | 'source'
  | 'message_id'
  | 'envelope_from'
  | 'envid'
  | 'ret'
  | 'from_email'
  | 'from_name'
  | 'to_emails'
  | 'cc_emails'
  | 'bcc_emails'
  | 'reply_to'
  | 'subject'
  | 'tags'
  | 'track_opens'
  | 'track_clicks'
  | 'tracking_skipped'
  | 'has_copies'
  | 'priority'
  | 'smtputf8'
  | 'created_at'
  | 'scheduled_for'
  | 'key_id'
  | 'template_id'
  | 'broadcast_id'
> &
  Partial<Pick<Email, 'tls_required'>> & {
    /** True for a test: the email is stored as cancelled, and nothing of it is queued. */
    readonly dropped?: boolean
  }

export interface EnqueuedEmail {
  readonly email: Email
  /** The entries are due now, or at the time of a scheduled email. */
  readonly entries: readonly QueueEntry[]
  /** DSN requests by the ids of their entries. */
  readonly dsnRequests: ReadonlyMap<string, DsnRequest>
  /** The message. What its commit leaves of it in memory need not be read back. */
  readonly bytes: MessageBytes
  readonly writes: readonly Write[]
  /** The element of `writes` that inserts the first entry. */
  readonly firstInsertion: Write | undefined
}

/** Returns the writes of an email whose first entry is leased until `until`, with its first attempt counted. */
export function writesWithLease(
  { email, entries: [entry], writes, firstInsertion }: EnqueuedEmail,
  until: number,
): Write[] {
  if (entry === undefined) return [...writes]
  const leased = toQueueEntry(email, entry)
  leased.attempts = 1
  leased.leased = 1
  leased.next_attempt_at = until
  return writes.map((write) => (write === firstInsertion ? insertEntry(leased) : write))
}

/** A message of a broadcast. Its bytes are not stored, but built from what these writes store. */
interface FramedBytes {
  readonly size: number
  readonly writes: readonly Write[]
}

/** An email whose recipients are all suppressed has failed: nothing of it is queued. */
export function enqueue(
  newEmail: NewEmail,
  recipients: readonly NewRecipient[],
  raw: Buffer | MessageBytes | FramedBytes,
): EnqueuedEmail {
  const framed = 'size' in raw ? raw : null
  const bytes = 'size' in raw ? MessageBytes.onDisk : raw instanceof MessageBytes ? raw : MessageBytes.copied(raw)
  const email = toEmailRow(newEmail, recipients, framed?.size ?? bytes.length)
  const isNamed = recipients.every(({ id }) => id !== undefined)
  const ids = isNamed ? [] : createRecipientIds(recipients.length, email.created_at)
  const rows = recipients.map((recipient, place) => ({ ...recipient, id: recipient.id ?? ids[place] ?? '' }))
  const queued = newEmail.dropped === true ? [] : rows.filter(({ suppressed }) => !suppressed)
  const entries = queued.map(({ id, address: recipient }) =>
    toQueueEntry(email, { id, recipient, domain: domainOf(recipient) }),
  )
  const dsnRequests = new Map(queued.map(({ id, notify, orcpt }) => [id, { notify, orcpt }]))
  const { id, workspace_id, created_at } = email
  const insertions = entries.map(insertEntry)
  const writes = [
    insertEmail(email),
    ...(framed?.writes ?? [insertRaw({ email_id: id, workspace_id, created_at, raw: bytes })]),
    ...rows.map((row) => insertRecipientRow(email, firstStatusOf(newEmail, recipients), row)),
    ...insertions,
  ]
  if (workspace_id !== SERVICE_WORKSPACE) {
    writes.push(...recordQueuedEvents(email, entries), ...recordSuppressedEvents(email, recipients))
  }
  return { email, entries, dsnRequests, bytes, writes, firstInsertion: insertions[0] }
}

/** Copies field by field, because V8 takes fifty times as long to spread so many fields into a new object. */
function toEmailRow(newEmail: NewEmail, recipients: readonly NewRecipient[], size: number): Email {
  const status = firstStatusOf(newEmail, recipients)
  const row = {
    id: newEmail.id,
    workspace_id: newEmail.workspace_id,
    source: newEmail.source,
    message_id: newEmail.message_id,
    envelope_from: newEmail.envelope_from,
    envid: newEmail.envid,
    ret: newEmail.ret,
    from_email: newEmail.from_email,
    from_name: newEmail.from_name,
    to_emails: newEmail.to_emails,
    cc_emails: newEmail.cc_emails,
    bcc_emails: newEmail.bcc_emails,
    reply_to: newEmail.reply_to,
    subject: newEmail.subject,
    tags: newEmail.tags,
    track_opens: newEmail.track_opens,
    track_clicks: newEmail.track_clicks,
    tracking_skipped: newEmail.tracking_skipped,
    has_copies: newEmail.has_copies,
    priority: newEmail.priority,
    size,
    smtputf8: newEmail.smtputf8,
    tls_required: newEmail.tls_required ?? null,
    status,
    created_at: newEmail.created_at,
    scheduled_for: newEmail.scheduled_for,
    sent_at: null,
    delivered_at: null,
    opened_at: null,
    clicked_at: null,
    bounced_at: null,
    key_id: newEmail.key_id,
    template_id: newEmail.template_id,
    from_domain: domainOf(newEmail.from_email),
    broadcast_id: newEmail.broadcast_id,
  }
  return Object.assign(row, firstCounts(status, recipients))
}

function firstCounts(status: FirstStatus, recipients: readonly NewRecipient[]): Pick<Email, RecipientCountColumn> {
  const suppressed = recipients.filter((recipient) => recipient.suppressed).length
  const others = recipients.length - suppressed
  return {
    recipients_queued: status === 'cancelled' ? 0 : others,
    recipients_sent: 0,
    recipients_delivered: 0,
    recipients_bounced: 0,
    recipients_failed: 0,
    recipients_suppressed: suppressed,
    recipients_cancelled: status === 'cancelled' ? others : 0,
    recipients_complained: 0,
  }
}

type FirstStatus = 'cancelled' | 'failed' | 'queued' | 'scheduled'

function firstStatusOf({ dropped, scheduled_for }: NewEmail, recipients: readonly NewRecipient[]): FirstStatus {
  if (dropped === true) return 'cancelled'
  if (recipients.every(({ suppressed }) => suppressed)) return 'failed'
  return scheduled_for === null ? 'queued' : 'scheduled'
}

function insertRecipientRow(email: Email, first: FirstStatus, row: NewRecipient & { readonly id: string }): Write {
  return insertRecipient({
    id: row.id,
    email_id: email.id,
    workspace_id: email.workspace_id,
    address: row.address,
    domain: domainOf(row.address),
    status: row.suppressed ? 'suppressed' : first,
    notify: row.notify,
    orcpt: row.orcpt,
    created_at: email.created_at,
  })
}

function toQueueEntry(
  email: Email,
  { id, recipient, domain }: Pick<QueueEntry, 'id' | 'recipient' | 'domain'>,
): QueueEntry {
  return {
    id,
    email_id: email.id,
    workspace_id: email.workspace_id,
    recipient,
    domain,
    priority: priorityRank[email.priority],
    attempts: 0,
    enqueued_at: email.scheduled_for ?? email.created_at,
    next_attempt_at: email.scheduled_for ?? email.created_at,
    leased: 0,
    held: HOLD.none,
    noticed: 0,
    last_response: null,
    waits_for: null,
    broadcast_id: email.broadcast_id,
  }
}

function recordQueuedEvents(email: Email, entries: readonly QueueEntry[]): readonly Write[] {
  const news = { type: 'email.queued', more: {} } as const
  return entries.map(({ recipient }) => recordEvent(buildEmailEvent({ email, recipient, at: email.created_at, news })))
}

function recordSuppressedEvents(email: Email, recipients: readonly NewRecipient[]): readonly Write[] {
  return recipients.flatMap(({ address: recipient, suppressionReason: reason }) => {
    if (reason === undefined) return []
    const news = { type: 'email.suppressed', more: { reason } } as const
    return [recordEvent(buildEmailEvent({ email, recipient, at: email.created_at, news }))]
  })
}
