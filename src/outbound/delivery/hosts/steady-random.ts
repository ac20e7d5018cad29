/**
 * Randomness that stays the same for some seconds. Equal MX hosts then come in the same order for all messages, so that
 * messages find open sessions with the first host. Over time the hosts take turns, as RFC 5321 section 5.1 requires.
 */
import type { RandomSource } from '../../../base/platform/random.js'

const PERIOD = 10_000

/** `now` returns milliseconds of a steady clock. */
export function createSteadyRandom(random: RandomSource, now: () => number): RandomSource {
  let endsAt = Number.NEGATIVE_INFINITY
  let current = 0
  return () => {
    if (now() >= endsAt) {
      endsAt = now() + PERIOD
      current = random()
    }
    return current
  }
}
