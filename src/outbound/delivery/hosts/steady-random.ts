/**
 * Randomness that stays the same for some seconds: equal MX hosts then come in the same order for all messages, which
 * find open sessions with the first one, and take turns over time as RFC 5321 section 5.1 asks.
 */
import type { RandomSource } from '../../../base/platform/random.js'

const PERIOD = 10_000

/** `now`: milliseconds of a steady clock. */
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
