/**
 * Decides when a deferred queue entry is attempted again, and when it expires. Pure; times are epoch milliseconds.
 *
 * RFC 5321 section 4.5.4.1 asks for retries at least 30 minutes apart and a give-up time of four to five days. The
 * first steps are shorter, because most deferrals of a first contact are greylisting (RFC 6647), which is over in
 * minutes.
 *
 * An entry takes a step only if it has waited for the steps before. An attempt that came earlier, because a provider
 * refused a session or an operator asked for it, makes no later wait longer.
 *
 * Invariant: the last attempt falls exactly on the expiry, so an entry is neither given up early nor kept longer. Known
 * limit: the delay notice is sent with the first deferral at or after `delay_notice_after`, which may be one wait late.
 */
import type { Config } from '../../../base/config/complete.js'

/**
 * `retry_schedule` has the waits before attempts 2, 3, …; the last one repeats. `delay_notice_after` is the age at
 * which the sender gets one "delayed" DSN. `expire_after` is the age at which the entry expires.
 */
export type RetryPolicy = Pick<Config['outbound'], 'retry_schedule' | 'delay_notice_after' | 'expire_after'>

interface DeferredEntry {
  readonly enqueuedAt: number
  /** The number of attempts, including the one that was just deferred. */
  readonly attempts: number
  readonly noticed: boolean
}

export type Retry =
  | { readonly kind: 'again'; readonly at: number; readonly notice: boolean }
  | { readonly kind: 'expired' }

/** `random` is in [0, 1) and spreads a burst of deferrals over a tenth of the wait. */
export function scheduleRetry(entry: DeferredEntry, policy: RetryPolicy, now: number, random: number): Retry {
  const age = now - entry.enqueuedAt
  if (age >= policy.expire_after) return { kind: 'expired' }

  const step = Math.min(Math.max(entry.attempts, 1) - 1, stepOfAge(age, policy.retry_schedule))
  const wait = policy.retry_schedule[step] ?? policy.retry_schedule[0]
  return {
    kind: 'again',
    at: Math.min(now + Math.round(wait * (1 + random / 10)), entry.enqueuedAt + policy.expire_after),
    notice: !entry.noticed && age >= policy.delay_notice_after,
  }
}

/** Returns the step of an entry that has waited for all steps before. An age below zero comes from a clock set back. */
function stepOfAge(age: number, steps: RetryPolicy['retry_schedule']): number {
  if (age < 0) return steps.length - 1
  let waited = 0
  const step = steps.findIndex((wait) => {
    waited += wait
    return age < waited
  })
  return step === -1 ? steps.length - 1 : step
}

/**
 * Returns the time from which an entry is attempted even if its hosts are remembered as unreachable: when the delay
 * notice is due, and when the entry expires. So neither happens without an attempt.
 */
export function forcedAttemptTimeOf(entry: Pick<DeferredEntry, 'enqueuedAt' | 'noticed'>, policy: RetryPolicy): number {
  const { delay_notice_after: noticeAfter, expire_after: expireAfter } = policy
  return entry.enqueuedAt + (entry.noticed ? expireAfter : Math.min(noticeAfter, expireAfter))
}
