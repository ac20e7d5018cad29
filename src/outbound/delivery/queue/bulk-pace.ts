/**
 * Decides when the next message of a broadcast may begin, so that it does not delay other mail.
 *
 * While no other mail goes out, broadcasts have no limit. For some seconds after each attempt of other mail they begin
 * at a rate that follows the load of this thread: it falls while the thread is busy and grows while it is not. On its
 * way out a message waits about ten times for a turn of the event loop and for a commit, and this rate keeps both
 * short. The rate has a floor, so that broadcasts continue under any load. Times are milliseconds of a steady clock.
 */
interface BulkPaceDeps {
  readonly now: () => number
  /** Returns the share of the time since the last call in which this thread was busy. */
  readonly readLoad: () => number
}

/** Milliseconds for which an attempt of other mail makes broadcasts yield. */
const YIELD_TIME = 3_000
/** Milliseconds between two readings of the load. */
const READ_INTERVAL = 50
const TARGET_LOAD = 0.25
/** Attempts per second. */
const START_RATE = 200
export const MIN_BULK_RATE = 50
const MAX_RATE = 5_000
/** Milliseconds whose attempts may begin at once; at least one may. */
const BURST_TIME = 10

export class BulkPace {
  private otherAt = Number.NEGATIVE_INFINITY
  private rate = START_RATE
  private tokens = 1
  private refilledAt: number
  private readAt: number

  constructor(private readonly deps: BulkPaceDeps) {
    this.refilledAt = deps.now()
    this.readAt = this.refilledAt
  }

  /** Tells whether other mail goes out, or did a moment ago. */
  get isYielding(): boolean {
    return this.deps.now() - this.otherAt < YIELD_TIME
  }

  /** Notes that an attempt of other mail begins. */
  noteOther(): void {
    if (!this.isYielding) this.restart()
    this.otherAt = this.deps.now()
  }

  mayBegin(): boolean {
    if (!this.isYielding) return true
    this.refill()
    return this.tokens >= 1
  }

  /** Notes that an attempt of a broadcast begins. */
  noteBulk(): void {
    this.tokens = Math.max(0, this.tokens - 1)
  }

  private restart(): void {
    const now = this.deps.now()
    this.rate = START_RATE
    this.tokens = 1
    this.refilledAt = now
    this.readAt = now
    this.deps.readLoad()
  }

  private refill(): void {
    const now = this.deps.now()
    if (now - this.readAt >= READ_INTERVAL) {
      this.readAt = now
      this.rate = nextRate(this.rate, this.deps.readLoad())
    }
    const burst = Math.max(1, (this.rate * BURST_TIME) / 1000)
    this.tokens = Math.min(burst, this.tokens + (this.rate * (now - this.refilledAt)) / 1000)
    this.refilledAt = now
  }
}

/** Returns the next rate. It falls faster than it grows, because a busy moment delays other mail than broadcasts. */
export function nextRate(rate: number, load: number): number {
  return load > TARGET_LOAD ? Math.max(MIN_BULK_RATE, rate * 0.7) : Math.min(MAX_RATE, rate * 1.1)
}
