/**
 * Decides whether to repeat a request to a gateway.
 *
 * We repeat it if the gateway says so (429, 5xx), or if the gateway has received no part of it. If a connection is
 * lost later, we do not know whether the message was sent, and a second request might send it twice.
 */

export type TryResult =
  | {
      readonly kind: 'answer'
      readonly status: number
      /** The milliseconds of `Retry-After`. It is null if the answer has none. */
      readonly retryAfter: number | null
    }
  /** `isSent` means that the gateway may have the request. */
  | { readonly kind: 'fault'; readonly isSent: boolean }

interface TryState {
  /** The number of tries, including this one. */
  readonly tries: number
  readonly now: number
  readonly deadline: number
  /** A random number from 0 to 1. */
  readonly random: number
}

/** `retry` means after `delay` milliseconds. `answered` means that the answer is final. */
type NextStep =
  | { readonly kind: 'retry'; readonly delay: number }
  | { readonly kind: 'answered' | 'refused' | 'silent' }

/** Milliseconds before the second request and those after it. They vary by a quarter in both directions. */
const DELAYS = [250, 500, 1_000, 2_000, 4_000] as const
/** Milliseconds that a request needs. We begin no request with less time left. */
const MIN_REQUEST_TIME = 1_000

export function decideNextStep(result: TryResult, state: TryState): NextStep {
  if (result.kind === 'fault' && (result.isSent || state.now >= state.deadline)) return { kind: 'silent' }
  if (result.kind === 'answer' && result.status !== 429 && result.status < 500) return { kind: 'answered' }
  const step = DELAYS[state.tries - 1]
  if (step === undefined) return { kind: 'refused' }
  const asked = result.kind === 'answer' ? (result.retryAfter ?? 0) : 0
  const delay = Math.max(asked, step * (0.75 + state.random / 2))
  const isInTime = state.now + delay + MIN_REQUEST_TIME <= state.deadline
  return isInTime ? { kind: 'retry', delay } : { kind: 'refused' }
}
