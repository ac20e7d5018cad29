/**
 * How many sessions a provider allows at a time. Pure but for its own numbers; times are milliseconds of a steady clock.
 *
 * The window grows by one while all of its sessions are open and more could be used. The first refusal sets the ceiling:
 * as many as were open. Below it the window comes back quickly. A minute later it goes one beyond, because the server may
 * have counted sessions that had just ended; each time that is refused the wait doubles, up to an hour. A single refusal
 * below the ceiling is taken for chance and moves the window alone.
 */
const FIRST_PROBE_INTERVAL = 60_000
const MAX_PROBE_INTERVAL = 3_600_000
/** A second refusal within this time lowers the ceiling. */
const REPEAT_TIME = 60_000
/** Messages to be taken before the window grows below the ceiling. */
const SUCCESSES_TO_GROW = 10
const MAX_SESSIONS = 200

export interface WindowState {
  readonly size: number
  readonly ceiling: number | null
  /** When the ceiling was set or last probed. */
  readonly ceilingAt: number
}

export class SessionWindow {
  private successes = 0
  /** Not kept on disk: after a start it is found again. */
  private probeInterval = FIRST_PROBE_INTERVAL
  private isProbing = false
  private refusedAt = Number.NEGATIVE_INFINITY

  /** A size of `Infinity`: no limit until the first refusal. */
  constructor(private state: WindowState) {}

  get size(): number {
    return this.state.size
  }

  get ceiling(): number | null {
    return this.state.ceiling
  }

  get ceilingAt(): number {
    return this.state.ceilingAt
  }

  /** A message was taken while others waited. `open`: sessions. */
  noteTaken(open: number, now: number): void {
    const { size, ceiling, ceilingAt } = this.state
    if (open < size || size >= MAX_SESSIONS) return
    if (ceiling === null) this.state = { ...this.state, size: size + 1 }
    else if (size < ceiling) this.growBelowCeiling()
    else if (now - ceilingAt >= this.probeInterval) this.probe(now)
  }

  /** `others`: sessions that were open beside the one that was refused. */
  noteRefused(others: number, now: number): void {
    const { size, ceiling } = this.state
    const next = Math.max(1, Math.min(size - 1, others))
    const isChance = ceiling !== null && next < ceiling - 1 && now - this.refusedAt > REPEAT_TIME
    this.refusedAt = now
    this.successes = 0
    if (this.isProbing) this.probeInterval = Math.min(2 * this.probeInterval, MAX_PROBE_INTERVAL)
    this.isProbing = false
    this.state = isChance ? { ...this.state, size: next } : { size: next, ceiling: next, ceilingAt: now }
  }

  /** A probe before this one that was not refused has found room: the next is soon again. */
  private probe(now: number): void {
    if (this.isProbing) this.probeInterval = FIRST_PROBE_INTERVAL
    this.isProbing = true
    const size = this.state.size + 1
    this.state = { size, ceiling: size, ceilingAt: now }
  }

  private growBelowCeiling(): void {
    this.successes += 1
    if (this.successes < SUCCESSES_TO_GROW) return
    this.successes = 0
    this.state = { ...this.state, size: this.state.size + 1 }
  }
}
