/**
 * What an attempt, or the operator, does to a recipient: always one commit of the
 * queue entry, the recipient, the email's roll-up, the attempt and the event.
 *
 *   queued -> delivered | sent | bounced | failed      settled: the entry leaves the queue
 *   queued -> queued                                   deferred: the entry waits
 */
import { type EventType, recordEvent } from '../../events/event-log.js'
import { timestamp } from '../../platform/clock.js'
import type { RecipientStatus } from '../../storage/tables/tables.js'
import { SERVICE } from '../../storage/tables/tables.js'
import type { Write } from '../../storage/writer/write.js'
import { type EmailSummary, emailEvent } from '../email-event.js'
import { markAttempt } from '../recipients.js'
import { rollUpEmail } from '../roll-up.js'
import { insertAttempt, type NewAttempt } from './attempts.js'
import { deferEntry, type QueueEntry, removeEntry } from './queue.js'

export interface Attempted {
  readonly entry: QueueEntry
  readonly email: EmailSummary
  /** Number of this attempt, from 1. */
  readonly number: number
  readonly at: number
  readonly endedAt: number
  readonly mx: string | null
  readonly address: string | null
  readonly tls: string | null
  /** Some server answered. */
  readonly reached: boolean
  readonly response: string
  readonly reason: string | null
  readonly transcript: string
}

/** A next hop has it. `final`: that hop is an MX of the recipient's domain. */
export function settleAccepted(attempted: Attempted, final: boolean): Write[] {
  const { endedAt } = attempted
  const status = final ? 'delivered' : 'sent'
  return [
    ...settled(attempted, status, { sentAt: endedAt, deliveredAt: final ? endedAt : null, bouncedAt: null }),
    ...event(attempted, 'email.sent', { sent_at: timestamp(endedAt) }),
    ...(final ? event(attempted, 'email.delivered', { delivered_at: timestamp(endedAt) }) : []),
  ]
}

/** Refused for good (`hard`), or expired after temporary refusals. */
export function settleBounced(attempted: Attempted, hard: boolean): Write[] {
  return [
    ...settled(attempted, 'bounced', { sentAt: null, deliveredAt: null, bouncedAt: attempted.endedAt }),
    ...event(attempted, 'email.bounced', {
      bounce_type: hard ? 'hard' : 'soft',
      bounce_subtype: attempted.reason,
      bounce_reason: attempted.response,
    }),
  ]
}

/** No server was ever reached, until it expired. */
export function settleFailed(attempted: Attempted): Write[] {
  return [
    ...settled(attempted, 'failed', { sentAt: null, deliveredAt: null, bouncedAt: null }),
    ...event(attempted, 'email.failed', { reason: attempted.reason, response: attempted.response }),
  ]
}

/** To be tried again at `next`. */
export function settleDeferred(attempted: Attempted, next: number, noticed: boolean): Write[] {
  const { entry, response } = attempted
  return [
    deferEntry({ id: entry.id, at: next, noticed: noticed ? 1 : 0, lastResponse: response }),
    mark(attempted, 'queued'),
    insertAttempt(attemptRow(attempted, 'deferred', next)),
    ...event(attempted, 'email.deferred', {
      reason: attempted.reason,
      response,
      attempt: attempted.number,
      next_attempt_at: timestamp(next),
    }),
  ]
}

interface Moments {
  readonly sentAt: number | null
  readonly deliveredAt: number | null
  readonly bouncedAt: number | null
}

function settled(attempted: Attempted, outcome: NewAttempt['outcome'] & RecipientStatus, moments: Moments): Write[] {
  return [
    removeEntry({ id: attempted.entry.id }),
    mark(attempted, outcome),
    insertAttempt(attemptRow(attempted, outcome, null)),
    rollUpEmail({ emailId: attempted.email.id, ...moments }),
  ]
}

function mark(attempted: Attempted, status: RecipientStatus): Write {
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

function attemptRow(attempted: Attempted, outcome: NewAttempt['outcome'], next: number | null): NewAttempt {
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

/** None for the service's own mail: nobody subscribes to it. */
function event({ email, entry, endedAt: at }: Attempted, type: EventType, more: Record<string, unknown>): Write[] {
  if (email.workspace_id === SERVICE) return []
  return [recordEvent(emailEvent({ email, recipient: entry.recipient, type, at, more }))]
}
