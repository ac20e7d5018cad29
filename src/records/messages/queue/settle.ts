/**
 * To *settle* a recipient is to write its final state and remove its queue entry. Each effect of an attempt, or of the
 * operator, is one commit of the queue entry, the recipient, the email's roll-up, the attempt and the event.
 *
 *   queued -> delivered | sent | bounced | failed      settled: the entry leaves the queue
 *   queued -> queued                                   deferred: the entry waits
 */

import type { Reason } from '../../../base/mail/reasons.js'
import { formatTimestamp } from '../../../base/platform/clock.js'
import type { Write } from '../../../base/storage/db/write.js'
import type { RecipientStatus } from '../../../base/storage/tables/email-tables.js'
import { SERVICE_WORKSPACE } from '../../../base/storage/tables/tables.js'
import { recordEvent } from '../../events/event-log.js'
import { buildEmailEvent, type EmailSummary, type RecipientNews } from '../email/email-event.js'
import { markAttempt } from '../email/recipients.js'
import { rollUpEmail } from '../email/roll-up.js'
import { insertAttempt, type NewAttempt } from './attempts.js'
import { deferEntry, type QueueEntry, removeEntry } from './queue.js'

export interface AttemptRecord {
  readonly entry: QueueEntry
  readonly email: EmailSummary
  /** The number of this attempt, from 1. */
  readonly number: number
  readonly at: number
  readonly endedAt: number
  readonly mx: string | null
  readonly address: string | null
  readonly tls: string | null
  /** True if a server replied. */
  readonly reached: boolean
  readonly response: string
  readonly reason: Reason | null
  readonly transcript: string
}

/** Settles a recipient whose message the next hop accepted. `final`: the hop is an MX of the recipient's domain. */
export function settleAccepted(attempted: AttemptRecord, final: boolean): Write[] {
  const { endedAt } = attempted
  const status = final ? 'delivered' : 'sent'
  return [
    ...settleRecipient(attempted, status, { sentAt: endedAt, deliveredAt: final ? endedAt : null, bouncedAt: null }),
    ...recordNews(attempted, { type: 'email.sent', more: { sent_at: formatTimestamp(endedAt) } }),
    ...(final
      ? recordNews(attempted, { type: 'email.delivered', more: { delivered_at: formatTimestamp(endedAt) } })
      : []),
  ]
}

/** Settles a recipient that was refused permanently (`hard`), or expired after temporary refusals. */
export function settleBounced(attempted: AttemptRecord, hard: boolean): Write[] {
  return [
    ...settleRecipient(attempted, 'bounced', { sentAt: null, deliveredAt: null, bouncedAt: attempted.endedAt }),
    ...recordNews(attempted, {
      type: 'email.bounced',
      more: {
        bounce_type: hard ? 'hard' : 'soft',
        bounce_subtype: attempted.reason,
        bounce_reason: attempted.response,
      },
    }),
  ]
}

/** Settles a recipient that expired, and for which no server was ever reached. */
export function settleFailed(attempted: AttemptRecord): Write[] {
  return [
    ...settleRecipient(attempted, 'failed', { sentAt: null, deliveredAt: null, bouncedAt: null }),
    ...recordNews(attempted, {
      type: 'email.failed',
      more: { reason: attempted.reason, response: attempted.response },
    }),
  ]
}

/** Defers a recipient, to be tried again at `next`. */
export function settleDeferred(attempted: AttemptRecord, next: number, noticed: boolean): Write[] {
  const { entry, response } = attempted
  return [
    deferEntry({ id: entry.id, at: next, noticed: noticed ? 1 : 0, lastResponse: response }),
    markRecipient(attempted, 'queued'),
    insertAttempt(toAttemptRow(attempted, 'deferred', next)),
    ...recordNews(attempted, {
      type: 'email.deferred',
      more: {
        reason: attempted.reason,
        response,
        attempts: attempted.number,
        next_attempt_at: formatTimestamp(next),
      },
    }),
  ]
}

interface EmailTimes {
  readonly sentAt: number | null
  readonly deliveredAt: number | null
  readonly bouncedAt: number | null
}

function settleRecipient(
  attempted: AttemptRecord,
  outcome: NewAttempt['outcome'] & RecipientStatus,
  moments: EmailTimes,
): Write[] {
  return [
    removeEntry({ id: attempted.entry.id }),
    markRecipient(attempted, outcome),
    insertAttempt(toAttemptRow(attempted, outcome, null)),
    rollUpEmail({ emailId: attempted.email.id, ...moments }),
  ]
}

function markRecipient(attempted: AttemptRecord, status: RecipientStatus): Write {
  return markAttempt({
    id: attempted.entry.id,
    status,
    attempts: attempted.number,
    lastResponse: attempted.response,
    reason: attempted.reason,
    mx: attempted.mx,
    transcript: attempted.transcript,
    deliveredAt: status === 'delivered' ? attempted.endedAt : null,
    settledAt: status === 'queued' ? null : attempted.endedAt,
  })
}

function toAttemptRow(attempted: AttemptRecord, outcome: NewAttempt['outcome'], next: number | null): NewAttempt {
  return {
    workspace_id: attempted.email.workspace_id,
    email_id: attempted.email.id,
    recipient_id: attempted.entry.id,
    number: attempted.number,
    at: attempted.at,
    duration: attempted.endedAt - attempted.at,
    mx: attempted.mx,
    address: attempted.address,
    tls: attempted.tls,
    reached: attempted.reached ? 1 : 0,
    outcome,
    reason: attempted.reason,
    response: attempted.response,
    next_attempt_at: next,
  }
}

/** Records the event. The service's own mail has none, because it has no subscribers. */
function recordNews({ email, entry, endedAt: at }: AttemptRecord, news: RecipientNews): Write[] {
  if (email.workspace_id === SERVICE_WORKSPACE) return []
  return [recordEvent(buildEmailEvent({ email, recipient: entry.recipient, at, news }))]
}
