/**
 * Learns how many sessions a provider allows at a time. It changes only its own numbers; times are milliseconds of a
 * steady clock.
 *
 * The window grows by one while all of its sessions are open and more could be used. The first refusal sets the ceiling
 * to the number of sessions that were open. Below the ceiling the window grows back quickly. A minute later it grows
 * one beyond, because the server may have counted sessions that had just ended. Each time that is refused, the wait
 * doubles, up to an hour.
 *
 * A ceiling that was in full use is proved: refusals within one moment, at the ceiling or below, then shrink only the
 * window. If there are more refusals before it is proved again, the ceiling falls.
 */
const FIRST_PROBE_INTERVAL = 60_000
const MAX_PROBE_INTERVAL = 3_600_000
/** Refusals within this many milliseconds of the first belong to one moment. */
const MOMENT = 5_000
/** The number of messages to be taken before the window grows below the ceiling. */
const SUCCESSES_TO_GROW = 10
/** The number of messages to be taken with as many sessions as the ceiling before it is proved. */
const SUCCESSES_TO_PROVE = 100
const MAX_SESSIONS = 200

export interface WindowState {
  readonly size: number
  readonly ceiling: number | null
  /** The moment when the ceiling was set or last probed. */
  readonly ceilingAt: number
}

export class SessionWindow {
  private successes = 0
  /** The number of messages that were taken with as many sessions as the ceiling. */
  private proof: number
  /** The interval is not stored on disk, because it is found again after a start. */
  private probeInterval = FIRST_PROBE_INTERVAL
  /** True if the ceiling was raised by one and not proved since. */
  private isProbing = false
  /** The first refusal of the last moment of refusals. */
  private momentAt = Number.NEGATIVE_INFINITY

  /** A size of `Infinity` sets no limit until the first refusal. */
  constructor(private state: WindowState) {
    this.proof = state.ceiling === null ? 0 : SUCCESSES_TO_PROVE
  }

  get size(): number {
    return this.state.size
  }

  get ceiling(): number | null {
    return this.state.ceiling
  }

  get ceilingAt(): number {
    return this.state.ceilingAt
  }

  /** Notes that a message was taken while others waited. `open` is the number of open sessions. */
  noteTaken(open: number, now: number): void {
    const { size, ceiling, ceilingAt } = this.state
    if (open < size || size >= MAX_SESSIONS) return
    if (ceiling === null) this.state = { ...this.state, size: size + 1 }
    else if (size < ceiling) this.growBelowCeiling()
    else {
      this.proveCeiling()
      if (this.isProved && now - ceilingAt >= this.probeInterval) this.probe(now)
    }
  }

  /** `others` is the number of sessions that were open besides the refused one. */
  noteRefused(others: number, now: number): void {
    this.successes = 0
    if (this.isProbing) {
      this.endProbe(now)
      return
    }
    const { size, ceiling } = this.state
    const next = Math.max(1, Math.min(size - 1, others))
    const isNewMoment = now - this.momentAt > MOMENT
    if (isNewMoment) this.momentAt = now
    if (ceiling === null || (isNewMoment && !this.isProved)) this.lowerCeiling(next, now)
    else this.state = { ...this.state, size: next }
    this.proof = 0
  }

  private get isProved(): boolean {
    return this.proof >= SUCCESSES_TO_PROVE
  }

  private setCeiling(ceiling: number, now: number): void {
    this.state = { size: ceiling, ceiling, ceilingAt: now }
    this.proof = 0
  }

  private lowerCeiling(ceiling: number, now: number): void {
    this.setCeiling(ceiling, now)
    this.probeInterval = FIRST_PROBE_INTERVAL
  }

  /** Counts a proof of the ceiling. After a probe that has found room, the next probe comes soon. */
  private proveCeiling(): void {
    this.proof += 1
    if (!this.isProbing || !this.isProved) return
    this.isProbing = false
    this.probeInterval = FIRST_PROBE_INTERVAL
  }

  private probe(now: number): void {
    this.setCeiling(this.state.size + 1, now)
    this.isProbing = true
  }

  /** Ends a probe that found no room. The ceiling below it stays proved. */
  private endProbe(now: number): void {
    this.isProbing = false
    this.probeInterval = Math.min(2 * this.probeInterval, MAX_PROBE_INTERVAL)
    this.setCeiling(this.state.size - 1, now)
    this.proof = SUCCESSES_TO_PROVE
  }

  private growBelowCeiling(): void {
    this.successes += 1
    if (this.successes < SUCCESSES_TO_GROW) return
    this.successes = 0
    this.state = { ...this.state, size: this.state.size + 1 }
  }
}
