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
  giveWay(): void
}

/** Bytes a second: who sends as fast as that never gives way. */
const FAST = 262_144

export class MemoryHolders {
  private readonly all = new Set<MemoryHolder>()

  /** The function that it returns takes it out again. */
  enter(holder: MemoryHolder): () => void {
    this.all.add(holder)
    return () => this.all.delete(holder)
  }

  /** Has the slowest give way. False: there is none that has to. */
  free(): boolean {
    let slowest: MemoryHolder | null = null
    let least = FAST
    for (const holder of this.all) {
      const { rate } = holder
      if (rate === null || rate >= least || holder.held === 0) continue
      slowest = holder
      least = rate
    }
    if (slowest === null) return false
    this.all.delete(slowest)
    slowest.giveWay()
    return true
  }

  /** Bytes that would be given back. */
  freeable(): number {
    let sum = 0
    for (const { rate, held } of this.all) if (rate !== null && rate < FAST) sum += held
    return sum
  }
}

/** Milliseconds over which a rate is measured. */
const SPAN = 5_000

/** How fast something comes in of late. */
export class RecentRate {
  private bytes = 0
  private since: number
  private last: number | null = null

  constructor(private readonly now: () => number = () => performance.now()) {
    this.since = now()
  }

  add(bytes: number): void {
    this.turn()
    this.bytes += bytes
  }

  /** Bytes a second; null: not known yet. */
  get(): number | null {
    this.turn()
    return this.last
  }

  private turn(): void {
    const now = this.now()
    const passed = now - this.since
    if (passed < SPAN) return
    this.last = (this.bytes / passed) * 1000
    this.bytes = 0
    this.since = now
  }
}
