/**
 * A budget of memory of which nobody may take all: each owner has a share, and all of them
 * together the whole.
 *
 * Owners who hold nothing are not remembered.
 */
import { randomUUID } from 'node:crypto'
import type { ReservableMemory } from './reservation.js'

/** How many of one owner may wait for room, so that the line is not theirs alone. */
const MAX_WAITING = 25

export interface MemoryShares {
  /** What that owner may take. */
  readonly forOwner: (owner: string) => ReservableMemory
}

export function createMemoryShares(whole: ReservableMemory, share: number, maxWaiting = MAX_WAITING): MemoryShares {
  const used = new Map<string, number>()
  const name = randomUUID() // an owner may have a share of several parts of one whole

  return {
    forOwner: (owner) => ({
      addHolder: (holder) => whole.addHolder(holder),
      acquire: (bytes) => {
        const after = (used.get(owner) ?? 0) + bytes
        if (after > share || !whole.acquire(bytes)) return false
        used.set(owner, after)
        return true
      },
      release: (bytes) => {
        const after = (used.get(owner) ?? 0) - bytes
        if (after > 0) used.set(owner, after)
        else used.delete(owner)
        whole.release(bytes)
      },
      waitForTurn: ({ bytes, levels, acquire }, wait) => {
        const usedByOwner = (): number => used.get(owner) ?? 0
        const own = { key: `${name} ${owner}`, bytes, limit: share, usedBytes: usedByOwner, maxWaiting }
        return whole.waitForTurn({ bytes, levels: [...levels, own], acquire }, wait)
      },
    }),
  }
}
