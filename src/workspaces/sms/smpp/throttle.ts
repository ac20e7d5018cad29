/**
 * The pauses that an SMSC asks for by throttling answers: 1 s, and twice as long at each further one, up to 8 s. The
 * first message that it accepts ends them.
 */
import type { Clock } from '../../../base/platform/clock.js'

const MAX_DOUBLINGS = 3

export class Throttle {
  private count = 0
  private since = 0
  private until = 0

  constructor(
    private readonly clock: Clock,
    private readonly firstPause: number,
  ) {}

  /** Milliseconds; 0: none. */
  remainingPause(): number {
    return Math.max(0, this.until - this.clock())
  }

  /** `sentAt`: when the message was submitted. True: sending was not throttled before. */
  recordThrottled(sentAt: number): boolean {
    // Messages that were under way together are one answer.
    if (this.count > 0 && sentAt < this.since) return false
    this.count += 1
    this.since = this.clock()
    this.until = this.since + this.firstPause * 2 ** Math.min(this.count - 1, MAX_DOUBLINGS)
    return this.count === 1
  }

  recordAccepted(): void {
    this.count = 0
  }
}
