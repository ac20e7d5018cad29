/**
 * Estimates how many messages per second a provider takes. The rate is unlimited until the provider refuses a message
 * for it; from then on tokens follow the estimate. Times are milliseconds of a steady clock.
 *
 * A cycle begins with a recovery and ends with the next one. The number of messages taken in it, divided by its time
 * including the pause, is what the provider allows, whether it counts tokens, fixed windows or sliding ones. The pace
 * is set a little below and grows slowly. Each further refusal lowers it again, by a measure of the cycle that it ends.
 *
 * Known limit: the first cycle includes a burst that the provider may have allowed once, so its estimate is too high.
 * The following estimates are not.
 */

/** The pace as a share of the estimate. */
const MARGIN = 0.97
/** Growth per second, as a share of the rate at the last refusal: after an estimate was confirmed, and before. */
const CREEP = 0.0005
const ROUGH_CREEP = 0.005
/** An estimate is confirmed by one that differs by less than this share. */
const CONFIRMED = 0.1
/** A slow rate grows by this many messages in place of a minute. */
const MESSAGES_OF_GROWTH = 1_000
/**
 * Growth becomes faster with the square of the time in which messages waited for the rate without a refusal. After this
 * many milliseconds it is twice the first. An estimate may be far too low if the machine was busy while it was made.
 */
const DOUBLING_TIME = 45_000
const MAX_CREEP = 0.01
/** After this many milliseconds without a refusal there is no limit. */
const FORGET_TIME = 86_400_000
/** A cycle starts over after this many milliseconds without messages, which say nothing about the provider. */
const IDLE_TIME = 5_000
/** A cycle leaves out what lies further back than one to two of these spans. */
const SPAN = 60_000
/** Milliseconds whose tokens may add up; at least one token may. */
const BURST_TIME = 200
const MIN_RATE = 0.01
/** A rate falls to no less than this share of itself at once. */
const MAX_FALL = 0.2

interface EstimateState {
  /** Messages per second. Null if no limit is known. */
  readonly rate: number | null
  readonly refusedAt: number
}

export class PaceEstimate {
  private rateNow: number | null
  /** The moment when the provider last refused for the rate. */
  private lastRefusedAt: number
  private estimate: number
  private tokens = 1
  private filledAt = 0
  private spanBegan = Number.NEGATIVE_INFINITY
  private count = 0
  private countBefore = 0
  private beganBefore = 0
  private takenAt = Number.NEGATIVE_INFINITY
  private isRefused = false
  /** Milliseconds since the last refusal in which messages waited for the rate. */
  private usedTime = 0
  private isLimiting = false
  private isRough: boolean

  constructor({ rate, refusedAt }: EstimateState) {
    this.rateNow = rate
    this.estimate = rate ?? 0
    this.isRough = rate === null
    this.lastRefusedAt = refusedAt
  }

  get rate(): number | null {
    return this.rateNow
  }

  get refusedAt(): number {
    return this.lastRefusedAt
  }

  /** Returns milliseconds until a message may be sent. 0 means that it may be sent now, and is counted. */
  take(now: number): number {
    if (this.rateNow === null) return 0
    this.refill(now, this.rateNow)
    if (this.rateNow === null || this.tokens >= 1) {
      this.tokens -= 1
      this.isLimiting = false
      return 0
    }
    this.isLimiting = true
    return Math.ceil(((1 - this.tokens) / this.rateNow) * 1000)
  }

  /** Notes that the provider took a message, or refused it for another reason than its rate. */
  noteTaken(now: number): void {
    if (!this.isRefused && now - this.takenAt > IDLE_TIME) this.beginCycle(now)
    if (!this.isRefused && now - this.spanBegan > SPAN) {
      this.beganBefore = this.spanBegan
      this.countBefore = this.count
      this.spanBegan = now
      this.count = 0
    }
    this.takenAt = now
    this.count += 1
  }

  noteRefused(now: number): void {
    if (this.takenAt === Number.NEGATIVE_INFINITY) this.beginCycle(now)
    this.isRefused = true
    this.lastRefusedAt = now
  }

  /** Notes that the first message after a refusal was taken. It is counted already. */
  noteRecovered(now: number): void {
    if (!this.isRefused) return
    this.isRefused = false
    // The provider could have taken a message at any time since its last refusal.
    const endedAt = (now + this.lastRefusedAt) / 2
    const seconds = Math.max(1, (endedAt - this.beganBefore) / 1000)
    const measured = (this.countBefore + this.count) / seconds
    const before = this.rateNow ?? Number.POSITIVE_INFINITY
    if (Math.abs(measured / before - 1) < CONFIRMED) this.isRough = false
    const floor = Math.max(MIN_RATE, this.rateNow === null ? 0 : this.rateNow * MAX_FALL)
    this.rateNow = Math.max(floor, Math.min(measured, before) * MARGIN)
    this.estimate = this.rateNow
    this.usedTime = 0
    this.tokens = 0
    this.filledAt = now
    this.beginCycle(now)
  }

  /** Starts a cycle. The time of a pause for another reason is no part of a cycle. */
  beginCycle(now: number): void {
    this.spanBegan = now
    this.beganBefore = now
    this.count = 0
    this.countBefore = 0
    this.takenAt = now
  }

  private refill(now: number, rate: number): void {
    const elapsed = Math.max(0, now - this.filledAt)
    this.filledAt = now
    const burst = Math.max(1, (rate * BURST_TIME) / 1000)
    this.tokens = Math.min(burst, this.tokens + (rate * elapsed) / 1000)
    if (now - this.lastRefusedAt > FORGET_TIME) {
      this.rateNow = null
      return
    }
    // An unused rate proves nothing: the rate grows while messages wait, and by at most a second between two of them.
    if (!this.isLimiting) return
    const used = Math.min(elapsed, 1000)
    this.usedTime += used
    this.rateNow = rate + (Math.max(this.estimate, rate / 2) * this.creepOf(rate) * used) / 1000
  }

  private creepOf(rate: number): number {
    const grown = CREEP * (1 + (this.usedTime / DOUBLING_TIME) ** 2)
    const creep = Math.min(MAX_CREEP, Math.max(grown, this.isRough ? ROUGH_CREEP : 0))
    return creep * Math.min(1, (rate * 60) / MESSAGES_OF_GROWTH)
  }
}
