/**
 * Transfers that hold memory while their clients send, and are evicted when others find no room.
 *
 * Otherwise a client with a few connections could occupy all memory by sending a little now and then, and larger
 * messages of others would be refused. The slowest transfer by its recent rate is evicted first, so only clients that
 * keep pace with the others keep memory.
 */
export interface MemoryHolder {
  /** Bytes that an eviction would release. */
  readonly held: number
  /** Recent bytes per second. Null if the holder is too new to be judged. */
  readonly rate: number | null
  /** Releases all that it holds. */
  evict(): void
}

/** Bytes per second from which a transfer is never evicted. */
const FAST_RATE = 262_144

export class MemoryHolders {
  private readonly holders = new Set<MemoryHolder>()

  /** The function that it returns removes the holder. */
  add(holder: MemoryHolder): () => void {
    this.holders.add(holder)
    return () => this.holders.delete(holder)
  }

  /** False if there is none to evict. */
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

  /** Bytes that evictions could release. */
  countEvictable(): number {
    let sum = 0
    for (const { rate, held } of this.holders) if (rate !== null && rate < FAST_RATE) sum += held
    return sum
  }
}

/** Milliseconds over which a rate is measured. */
const RATE_WINDOW = 5_000

/** The recent rate of a transfer. */
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

  /** Bytes per second, or null if it is not known yet. */
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
