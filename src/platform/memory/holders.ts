/**
 * Transfers that hold memory while their clients send, and give it back where others find none.
 *
 * Without that a client with a few connections could have all memory held for as long as it cares to
 * send a little now and then, and all larger messages of others would be refused meanwhile. The
 * slowest gives way first, by what came lately: so memory is kept only by who keeps pace with the others.
 */
export interface MemoryHolder {
  /** Bytes it would give back. */
  readonly held: number
  /** Bytes a second of late; null: it is too young to be judged. */
  readonly rate: number | null
  /** Gives back all that it holds. */
  evict(): void
}

/** Bytes a second: who sends as fast as that never gives way. */
const FAST_RATE = 262_144

export class MemoryHolders {
  private readonly holders = new Set<MemoryHolder>()

  /** The function that it returns takes it out again. */
  add(holder: MemoryHolder): () => void {
    this.holders.add(holder)
    return () => this.holders.delete(holder)
  }

  /** Has the slowest give way. False: there is none that has to. */
  evictSlowest(): boolean {
    let slowest: MemoryHolder | null = null
    let least = FAST_RATE
    for (const holder of this.holders) {
      const { rate } = holder
      if (rate === null || rate >= least || holder.held === 0) continue
      slowest = holder
      least = rate
    }
    if (slowest === null) return false
    this.holders.delete(slowest)
    slowest.evict()
    return true
  }

  /** Bytes that would be given back. */
  countEvictable(): number {
    let sum = 0
    for (const { rate, held } of this.holders) if (rate !== null && rate < FAST_RATE) sum += held
    return sum
  }
}

/** Milliseconds over which a rate is measured. */
const RATE_WINDOW = 5_000

/** How fast something comes in of late. */
export class RecentRate {
  private bytes = 0
  private windowStart: number
  private lastRate: number | null = null

  constructor(private readonly now: () => number = () => performance.now()) {
    this.windowStart = now()
  }

  add(bytes: number): void {
    this.rollWindow()
    this.bytes += bytes
  }

  /** Bytes a second; null: not known yet. */
  get(): number | null {
    this.rollWindow()
    return this.lastRate
  }

  private rollWindow(): void {
    const now = this.now()
    const passed = now - this.windowStart
    if (passed < RATE_WINDOW) return
    this.lastRate = (this.bytes / passed) * 1000
    this.bytes = 0
    this.windowStart = now
  }
}
