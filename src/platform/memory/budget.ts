/**
 * The bytes of messages that all clients of a listener together may have us hold at a time.
 *
 * Every byte taken is given back once. Several listeners may share one budget, of which each counts
 * how often it holds a byte at worst (`shareOfBudget`). What is large waits for its turn
 * (`memory-reservation.ts`): what any of them gives back may be what another waits for. Where there is
 * no room, transfers that are slow give way (`memory-holders.ts`): of the part that is full, and of no other.
 */
import { type MemoryHolder, MemoryHolders } from './holders.js'
import { createMemoryQueue, type MemoryLevel, type WaitOptions } from './queue.js'

export interface MemoryBudget {
  /** False: there is no room, nothing was taken. Holders may have given way, the one that asks among them. */
  acquire(bytes: number): boolean
  release(bytes: number): void
  /** Whether that much would fit now, if those gave way that have to. */
  hasRoomFor(bytes: number): boolean
  readonly usedBytes: () => number
  /** Names one who holds bytes of it; the function that it returns takes it out again. */
  addHolder(holder: MemoryHolder): () => void
  /** Waits for its turn to take that much; for the budgets and reservations above this one. */
  waitForTurn(wanted: MemoryRequest, wait: WaitOptions): Promise<boolean>
  /** How many wait for a turn in the whole to which it belongs. */
  countWaiting(): number
}

export interface MemoryRequest {
  readonly bytes: number
  /** What it must fit into below, in bytes of their own. */
  readonly levels: readonly MemoryLevel[]
  readonly acquire: () => boolean
}

/** How many may wait: for a whole, and for a share of one. */
const MAX_WAITING = { whole: 300, share: 100 }

/** `whole`: a budget that is taken from as well. */
export function createMemoryBudget(limit: number, whole: MemoryBudget | null = null): MemoryBudget {
  const queue = createMemoryQueue()
  const holders = new MemoryHolders()
  const maxWaiting = whole === null ? MAX_WAITING.whole : MAX_WAITING.share
  let used = 0
  const evictSlowest = (): boolean => holders.evictSlowest()

  const budget: MemoryBudget = {
    acquire(bytes) {
      if (bytes > limit) return false
      while (used + bytes > limit) if (!evictSlowest()) return false
      if (whole?.acquire(bytes) === false) return false
      used += bytes
      return true
    },
    release(bytes) {
      used -= bytes
      if (whole === null) queue.admit()
      else whole.release(bytes)
    },
    hasRoomFor: (bytes) =>
      (used + bytes <= limit || used + bytes - holders.countEvictable() <= limit) && whole?.hasRoomFor(bytes) !== false,
    usedBytes: () => used,
    addHolder(holder) {
      const leaves = [holders.add(holder), whole?.addHolder(holder)]
      return () => {
        for (const leave of leaves) leave?.()
      }
    },
    waitForTurn(wanted, wait) {
      const { bytes, acquire } = wanted
      const levels = [
        ...wanted.levels,
        { key: budget, bytes, limit, usedBytes: budget.usedBytes, maxWaiting, evictSlowest },
      ]
      return whole === null
        ? queue.waitForRoom(levels, acquire, wait)
        : whole.waitForTurn({ bytes, levels, acquire }, wait)
    },
    countWaiting: () => (whole === null ? queue.length() : whole.countWaiting()),
  }
  return budget
}

/**
 * A part of a budget: at most `share` bytes of it, where each byte that is taken counts `copies`
 * times, because it is in memory that often at the worst moment.
 */
export function createBudgetShare(whole: MemoryBudget, share: number, copies: number): MemoryBudget {
  const own = createMemoryBudget(share, whole)
  return {
    acquire: (bytes) => own.acquire(bytes * copies),
    release: (bytes) => own.release(bytes * copies),
    hasRoomFor: (bytes) => own.hasRoomFor(bytes * copies),
    usedBytes: () => own.usedBytes() / copies,
    addHolder: (holder) =>
      own.addHolder({
        get held() {
          return holder.held * copies
        },
        get rate() {
          return holder.rate
        },
        evict: () => holder.evict(),
      }),
    waitForTurn: (wanted, wait) => own.waitForTurn({ ...wanted, bytes: wanted.bytes * copies }, wait),
    countWaiting: () => own.countWaiting(),
  }
}
