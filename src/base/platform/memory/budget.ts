/**
 * A limit on the bytes of messages in memory, over all clients of a listener.
 *
 * Every byte acquired must be released once. Several listeners may share one budget, in which each counts how many
 * copies of a byte it holds at worst. Large messages wait for their turn (`reservation.ts`),
 * since any part may release what another waits for. When a part is full, its slow transfers are evicted
 * (`holders.ts`), never those of another part.
 */
import { type MemoryHolder, MemoryHolders } from './holders.js'
import { type MemoryLevel, MemoryQueue, type WaitOptions } from './queue.js'

interface MemoryRequest {
  readonly bytes: number
  /** The parts that it must fit into as well, in their own bytes. */
  readonly levels: readonly MemoryLevel[]
  readonly acquire: () => boolean
}

/** How many may wait: for a root budget, and for a share of one. */
const MAX_WAITING = { root: 300, share: 100 }

/** Bytes; a function where a reload may change them. */
type Limit = number | (() => number)

export class MemoryBudget {
  private readonly queue = new MemoryQueue()
  private readonly holders = new MemoryHolders()
  private used = 0

  /**
   * All bytes are acquired from the `parent` as well. Each byte acquired counts `copies` times, since it is in memory
   * that often at the worst moment. `limit` and the parent count the copies too.
   */
  constructor(
    private readonly limit: Limit,
    private readonly parent: MemoryBudget | null = null,
    private readonly copies = 1,
  ) {}

  /**
   * False if there is no room, and nothing was acquired. Holders may have been evicted, the caller's own among them.
   */
  acquire(bytes: number): boolean {
    const all = bytes * this.copies
    if (all > this.readLimit()) return false
    while (this.used + all > this.readLimit()) if (!this.holders.evictSlowest()) return false
    if (this.parent?.acquire(all) === false) return false
    this.used += all
    return true
  }

  release(bytes: number): void {
    const all = bytes * this.copies
    this.used -= all
    if (this.parent === null) this.queue.admitLater()
    else this.parent.release(all)
  }

  /** Whether that much would fit now, after the evictions that it allows. */
  hasRoomFor(bytes: number): boolean {
    const all = bytes * this.copies
    const limit = this.readLimit()
    const fits = this.used + all <= limit || this.used + all - this.holders.countEvictable() <= limit
    return fits && this.parent?.hasRoomFor(all) !== false
  }

  usedBytes(): number {
    return this.used / this.copies
  }

  /** Adds a holder of bytes; the function that it returns removes it. */
  addHolder(holder: MemoryHolder): () => void {
    const own = this.copies === 1 ? holder : new HolderOfCopies(holder, this.copies)
    const leaves = [this.holders.add(own), this.parent?.addHolder(own)]
    return () => {
      for (const leave of leaves) leave?.()
    }
  }

  /** Waits for its turn to acquire that much; for budgets and reservations on top of this one. */
  waitForTurn({ bytes, levels, acquire }: MemoryRequest, wait: WaitOptions): Promise<boolean> {
    const all = bytes * this.copies
    const own: MemoryLevel = {
      key: this,
      bytes: all,
      limit: this.readLimit(),
      usedBytes: () => this.used,
      maxWaiting: this.parent === null ? MAX_WAITING.root : MAX_WAITING.share,
      evictSlowest: () => this.holders.evictSlowest(),
    }
    if (this.parent === null) return this.queue.waitForRoom([...levels, own], acquire, wait)
    return this.parent.waitForTurn({ bytes: all, levels: [...levels, own], acquire }, wait)
  }

  /** How many wait for a turn in the root budget. */
  countWaiting(): number {
    return this.parent === null ? this.queue.length : this.parent.countWaiting()
  }

  private readLimit(): number {
    return typeof this.limit === 'number' ? this.limit : this.limit()
  }
}

/**
 * It is a class, because each object literal with getters leaves a hidden class behind, which keeps the holder and its
 * bytes in memory until the next full garbage collection.
 */
class HolderOfCopies implements MemoryHolder {
  constructor(
    private readonly holder: MemoryHolder,
    private readonly copies: number,
  ) {}

  get held(): number {
    return this.holder.held * this.copies
  }

  get rate(): number | null {
    return this.holder.rate
  }

  evict(): void {
    this.holder.evict()
  }
}
