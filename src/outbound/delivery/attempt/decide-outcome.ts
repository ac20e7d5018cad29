/**
 * Decides from the outcome of an attempt what happens to the queue entry. Pure except for `wasReachedBefore`.
 *
 * An entry that expires is `bounced` (soft) if any server ever answered for it, and `failed` if none was reached. It is
 * also `failed` if its sending domain was deleted. The caller passes outcomes that cannot be classified as deferrals.
 */
import { assertNever } from '../../../base/mail/assert-never.js'
import type { Reason } from '../../../base/mail/reasons.js'
import { type Retry, type RetryPolicy, scheduleRetry } from '../queue/retry-schedule.js'
import type { AttemptOutcome } from '../smtp/attempt-result.js'

type ScheduledRetry = Extract<Retry, { kind: 'again' }>

export interface EntryAge {
  readonly enqueuedAt: number
  /** The number of attempts, including this one. */
  readonly attempts: number
  readonly noticed: boolean
  /** True if a server answered in an earlier attempt. It counts only for a deferral without an answer. */
  readonly wasReachedBefore: boolean
}

export type Decision =
  | { readonly kind: 'accepted'; readonly final: boolean; readonly dsnRelayed: boolean }
  | {
      readonly kind: 'deferred'
      readonly at: number
      readonly notice: boolean
      readonly reason: Reason
      readonly status: string
    }
  | {
      readonly kind: 'bounced'
      readonly hard: boolean
      readonly reason: Reason
      /** The enhanced status code for the DSN. */
      readonly status: string
      readonly recipientsFault: boolean
    }
  | { readonly kind: 'failed'; readonly reason: Reason; readonly status: string }

export function decideOutcome(
  outcome: AttemptOutcome,
  age: EntryAge,
  policy: RetryPolicy,
  now: number,
  random: number,
): Decision {
  switch (outcome.kind) {
    case 'accepted':
      return { kind: 'accepted', final: outcome.final, dsnRelayed: outcome.dsnRelayed }
    case 'refused':
      if (outcome.reason === 'domain-deleted') return { kind: 'failed', reason: outcome.reason, status: outcome.status }
      return {
        kind: 'bounced',
        hard: true,
        reason: outcome.reason,
        status: outcome.status,
        recipientsFault: outcome.recipientsFault,
      }
    case 'deferred': {
      const retry = retryOf(outcome, now) ?? scheduleRetry(age, policy, now, random)
      if (retry.kind === 'again') return toDeferredDecision(outcome, retry)
      return outcome.reached || age.wasReachedBefore
        ? { kind: 'bounced', hard: false, reason: 'expired', status: '4.4.7', recipientsFault: false }
        : { kind: 'failed', reason: 'expired', status: '4.4.7' }
    }
    default:
      return assertNever(outcome)
  }
}

/** Returns what the outcome says about the next attempt, or null if the schedule decides. */
function retryOf({ retry }: Extract<AttemptOutcome, { kind: 'deferred' }>, now: number): Retry | null {
  if (retry === undefined) return null
  return retry === 'never' ? { kind: 'expired' } : { kind: 'again', at: now + retry.after, notice: false }
}

function toDeferredDecision(
  outcome: Extract<AttemptOutcome, { kind: 'deferred' }>,
  { at, notice }: ScheduledRetry,
): Decision {
  const { reason, status = '4.0.0', retryAt = at } = outcome
  return { kind: 'deferred', at: Math.min(at, retryAt), notice, reason, status }
}
