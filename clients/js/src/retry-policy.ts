/** Decides whether a request is sent again after a failure, and how long to wait before. */
import type { PosthornError } from './posthorn-error.js'

export interface RetryOptions {
  /** How often a failed request is repeated. Default 4; 0 repeats none. */
  readonly retries?: number
  /** Milliseconds before the first repetition. Each later pause is twice as long. Default 500. */
  readonly firstPause?: number
  /** Milliseconds. No pause is longer, and if the server asks for a longer one, the request fails. Default 30,000. */
  readonly maxPause?: number
}

/** The request may have been done already, unless the server says that it refused it. */
const REFUSED_UNDONE: ReadonlySet<number | null> = new Set([429, 503])
/** A reverse proxy answers 502 while the daemon starts again. Null: no answer came. */
const WORTH_REPEATING: ReadonlySet<number | null> = new Set([429, 500, 502, 503, 504, null])

export class RetryPolicy {
  private readonly retries: number
  private readonly firstPause: number
  private readonly maxPause: number

  constructor({ retries = 4, firstPause = 500, maxPause = 30_000 }: RetryOptions) {
    this.retries = retries
    this.firstPause = firstPause
    this.maxPause = maxPause
  }

  /**
   * Milliseconds to wait, or null if the request must not be repeated. `isRepeatable` says that doing the request twice
   * has the effect of doing it once. `attempt` counts from 0.
   */
  pauseAfter(error: PosthornError, attempt: number, isRepeatable: boolean, retryAfter: number | null): number | null {
    const isAllowed = (isRepeatable ? WORTH_REPEATING : REFUSED_UNDONE).has(error.status)
    if (!isAllowed || attempt >= this.retries) return null
    const grown = Math.min(this.firstPause * 2 ** attempt, this.maxPause)
    // Clients that failed together must not come back together.
    const jittered = grown / 2 + (Math.random() * grown) / 2
    if (retryAfter === null) return jittered
    return retryAfter > this.maxPause ? null : Math.max(retryAfter, jittered)
  }
}

/** Milliseconds of a `Retry-After`, which has seconds or a date. Null if there is none. */
export function readRetryAfter(value: string | null, now: number): number | null {
  if (value === null) return null
  if (/^\d{1,9}$/.test(value)) return Number(value) * 1_000
  const at = Date.parse(value)
  return Number.isNaN(at) ? null : Math.max(0, at - now)
}
