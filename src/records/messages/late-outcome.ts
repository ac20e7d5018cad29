/**
 * Applies news about a recipient after its last attempt: bounces of later servers, success, complaints, unsubscribe
 * requests. The table says which status lets which news act, and the result:
 *
 *                sent        delivered   bounced     queued, failed   scheduled, suppressed, cancelled
 *   refused      bounced     bounced     -           -                -
 *   given-up     event       event       -           -                -
 *   delayed      event       event       -           -                -
 *   delivered    delivered   -           -           -                -
 *   complained   event       event       event       event            -
 *   unsubscribed event       event       event       event            -
 *
 * A server whose reply we did not get accepted the message of a queued recipient: its next attempt decides. People may
 * have read the message, so their complaints and requests count.
 *
 * News that changes no status is recorded once for each recipient. A repeated report finds its event, or the status
 * that it made. Both are conditions of the writes, so one of two concurrent reports misses.
 */

import { assertNever } from '../../base/mail/assert-never.js'
import type { Reason } from '../../base/mail/reasons.js'
import { formatTimestamp } from '../../base/platform/clock.js'
import type { Read } from '../../base/storage/db/prepared.js'
import type { Write } from '../../base/storage/db/write.js'
import type { RecipientStatus } from '../../base/storage/tables/email-tables.js'
import { isRecorded, recordEvent, recordFirstEvent } from '../events/event-log.js'
import type { EventPayloads } from '../events/payloads.js'
import { type Email, markComplained } from './email/email.js'
import { buildEmailEvent, type RecipientNews } from './email/email-event.js'
import { markRecipientComplained, markReported, type Recipient } from './email/recipients.js'
import { rollUpEmail } from './email/roll-up.js'

interface FailureDetails {
  readonly reason: Reason
  /** The server's text, or that of the report. */
  readonly diagnostic: string
}

/** `refused` is permanent. `given-up` follows temporary refusals. `delayed`: delivery is still being tried. */
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

/** Returns the status afterwards, which is often the same. Null if such news has no effect in this status. */
export function nextStatus(status: RecipientStatus, news: LateOutcome['kind']): RecipientStatus | null {
  return transitions[news][status] ?? null
}

export interface OutcomeSubject {
  readonly recipient: Recipient
  readonly email: Email
}

/** `state` means that the news has no effect in the current status; `repeated` that it was recorded before. */
export type LateOutcomeResult =
  | { readonly kind: 'acts'; readonly writes: readonly Write[] }
  | { readonly kind: 'ignored'; readonly why: 'state' | 'repeated' }

export async function resolveLateOutcome(
  read: Read,
  about: OutcomeSubject,
  news: LateOutcome,
  at: number,
): Promise<LateOutcomeResult> {
  const { recipient, email } = about
  const to = nextStatus(recipient.status, news.kind)
  if (to === null) return { kind: 'ignored', why: 'state' }
  const event = buildEmailEvent({ email, recipient: recipient.address, at, news: toRecipientNews(news, recipient, at) })
  const writes = buildStatusWrites(about, news, to, at)
  if (to !== recipient.status) return { kind: 'acts', writes: [...writes, recordEvent(event)] }
  const since = isSoftFailure(news) ? (recipient.settled_at ?? 0) : 0
  if (await isRecorded(read, event, since)) return { kind: 'ignored', why: 'repeated' }
  return { kind: 'acts', writes: [...writes, recordFirstEvent(event, since)] }
}

/** Such news may also come before the last attempt, so only later news counts as a repetition. */
function isSoftFailure({ kind }: LateOutcome): boolean {
  return kind === 'given-up' || kind === 'delayed'
}

function toRecipientNews(news: LateOutcome, { attempts }: Recipient, at: number): RecipientNews {
  switch (news.kind) {
    case 'refused':
      return { type: 'email.bounced', more: toBounceDetails('hard', news) }
    case 'given-up':
      return { type: 'email.bounced', more: toBounceDetails('soft', news) }
    case 'delayed': {
      const { reason, diagnostic: response } = news
      return { type: 'email.deferred', more: { reason, response, attempts, next_attempt_at: null } }
    }
    case 'delivered':
      return { type: 'email.delivered', more: { delivered_at: formatTimestamp(at) } }
    case 'complained': {
      const { feedbackType: feedback_type } = news
      return { type: 'email.complained', more: { feedback_type, complained_at: formatTimestamp(at) } }
    }
    case 'unsubscribed':
      return {
        type: 'email.unsubscribed',
        more: { unsubscribed_at: formatTimestamp(at), broadcast_id: null, contact_id: null },
      }
    default:
      return assertNever(news)
  }
}

type BounceDetails = Pick<EventPayloads['email.bounced'], 'bounce_type' | 'bounce_subtype' | 'bounce_reason'>

function toBounceDetails(type: 'hard' | 'soft', { reason, diagnostic }: FailureDetails): BounceDetails {
  return { bounce_type: type, bounce_subtype: reason, bounce_reason: diagnostic }
}

/** Builds the changes of the recipient and its email. `given-up` keeps the status, but shows the reason. */
function buildStatusWrites(
  { recipient, email }: OutcomeSubject,
  news: LateOutcome,
  to: RecipientStatus,
  at: number,
): Write[] {
  const { id, workspace_id: workspaceId, status: from } = recipient
  const { last_response, reason, delivered_at: deliveredAt, settled_at: settledAt } = recipient
  const change = { id, workspaceId, from, to }
  const rolledUp = { emailId: email.id, sentAt: null, deliveredAt: null, bouncedAt: null }
  switch (news.kind) {
    case 'refused':
      return [
        markReported({ ...change, lastResponse: news.diagnostic, reason: news.reason, deliveredAt, settledAt: at }),
        rollUpEmail({ ...rolledUp, bouncedAt: at }),
      ]
    case 'given-up':
      return [markReported({ ...change, lastResponse: news.diagnostic, reason: news.reason, deliveredAt, settledAt })]
    case 'delivered':
      return [
        markReported({ ...change, lastResponse: last_response, reason, deliveredAt: at, settledAt: at }),
        rollUpEmail({ ...rolledUp, deliveredAt: at }),
      ]
    case 'complained':
      return [
        markRecipientComplained({ id, workspaceId, at }),
        markComplained({ workspaceId, id: email.id }),
        rollUpEmail(rolledUp),
      ]
    case 'delayed':
    case 'unsubscribed':
      return []
    default:
      return assertNever(news)
  }
}
