/**
 * The pauses that an SMSC asks for by throttling answers. The first is 1 s, and each further one is twice as long,
 * up to 8 s. The first message that the SMSC accepts ends them.
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

  /** Milliseconds, or 0 if there is no pause. */
  remainingPause(): number {
    return Math.max(0, this.until - this.clock())
  }

  /** `sentAt` is the moment when the message was submitted. True means that sending was not throttled before. */
  recordThrottled(sentAt: number): boolean {
    // The answers to messages that were under way together count as one.
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
