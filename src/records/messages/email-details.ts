/**
 * The history of an email, attempt by attempt, and what comes next. It is the output of `posthorn explain` and
 * `posthorn send`, and the basis of the API's record.
 */
import type { Reason } from '../../base/mail/reasons.js'
import { formatTimestamp } from '../../base/platform/clock.js'
import { type Read, readTogether } from '../../base/storage/db/prepared.js'
import { parseJson } from '../../base/storage/tables/columns.js'
import type { Tag } from '../../base/storage/tables/email-tables.js'
import { HOLD, type Hold } from '../../base/storage/tables/hold.js'
import { type Email, emailById, emailOfAnyWorkspace } from './email/email.js'
import { countRecipients, type RecipientCounts } from './email/recipient-counts.js'
import { recipientOfAnyWorkspace, recipientsOfEmail } from './email/recipients.js'
import { rollUp } from './email/roll-up.js'
import { attemptsOfEmail } from './queue/attempts.js'
import { entryById, type QueueEntry } from './queue/queue.js'
import { waitsForOf } from './queue/waits-for.js'

type Attempt = Awaited<ReturnType<typeof attemptsOfEmail>>[number]
type Recipient = Awaited<ReturnType<typeof recipientsOfEmail>>[number]

export interface AttemptDetails {
  readonly number: number
  readonly at: string
  readonly duration_ms: number
  readonly mx: string | null
  readonly address: string | null
  readonly tls: string | null
  readonly outcome: Attempt['outcome']
  readonly reason: Reason | null
  readonly response: string
  readonly next_attempt_at: string | null
}

export interface RecipientDetails {
  /** The id of the recipient, which is also that of its queue entry. */
  readonly id: string
  readonly email: string
  readonly status: Recipient['status']
  readonly attempts: readonly AttemptDetails[]
  readonly last_response: string | null
  readonly reason: Reason | null
  readonly mx: string | null
  readonly next_attempt_at: string | null
  /** The host that is not called until then, and why, or a paused broadcast. Null if the entry waits for its time. */
  readonly waits_for: string | null
  readonly held: boolean
  /** Null if the entry is not held. `workspace`: a member holds it. `rule`: `waits_for` names the hold rule. */
  readonly held_by: 'operator' | 'workspace' | 'rule' | null
  readonly delivered_at: string | null
  readonly transcript: string | null
}

export interface EmailDetails {
  readonly id: string
  readonly message_id: string
  readonly from: string
  readonly to: readonly string[]
  readonly cc: readonly string[]
  readonly bcc: readonly string[]
  readonly reply_to: readonly string[]
  readonly subject: string
  readonly tags: readonly Tag[]
  /** `skipped` says why the message went out without it. */
  readonly tracking: { readonly open: boolean; readonly click: boolean; readonly skipped?: string }
  readonly priority: Email['priority']
  readonly template_id: string | null
  /** Only messages of a broadcast have it. */
  readonly broadcast_id?: string | undefined
  readonly status: Email['status']
  readonly recipient_counts: RecipientCounts
  readonly created_at: string
  readonly scheduled_for: string | null
  readonly sent_at: string | null
  readonly delivered_at: string | null
  readonly opened_at: string | null
  readonly clicked_at: string | null
  readonly bounced_at: string | null
  readonly recipients: readonly RecipientDetails[]
}

/** An email that was found by its id, or by the id of one recipient, which is also that of its queue entry. */
export interface EmailLookup {
  readonly email: Email
  /** Null for all recipients. */
  readonly recipientId: string | null
}

/** Searches all workspaces, for the operator. Returns null if no email and no recipient has this id. */
export async function findEmailOrRecipient(read: Read, id: string): Promise<EmailLookup | null> {
  const [email] = await emailOfAnyWorkspace(read, { id })
  if (email !== undefined) return { email, recipientId: null }
  const [recipient] = await recipientOfAnyWorkspace(read, { id })
  if (recipient === undefined) return null
  const [ofRecipient] = await emailOfAnyWorkspace(read, { id: recipient.email_id })
  return ofRecipient === undefined ? null : { email: ofRecipient, recipientId: id }
}

/** Returns the details with only the requested recipients. */
export function filterRecipients<Details extends Pick<EmailDetails, 'recipients'>>(
  { recipientId }: EmailLookup,
  story: Details,
): Details {
  if (recipientId === null) return story
  return { ...story, recipients: story.recipients.filter(({ id }) => id === recipientId) }
}

interface EmailKey {
  readonly workspaceId: string
  readonly id: string
}

/** Searches all workspaces, for the operator. Returns null if there is no such email. */
export async function detailsOfAnyWorkspace(read: Read, id: string): Promise<EmailDetails | null> {
  const [email] = await emailOfAnyWorkspace(read, { id })
  return email === undefined ? null : await readEmailDetails(read, { workspaceId: email.workspace_id, id })
}

