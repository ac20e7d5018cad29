/**
 * What is heard of a recipient after its last attempt: bounces of servers further on, success,
 * complaints, wishes to hear no more. Which state lets which news act, and what it becomes:
 *
 *                sent        delivered   bounced     queued, failed   scheduled, suppressed, cancelled
 *   refused      bounced     bounced     -           -                -
 *   given-up     event       event       -           -                -
 *   delayed      event       event       -           -                -
 *   delivered    delivered   -           -           -                -
 *   complained   event       event       event       event            -
 *   unsubscribed event       event       event       event            -
 *
 * A queued recipient was taken over at a moment when we did not hear it: its next attempt will
 * tell. People may have read it nevertheless, and what they want counts.
 *
 * News that changes no state is told once for each recipient; a report that comes again finds
 * its event, or the state that it made. Both are conditions of the writes, so that of two at
 * once one misses.
 */

import { isRecorded, recordEvent, recordFirstEvent } from '../events/event-log.js'
import { assertNever } from '../mail/assert-never.js'
import type { Reason } from '../mail/reasons.js'
import { formatTimestamp } from '../platform/clock.js'
import type { Read } from '../storage/prepared.js'
import type { EventType, RecipientStatus } from '../storage/tables/email-tables.js'
import type { Write } from '../storage/writer/write.js'
import { type Email, markComplained } from './email.js'
import { buildEmailEvent } from './email-event.js'
import { markReported, type Recipient } from './recipients.js'
import { rollUpEmail } from './roll-up.js'

interface FailureDetails {
  readonly reason: Reason
  /** The server's words, or the report's. */
  readonly diagnostic: string
}

/** `refused`: for good. `given-up`: after temporary refusals. `delayed`: it is still being tried. */
export type LateOutcome =
  | (FailureDetails & { readonly kind: 'refused' | 'given-up' | 'delayed' })
  | { readonly kind: 'delivered'; readonly diagnostic: string }
  | { readonly kind: 'complained'; readonly feedbackType: string }
  | { readonly kind: 'unsubscribed' }

type StatusTransitions = Readonly<Partial<Record<RecipientStatus, RecipientStatus>>>

const handedOverStates: StatusTransitions = { sent: 'sent', delivered: 'delivered' }
const attemptedStates: StatusTransitions = {
  ...handedOverStates,
  bounced: 'bounced',
  queued: 'queued',
  failed: 'failed',
}

const transitions: Readonly<Record<LateOutcome['kind'], StatusTransitions>> = {
  refused: { sent: 'bounced', delivered: 'bounced' },
  'given-up': handedOverStates,
  delayed: handedOverStates,
  delivered: { sent: 'delivered' },
  complained: attemptedStates,
  unsubscribed: attemptedStates,
}

/** The state afterwards, often the same; null: such news does not act in this one. */
export function nextStatus(status: RecipientStatus, news: LateOutcome['kind']): RecipientStatus | null {
  return transitions[news][status] ?? null
}

export interface OutcomeSubject {
  readonly recipient: Recipient
  readonly email: Email
}

/** `state`: not in the state that it is in. `repeated`: told before. */
export type LateOutcomeResult =
  | { readonly kind: 'acts'; readonly writes: readonly Write[] }
  | { readonly kind: 'ignored'; readonly why: 'state' | 'repeated' }

export function resolveLateOutcome(
  read: Read,
  about: OutcomeSubject,
  news: LateOutcome,
  at: number,
): LateOutcomeResult {
  const { recipient, email } = about
  const to = nextStatus(recipient.status, news.kind)
  if (to === null) return { kind: 'ignored', why: 'state' }
  const { type, more } = eventOf(news, at)
  const event = buildEmailEvent({ email, recipient: recipient.address, type, at, more })
  const writes = buildStatusWrites(about, news, to, at)
  if (to !== recipient.status) return { kind: 'acts', writes: [...writes, recordEvent(event)] }
  const since = isSoftFailure(news) ? (recipient.settled_at ?? 0) : 0
  if (isRecorded(read, event, since)) return { kind: 'ignored', why: 'repeated' }
  return { kind: 'acts', writes: [...writes, recordFirstEvent(event, since)] }
}

/** Its like is told before the last attempt as well: of those, only what came later counts as a repetition. */
function isSoftFailure({ kind }: LateOutcome): boolean {
  return kind === 'given-up' || kind === 'delayed'
}

function eventOf(news: LateOutcome, at: number): { readonly type: EventType; readonly more: Record<string, unknown> } {
  switch (news.kind) {
    case 'refused':
      return { type: 'email.bounced', more: toBounceDetails('hard', news) }
    case 'given-up':
      return { type: 'email.bounced', more: toBounceDetails('soft', news) }
    case 'delayed':
      return { type: 'email.deferred', more: { reason: news.reason, response: news.diagnostic } }
    case 'delivered':
      return { type: 'email.delivered', more: { delivered_at: formatTimestamp(at) } }
    case 'complained':
      return {
        type: 'email.complained',
        more: { feedback_type: news.feedbackType, complained_at: formatTimestamp(at) },
      }
    case 'unsubscribed':
      return { type: 'email.unsubscribed', more: { unsubscribed_at: formatTimestamp(at) } }
    default:
      return assertNever(news)
  }
}

function toBounceDetails(type: 'hard' | 'soft', { reason, diagnostic }: FailureDetails): Record<string, unknown> {
  return { bounce_type: type, bounce_subtype: reason, bounce_reason: diagnostic }
}

/** On the recipient and its email. What was given up keeps its state, but shows why. */
function buildStatusWrites(
  { recipient, email }: OutcomeSubject,
  news: LateOutcome,
  to: RecipientStatus,
  at: number,
): Write[] {
  const { id, workspace_id: workspaceId, status: from } = recipient
  const { last_response, reason, delivered_at: deliveredAt, settled_at: settledAt } = recipient
  const place = { id, workspaceId, from, to }
  const rolledUp = { emailId: email.id, sentAt: null, deliveredAt: null, bouncedAt: null }
  switch (news.kind) {
    case 'refused':
      return [
        markReported({ ...place, lastResponse: news.diagnostic, reason: news.reason, deliveredAt, settledAt: at }),
        rollUpEmail({ ...rolledUp, bouncedAt: at }),
      ]
    case 'given-up':
      return [markReported({ ...place, lastResponse: news.diagnostic, reason: news.reason, deliveredAt, settledAt })]
    case 'delivered':
      return [
        markReported({ ...place, lastResponse: last_response, reason, deliveredAt: at, settledAt: at }),
        rollUpEmail({ ...rolledUp, deliveredAt: at }),
      ]
    case 'complained':
      return [markComplained({ workspaceId, id: email.id })]
    case 'delayed':
    case 'unsubscribed':
      return []
    default:
      return assertNever(news)
  }
}
