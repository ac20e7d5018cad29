/**
 * Notices that the system's clock was set back, which is no error: NTP corrects a clock that was ahead. What was stored
 * meanwhile with a time of the future would wait until then.
 */

/** Milliseconds. A smaller step delays nothing by much. */
const MIN_SET_BACK = 60_000

export class ClockSteps {
  private last: number

  /** `last`: the latest time that is known. */
  constructor(last: number) {
    this.last = last
  }

  /** By how many milliseconds the clock was set back since the last call; 0: by less than a minute, or not at all. */
  takeSetBack(now: number): number {
    const step = this.last - now
    this.last = now
    return step >= MIN_SET_BACK ? step : 0
  }
}
