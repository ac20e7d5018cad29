/**
 * The bytes of messages that all clients of a listener together may have us hold at a time.
 *
 * Every byte taken is given back once. Several listeners may share one budget, of which each counts
 * how often it holds a byte at worst (`shareOfBudget`). Where there is no room, transfers that are
 * slow give way (`memory-holders.ts`): of the part that is full, and of no other.
 */
import { type MemoryHolder, MemoryHolders } from './memory-holders.js'

export interface MemoryBudget {
  /** False: there is no room, nothing was taken. Holders may have given way, the one that asks among them. */
  take(bytes: number): boolean
  give(bytes: number): void
  /** Whether that much would fit now, if those gave way that have to. */
  hasRoomFor(bytes: number): boolean
  used(): number
  /** Names one who holds bytes of it; the function that it returns takes it out again. */
  enter(holder: MemoryHolder): () => void
}

/** `whole`: a budget that is taken from as well. */
export function memoryBudget(limit: number, whole: MemoryBudget = unlimited): MemoryBudget {
  let used = 0
  const holders = new MemoryHolders()

  return {
    take(bytes) {
      if (bytes > limit) return false
      while (used + bytes > limit) if (!holders.free()) return false
      if (!whole.take(bytes)) return false
      used += bytes
      return true
    },
    give(bytes) {
      used -= bytes
      whole.give(bytes)
    },
    hasRoomFor: (bytes) =>
      (used + bytes <= limit || used + bytes - holders.freeable() <= limit) && whole.hasRoomFor(bytes),
    used: () => used,
    enter(holder) {
      const leaves = [holders.enter(holder), whole.enter(holder)]
      return () => {
        for (const leave of leaves) leave()
      }
    },
  }
}

const unlimited: MemoryBudget = {
  take: () => true,
  give: () => undefined,
  hasRoomFor: () => true,
  used: () => 0,
  enter: () => () => undefined,
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
  }
}
