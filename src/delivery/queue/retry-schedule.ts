/**
 * When to try a deferred queue entry again, and when to stop trying.
 *
 * RFC 5321 section 4.5.4.1 asks for retries at least 30 minutes apart and a give-up
 * time of four to five days. The first steps are shorter: most deferrals of a first
 * contact are greylisting (RFC 6647), over in minutes.
 *
 * Invariant: no attempt is set later than the moment of expiry, and the last one falls
 * exactly on it, so that an entry is neither given up early nor kept beyond its time.
 *
 * Pure: time and dice come in as arguments. Times are epoch milliseconds. Known limit:
 * the delay notice goes out with the first deferral past its age, not at that age.
 */
export interface RetryPolicy {
  /** Wait before attempt 2, 3, …; the last step repeats. */
  readonly steps: readonly [number, ...number[]]
  /** Age at which the sender gets a "delayed" DSN, once. */
  readonly noticeAfter: number
  /** Age at which the entry expires. */
  readonly expireAfter: number
}

export interface DeferredEntry {
  readonly enqueuedAt: number
  /** Attempts made so far, the one that was just deferred included. */
  readonly attempts: number
  readonly noticed: boolean
}

export type Retry =
  | { readonly kind: 'again'; readonly at: number; readonly notice: boolean }
  | { readonly kind: 'expired' }

/** `dice` is in [0, 1); it spreads a burst of deferrals over a tenth of the wait. */
export function scheduleRetry(entry: DeferredEntry, policy: RetryPolicy, now: number, dice: number): Retry {
  const age = now - entry.enqueuedAt
  if (age >= policy.expireAfter) return { kind: 'expired' }

  const step = Math.min(Math.max(entry.attempts, 1), policy.steps.length) - 1
  const wait = policy.steps[step] ?? policy.steps[0]
  return {
    kind: 'again',
    at: Math.min(now + Math.round(wait * (1 + dice / 10)), entry.enqueuedAt + policy.expireAfter),
    notice: !entry.noticed && age >= policy.noticeAfter,
  }
}

/**
 * From when on an entry is attempted even where its hosts are remembered as unreachable: when its
 * sender is to be told of the delay, and when it expires. So nothing is told, and nothing is given
 * up, without a true attempt.
 */
export function forcedAttemptTimeOf(entry: Pick<DeferredEntry, 'enqueuedAt' | 'noticed'>, policy: RetryPolicy): number {
  const { noticeAfter, expireAfter } = policy
  return entry.enqueuedAt + (entry.noticed ? expireAfter : Math.min(noticeAfter, expireAfter))
}
