/**
 * The pauses that an SMSC asks for by throttling answers: 1 s, and twice as long at each further one, up to 8 s. The
 * first message that it accepts ends them.
 */
import type { Clock } from '../../../base/platform/clock.js'

interface Throttle {
  /** Milliseconds; 0: none. */
  readonly remainingPause: () => number
  /** `sentAt`: when the message was submitted. True: sending was not throttled before. */
  readonly recordThrottled: (sentAt: number) => boolean
  readonly recordAccepted: () => void
}

const MAX_DOUBLINGS = 3

export function createThrottle(clock: Clock, firstPause: number): Throttle {
  let count = 0
  let since = 0
  let until = 0
  return {
    remainingPause: () => Math.max(0, until - clock()),
    recordThrottled: (sentAt) => {
      // Messages that were under way together are one answer.
      if (count > 0 && sentAt < since) return false
      count += 1
      since = clock()
      until = since + firstPause * 2 ** Math.min(count - 1, MAX_DOUBLINGS)
      return count === 1
    },
    recordAccepted: () => {
      count = 0
    },
  }
}
