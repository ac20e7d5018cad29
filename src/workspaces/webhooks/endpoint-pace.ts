/**
 * Decides how many requests an endpoint gets at a time, and how long new events wait while it fails.
 *
 * After a failure the endpoint gets one request at a time. Each success adds one. From the third failure in a row,
 * new events wait for up to a minute, so that we do not call an endpoint that is down for each of them. Retries keep
 * their times.
 */

const MAX_CONCURRENCY = 8
/** Milliseconds. An endpoint that answers within them has jobs ready for its next free requests. */
const FAST_ANSWER = 100
const READY_JOBS = 3
const FREE_FAILURES = 2
const FIRST_PAUSE = 1_000
const MAX_PAUSE = 60_000

export interface EndpointPace {
  /** Requests at a time. */
  readonly limit: number
  /** Jobs that the thread gets at a time: those of the limit, and some that wait behind them. */
  readonly jobs: number
  /** Failures in a row. Requests that were under way at the same time count as one. */
  readonly failures: number
  readonly failedAt: number
  /** Epoch milliseconds from which new events are attempted. */
  readonly resumesAt: number
}

export function startPace(isFailing: boolean): EndpointPace {
  const limit = isFailing ? 1 : MAX_CONCURRENCY
  return { limit, jobs: limit, failures: isFailing ? 1 : 0, failedAt: 0, resumesAt: 0 }
}

/** `took` is the milliseconds until the answer. */
export function paceAfterSuccess(pace: EndpointPace, took: number): EndpointPace {
  const limit = Math.min(MAX_CONCURRENCY, pace.limit + 1)
  return { limit, jobs: took < FAST_ANSWER ? limit * (1 + READY_JOBS) : limit, failures: 0, failedAt: 0, resumesAt: 0 }
}

/**
 * Tells whether a pause until `until` still lasts. A pause that is longer than any began before the clock was set
 * back.
 */
export function isPaused(until: number, now: number): boolean {
  return now < until && until - now <= MAX_PAUSE
}

/** `startedAt` is the moment when the failed attempt began. */
export function paceAfterFailure(pace: EndpointPace, startedAt: number, now: number): EndpointPace {
  if (pace.failures > 0 && startedAt < pace.failedAt) return { ...pace, limit: 1, jobs: 1 }
  const failures = pace.failures + 1
  const pause = failures <= FREE_FAILURES ? 0 : Math.min(MAX_PAUSE, FIRST_PAUSE * 2 ** (failures - FREE_FAILURES - 1))
  return { limit: 1, jobs: 1, failures, failedAt: now, resumesAt: now + pause }
}
