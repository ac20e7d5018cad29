/**
 * A limit on the bytes of messages in memory, over all clients of a listener.
 *
 * Every byte acquired must be released once. Several listeners may share one budget, in which each counts how many
 * copies of a byte it holds at worst (`createBudgetShare`). Large messages wait for their turn (`reservation.ts`),
 * since any part may release what another waits for. When a part is full, its slow transfers are evicted
 * (`holders.ts`), never those of another part.
 */
import { type MemoryHolder, MemoryHolders } from './holders.js'
import { createMemoryQueue, type MemoryLevel, type WaitOptions } from './queue.js'

export interface MemoryBudget {
  /**
   * False if there is no room, and nothing was acquired. Holders may have been evicted, the caller's own among them.
   */
  acquire(bytes: number): boolean
  release(bytes: number): void
  /** Whether that much would fit now, after the evictions that it allows. */
  hasRoomFor(bytes: number): boolean
  readonly usedBytes: () => number
  /** Adds a holder of bytes; the function that it returns removes it. */
  addHolder(holder: MemoryHolder): () => void
  /** Waits for its turn to acquire that much; for budgets and reservations on top of this one. */
  waitForTurn(request: MemoryRequest, wait: WaitOptions): Promise<boolean>
  /** How many wait for a turn in the root budget. */
  countWaiting(): number
}

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

function readLimit(limit: Limit): number {
  return typeof limit === 'number' ? limit : limit()
}

/** All bytes are acquired from the `parent` budget as well. */
export function createMemoryBudget(limit: Limit, parent: MemoryBudget | null = null): MemoryBudget {
  const queue = createMemoryQueue()
  const holders = new MemoryHolders()
  const maxWaiting = parent === null ? MAX_WAITING.root : MAX_WAITING.share
  let used = 0
  const usedBytes = (): number => used
  const evictSlowest = (): boolean => holders.evictSlowest()

  const budget: MemoryBudget = {
    acquire(bytes) {
      if (bytes > readLimit(limit)) return false
      while (used + bytes > readLimit(limit)) if (!evictSlowest()) return false
      if (parent?.acquire(bytes) === false) return false
      used += bytes
      return true
    },
    release(bytes) {
      used -= bytes
      if (parent === null) queue.admit()
      else parent.release(bytes)
    },
    hasRoomFor: (bytes) =>
      (used + bytes <= readLimit(limit) || used + bytes - holders.countEvictable() <= readLimit(limit)) &&
      parent?.hasRoomFor(bytes) !== false,
    usedBytes,
    addHolder(holder) {
      const leaves = [holders.add(holder), parent?.addHolder(holder)]
      return () => {
        for (const leave of leaves) leave?.()
      }
    },
    waitForTurn({ bytes, levels: innerLevels, acquire }, wait) {
      const own: MemoryLevel = { key: budget, bytes, limit: readLimit(limit), usedBytes, maxWaiting, evictSlowest }
      if (parent !== null) return parent.waitForTurn({ bytes, levels: [...innerLevels, own], acquire }, wait)
      return queue.waitForRoom([...innerLevels, own], acquire, wait)
    },
    countWaiting: () => (parent === null ? queue.length() : parent.countWaiting()),
  }
  return budget
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

/**
 * A part of a budget: at most `share` bytes of it. Each byte acquired counts `copies` times, since it is in memory
 * that often at the worst moment.
 */
export function createBudgetShare(parent: MemoryBudget, share: Limit, copies: number): MemoryBudget {
  const own = createMemoryBudget(share, parent)
  return {
    acquire: (bytes) => own.acquire(bytes * copies),
    release: (bytes) => own.release(bytes * copies),
    hasRoomFor: (bytes) => own.hasRoomFor(bytes * copies),
    usedBytes: () => own.usedBytes() / copies,
    addHolder: (holder) => own.addHolder(new HolderOfCopies(holder, copies)),
    waitForTurn: (request, wait) => own.waitForTurn({ ...request, bytes: request.bytes * copies }, wait),
    countWaiting: () => own.countWaiting(),
  }
}
