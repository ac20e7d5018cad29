/**
 * Counts the sessions that are open with a provider, including those that are being opened.
 *
 * A server counts a session for a moment after its end. So where sessions are limited, the place of a session becomes
 * free only after that moment.
 */
import type { PaceTimer } from './pace-state.js'

/** Milliseconds until a place is free. They double if that was too short for a busy server. */
const FIRST_LINGER = 30
const MAX_LINGER = 240
/** Milliseconds after which half of the time is tried again. */
const LINGER_RETRIAL = 60_000
/** Milliseconds after the end of a session in which a refusal may still be due to it. */
const LATE_TIME = 1_000

export class OpenSessions {
  private openCount = 0
  private linger = FIRST_LINGER
  private lingerSince = 0
  private closedAt = Number.NEGATIVE_INFINITY
  private readonly waiters = new Set<() => void>()

  constructor(private readonly timer: PaceTimer) {}

  get count(): number {
    return this.openCount
  }

  open(): void {
    this.openCount += 1
  }

  /** If `isLimited`, the place becomes free a moment later. */
  close(isLimited: boolean): void {
    const now = this.timer.now()
    this.closedAt = now
    if (this.linger > FIRST_LINGER && now - this.lingerSince >= LINGER_RETRIAL) this.setLinger(this.linger / 2)
    if (isLimited) this.timer.after(this.linger, () => this.free())
    else this.free()
  }

  /** Resolves when a place is free. */
  waitForEnd(): Promise<void> {
    return new Promise((resolve) => this.waiters.add(resolve))
  }

  /** Notes a refused session. Returns true if one ended a moment ago; places are then kept longer from now on. */
  waitLonger(): boolean {
    if (this.linger >= MAX_LINGER || this.timer.now() - this.closedAt > 2 * this.linger + LATE_TIME) return false
    this.setLinger(this.linger * 2)
    return true
  }

  private setLinger(linger: number): void {
    this.linger = linger
    this.lingerSince = this.timer.now()
  }

  private free(): void {
    this.openCount -= 1
    for (const resolve of this.waiters) resolve()
    this.waiters.clear()
  }
}