/** Returns null if the workspace has no such email. */
export async function readEmailDetails(read: Read, { workspaceId, id }: EmailKey): Promise<EmailDetails | null> {
  const [known] = await emailById(read, { workspaceId, id })
  if (known === undefined) return null
  const key = { workspaceId, emailId: id }
  const [rows, attempts] = await readTogether(read, [recipientsOfEmail.with(key), attemptsOfEmail.with(key)])
  // Each read sees its own state of the database. The email is read last, so that it is at least as new as its
  // recipients.
  const [[newest], ...entries] = await readTogether(read, [
    emailById.with({ workspaceId, id }),
    ...rows.map((recipient) => entryById.with({ id: recipient.id })),
  ])
  const email = newest ?? known
  const recipients = rows.map((recipient, at) => toRecipientDetails(recipient, entries[at]?.[0], attempts))
  return {
    id,
    message_id: email.message_id,
    from: email.from_email,
    to: parseAddresses(email.to_emails),
    cc: parseAddresses(email.cc_emails),
    bcc: parseAddresses(email.bcc_emails),
    reply_to: parseAddresses(email.reply_to),
    subject: email.subject,
    tags: parseJson(email.tags),
    tracking: trackingOf(email),
    priority: email.priority,
    template_id: email.template_id,
    ...(email.broadcast_id === null ? {} : { broadcast_id: email.broadcast_id }),
    status: statusOf(email, rows),
    recipient_counts: countRecipients(rows),
    ...timestampsOf(email),
    recipients,
  }
}

function trackingOf({ track_opens, track_clicks, tracking_skipped }: Email): EmailDetails['tracking'] {
  const asked = { open: track_opens === 1, click: track_clicks === 1 }
  return tracking_skipped === null ? asked : { ...asked, skipped: tracking_skipped }
}

/** Returns the status that follows from the recipients. Complaint and cancellation belong to the email itself. */
function statusOf({ status }: Email, recipients: readonly Recipient[]): Email['status'] {
  if (status === 'complained') return status
  if (status === 'cancelled' && recipients.some((recipient) => recipient.status === status)) return status
  return rollUp(recipients.map((recipient) => recipient.status))
}

type TimestampField =
  | 'created_at'
  | 'scheduled_for'
  | 'sent_at'
  | 'delivered_at'
  | 'opened_at'
  | 'clicked_at'
  | 'bounced_at'

function timestampsOf(email: Email): Pick<EmailDetails, TimestampField> {
  return {
    created_at: formatTimestamp(email.created_at),
    scheduled_for: toTimestamp(email.scheduled_for),
    sent_at: toTimestamp(email.sent_at),
    delivered_at: toTimestamp(email.delivered_at),
    opened_at: toTimestamp(email.opened_at),
    clicked_at: toTimestamp(email.clicked_at),
    bounced_at: toTimestamp(email.bounced_at),
  }
}

function toRecipientDetails(
  recipient: Recipient,
  entry: QueueEntry | undefined,
  attempts: readonly Attempt[],
): RecipientDetails {
  return {
    id: recipient.id,
    email: recipient.address,
    status: recipient.status,
    attempts: attempts.filter(({ recipient_id }) => recipient_id === recipient.id).map(toAttemptDetails),
    last_response: recipient.last_response,
    reason: recipient.reason,
    mx: recipient.mx,
    // During an attempt the time in the queue is the end of the lease. A paused broadcast has no time.
    next_attempt_at: toTimestamp(
      entry === undefined || entry.leased === 1 || entry.held === HOLD.byBroadcast ? null : entry.next_attempt_at,
    ),
    waits_for: entry === undefined ? null : waitsForOf(entry),
    held: holderOf(entry?.held) !== null,
    held_by: holderOf(entry?.held),
    delivered_at: toTimestamp(recipient.delivered_at),
    transcript: recipient.transcript,
  }
}

/** Returns who holds the entry. Entries of a paused broadcast wait for it, and are not held. */
function holderOf(held: Hold | undefined): RecipientDetails['held_by'] {
  if (held === HOLD.byOperator) return 'operator'
  if (held === HOLD.byMember) return 'workspace'
  return held === HOLD.byRule ? 'rule' : null
}

function toAttemptDetails(attempt: Attempt): AttemptDetails {
  const { number, at, duration, mx, address, tls, outcome, reason, response } = attempt
  const times = {
    at: formatTimestamp(at),
    duration_ms: duration,
    next_attempt_at: toTimestamp(attempt.next_attempt_at),
  }
  return { number, mx, address, tls, outcome, reason, response, ...times }
}

function parseAddresses(json: Email['to_emails']): readonly string[] {
  return parseJson(json)
}

function toTimestamp(at: number | null): string | null {
  return at === null ? null : formatTimestamp(at)
}
