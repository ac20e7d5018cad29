/**
 * Decides whether a client sends fast enough.
 *
 * A transfer has a time allowance, its patience. Passing time uses it up and each byte earns some back, at the
 * minimum rate, up to the initial value. A client that keeps the rate may take as long as it needs, and a faster
 * one may pause, but a fast beginning does not pay for a slow end.
 *
 * The clock is monotonic: setting the system time ends no transfer.
 */
export interface TransferPace {
  /** Milliseconds. */
  readonly patience: number
  readonly bytesPerSecond: number
}

/** A modem of 9,600 baud sends about 960 bytes a second. */
export const minTransferPace: TransferPace = { patience: 60_000, bytesPerSecond: 500 }

/** The part of its patience after which a transfer counts as behind. */
const BEHIND_SHARE = 1 / 6

export class TransferWatch {
  private readonly progress: { readonly bytes: number }
  private readonly pace: TransferPace
  private patience: number
  private checkedBytes = 0
  private checkedAt = performance.now()
  private timer: NodeJS.Timeout

  /** `progress` has the bytes received so far. `onTooSlow` is called once, when the patience is used up. */
  constructor(progress: { readonly bytes: number }, pace: TransferPace, onTooSlow: () => void) {
    this.progress = progress
    this.pace = pace
    this.patience = pace.patience
    const checkPace = (): void => {
      const left = this.remainingPatience()
      if (left <= 0) onTooSlow()
      else this.timer = setTimeout(checkPace, Math.ceil(left))
    }
    this.timer = setTimeout(checkPace, pace.patience)
  }

  /** The transfer is far too slow, though it has patience left. */
  isBehind(): boolean {
    return this.remainingPatience() <= this.pace.patience * (1 - BEHIND_SHARE)
  }

  end(): void {
    clearTimeout(this.timer)
  }

  private remainingPatience(): number {
    const { patience, bytesPerSecond } = this.pace
    const now = performance.now()
    const earned = ((this.progress.bytes - this.checkedBytes) / bytesPerSecond) * 1000
    this.patience = Math.min(patience, this.patience - (now - this.checkedAt) + earned)
    this.checkedAt = now
    this.checkedBytes = this.progress.bytes
    return this.patience
  }
}
