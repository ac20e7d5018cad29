/**
 * Says whether attempts may begin: not while the runner stops, not for a while after a fault of the database, and not
 * while it is halted, because the node drains or may have lost its entries to another node.
 */

/** Milliseconds in which nothing is taken after a fault of the database. */
const FAULT_PAUSE = 1_000

export class AttemptGate {
  private isStopped = false
  private halted = false
  private pauseTimer: NodeJS.Timeout | null = null

  /** `onPauseEnd` is called when a pause after a fault has ended. */
  constructor(private readonly onPauseEnd: () => void) {}

  get isOpen(): boolean {
    return !this.isStopped && !this.halted && this.pauseTimer === null
  }

  get isHalted(): boolean {
    return this.halted
  }

  halt(): void {
    this.halted = true
  }

  goOn(): void {
    this.halted = false
  }

  pause(): void {
    if (this.pauseTimer !== null || this.isStopped) return
    this.pauseTimer = setTimeout(() => {
      this.pauseTimer = null
      this.onPauseEnd()
    }, FAULT_PAUSE)
  }

  stop(): void {
    this.isStopped = true
    if (this.pauseTimer !== null) clearTimeout(this.pauseTimer)
  }
}
