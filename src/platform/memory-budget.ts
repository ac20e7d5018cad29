/**
 * The bytes of messages that all clients of a door together may have us hold at a time.
 *
 * Every byte taken is given back once. Known limit: joining the pieces of a message needs
 * its size once more for a moment.
 */
export interface MemoryBudget {
  /** False: there is no room, nothing was taken. */
  take(bytes: number): boolean
  give(bytes: number): void
  /** Whether that much would fit now. */
  hasRoomFor(bytes: number): boolean
  used(): number
}

export function memoryBudget(limit: number): MemoryBudget {
  let used = 0

  return {
    take(bytes) {
      if (used + bytes > limit) return false
      used += bytes
      return true
    },
    give(bytes) {
      used -= bytes
    },
    hasRoomFor: (bytes) => used + bytes <= limit,
    used: () => used,
  }
}
