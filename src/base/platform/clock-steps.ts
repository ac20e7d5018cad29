/**
 * Notices that the system's clock was set back. This is not an error: NTP corrects a clock that was ahead. Rows that were
 * stored with a time of the future would wait until then.
 */

/** Milliseconds. A smaller step delays nothing by much. */
const MIN_SET_BACK = 60_000

export class ClockSteps {
  private last: number

  /** `last` is the latest time that is known. */
  constructor(last: number) {
    this.last = last
  }

  /** Milliseconds by which the clock was set back since the last call. It is 0 below one minute. */
  takeSetBack(now: number): number {
    const step = this.last - now
    this.last = now
    return step >= MIN_SET_BACK ? step : 0
  }
}
