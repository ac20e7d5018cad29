/**
 * A budget of memory of which nobody may take all: each owner has a share, and all of them
 * together the whole.
 *
 * Owners who hold nothing are not remembered.
 */
import { randomUUID } from 'node:crypto'
import type { ReservableMemory } from './reservation.js'

/** How many of one owner may wait for room, so that the line is not theirs alone. */
const MOST_WAITING = 25

export interface MemoryShares {
  /** What that owner may take. */
  readonly of: (owner: string) => ReservableMemory
}

export function memoryShares(whole: ReservableMemory, share: number, mostWaiting = MOST_WAITING): MemoryShares {
  const used = new Map<string, number>()
  const name = randomUUID() // an owner may have a share of several parts of one whole

  return {
    of: (owner) => ({
      enter: (holder) => whole.enter(holder),
      take: (bytes) => {
        const after = (used.get(owner) ?? 0) + bytes
        if (after > share || !whole.take(bytes)) return false
        used.set(owner, after)
        return true
      },
      give: (bytes) => {
        const after = (used.get(owner) ?? 0) - bytes
        if (after > 0) used.set(owner, after)
        else used.delete(owner)
        whole.give(bytes)
      },
      awaitTurn: ({ bytes, levels, take }, wait) => {
        const ofOwner = (): number => used.get(owner) ?? 0
        const own = { key: `${name} ${owner}`, bytes, limit: share, used: ofOwner, mostWaiting }
        return whole.awaitTurn({ bytes, levels: [...levels, own], take }, wait)
      },
    }),
  }
}
