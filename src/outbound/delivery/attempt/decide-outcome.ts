/**
 * Decides from the outcome of an attempt what happens to the queue entry. Pure but for
 * `wasReachedBefore`.
 *
 * An entry that expires is `bounced` (soft) if some server ever answered for it, and `failed` if none
 * was reached. It is `failed` also if its sending domain was deleted. Outcomes that cannot be classified
 * are deferrals already.
 */
import { assertNever } from '../../../base/mail/assert-never.js'
import type { Reason } from '../../../base/mail/reasons.js'
import { type Retry, type RetryPolicy, scheduleRetry } from '../queue/retry-schedule.js'
import type { AttemptOutcome } from '../smtp/attempt-result.js'

type ScheduledRetry = Extract<Retry, { kind: 'again' }>

export interface EntryAge {
  readonly enqueuedAt: number
  /** Attempts, including this one. */
  readonly attempts: number
  readonly noticed: boolean
  /** Some server answered in an earlier attempt. A function, because it reads the database. */
  readonly wasReachedBefore: () => boolean
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
      /** Enhanced status for the DSN. */
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
      return outcome.reached || age.wasReachedBefore()
        ? { kind: 'bounced', hard: false, reason: 'expired', status: '4.4.7', recipientsFault: false }
        : { kind: 'failed', reason: 'expired', status: '4.4.7' }
    }
    default:
      return assertNever(outcome)
  }
}

/** What the outcome itself says of the next attempt; null: the schedule decides. */
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
