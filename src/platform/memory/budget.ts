/**
 * The bytes of messages that all clients of a listener together may have us hold at a time.
 *
 * Every byte taken is given back once. Several listeners may share one budget, of which each counts
 * how often it holds a byte at worst (`shareOfBudget`). What is large waits for its turn
 * (`memory-reservation.ts`): what any of them gives back may be what another waits for. Where there is
 * no room, transfers that are slow give way (`memory-holders.ts`): of the part that is full, and of no other.
 */
import { type MemoryHolder, MemoryHolders } from './holders.js'
import { type MemoryLevel, memoryLine, type Wait } from './line.js'

export interface MemoryBudget {
  /** False: there is no room, nothing was taken. Holders may have given way, the one that asks among them. */
  take(bytes: number): boolean
  give(bytes: number): void
  /** Whether that much would fit now, if those gave way that have to. */
  hasRoomFor(bytes: number): boolean
  used(): number
  /** Names one who holds bytes of it; the function that it returns takes it out again. */
  enter(holder: MemoryHolder): () => void
  /** Waits for its turn to take that much; for the budgets and reservations above this one. */
  awaitTurn(wanted: Wanted, wait: Wait): Promise<boolean>
  /** How many wait for a turn in the whole to which it belongs. */
  waiting(): number
}

export interface Wanted {
  readonly bytes: number
  /** What it must fit into below, in bytes of their own. */
  readonly levels: readonly MemoryLevel[]
  readonly take: () => boolean
}

/** How many may wait: for a whole, and for a share of one. */
const MOST_WAITING = { whole: 300, share: 100 }

/** `whole`: a budget that is taken from as well. */
export function memoryBudget(limit: number, whole: MemoryBudget | null = null): MemoryBudget {
  const line = memoryLine()
  const holders = new MemoryHolders()
  const mostWaiting = whole === null ? MOST_WAITING.whole : MOST_WAITING.share
  let used = 0

  const budget: MemoryBudget = {
    take(bytes) {
      if (bytes > limit) return false
      while (used + bytes > limit) if (!holders.free()) return false
      if (whole?.take(bytes) === false) return false
      used += bytes
      return true
    },
    give(bytes) {
      used -= bytes
      if (whole === null) line.admit()
      else whole.give(bytes)
    },
    hasRoomFor: (bytes) =>
      (used + bytes <= limit || used + bytes - holders.freeable() <= limit) && whole?.hasRoomFor(bytes) !== false,
    used: () => used,
    enter(holder) {
      const leaves = [holders.enter(holder), whole?.enter(holder)]
      return () => {
        for (const leave of leaves) leave?.()
      }
    },
    awaitTurn(wanted, wait) {
      const { bytes, take } = wanted
      const own = { key: budget, bytes, limit, used: () => used, mostWaiting, free: () => holders.free() }
      const levels = [...wanted.levels, own]
      return whole === null ? line.enter(levels, take, wait) : whole.awaitTurn({ bytes, levels, take }, wait)
    },
    waiting: () => (whole === null ? line.length() : whole.waiting()),
  }
  return budget
}

/**
 * A part of a budget: at most `share` bytes of it, where each byte that is taken counts `copies`
 * times, because it is in memory that often at the worst moment.
 */
export function shareOfBudget(whole: MemoryBudget, share: number, copies: number): MemoryBudget {
  const own = memoryBudget(share, whole)
  return {
    take: (bytes) => own.take(bytes * copies),
    give: (bytes) => own.give(bytes * copies),
    hasRoomFor: (bytes) => own.hasRoomFor(bytes * copies),
    used: () => own.used() / copies,
    enter: (holder) =>
      own.enter({
        get held() {
          return holder.held * copies
        },
        get rate() {
          return holder.rate
        },
        giveWay: () => holder.giveWay(),
      }),
    awaitTurn: (wanted, wait) => own.awaitTurn({ ...wanted, bytes: wanted.bytes * copies }, wait),
    waiting: () => own.waiting(),
  }
}
