/**
 * The bytes of messages that all clients of a listener together may have us hold at a time.
 *
 * Every byte taken is given back once. Several listeners may share one budget, of which each counts
 * how often it holds a byte at worst (`shareOfBudget`).
 */
export interface MemoryBudget {
  /** False: there is no room, nothing was taken. */
  take(bytes: number): boolean
  give(bytes: number): void
  /** Whether that much would fit now. */
  hasRoomFor(bytes: number): boolean
  used(): number
}

/** `whole`: a budget that is taken from as well. */
export function memoryBudget(limit: number, whole: MemoryBudget = unlimited): MemoryBudget {
  let used = 0

  return {
    take(bytes) {
      if (used + bytes > limit || !whole.take(bytes)) return false
      used += bytes
      return true
    },
    give(bytes) {
      used -= bytes
      whole.give(bytes)
    },
    hasRoomFor: (bytes) => used + bytes <= limit && whole.hasRoomFor(bytes),
    used: () => used,
  }
}

const unlimited: MemoryBudget = {
  take: () => true,
  give: () => undefined,
  hasRoomFor: () => true,
  used: () => 0,
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
  }
}
