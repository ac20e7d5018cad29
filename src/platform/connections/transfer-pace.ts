/**
 * Whether what a client sends comes fast enough.
 *
 * A transfer has some patience to spend. It spends it as time passes and earns it back with every
 * byte, at the least rate that is asked for, and never has more than it began with. So a client
 * that keeps the rate may take as long as it needs, one that is faster may pause, and a fast
 * beginning pays for no slow end.
 *
 * Time is that of a steady clock: a clock that is set ends no transfer.
 */
export interface TransferPace {
  /** Milliseconds. */
  readonly patience: number
  readonly bytesPerSecond: number
}

/** A modem of 9,600 baud sends about 960 bytes a second. */
export const minTransferPace: TransferPace = { patience: 60_000, bytesPerSecond: 500 }

/** A transfer that has spent this part of its patience is behind. */
const BEHIND_SHARE = 1 / 6

export class TransferWatch {
  private readonly progress: { readonly bytes: number }
  private readonly pace: TransferPace
  private patience: number
  private checkedBytes = 0
  private checkedAt = performance.now()
  private timer: NodeJS.Timeout

  /** `come`: what has come so far. `tooSlow` is called once, when the patience is spent. */
  constructor(come: { readonly bytes: number }, pace: TransferPace, tooSlow: () => void) {
    this.progress = come
    this.pace = pace
    this.patience = pace.patience
    const checkPace = (): void => {
      const left = this.remainingPatience()
      if (left <= 0) tooSlow()
      else this.timer = setTimeout(checkPace, Math.ceil(left))
    }
    this.timer = setTimeout(checkPace, pace.patience)
  }

  /** It comes far too slowly, though it has patience left. */
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
