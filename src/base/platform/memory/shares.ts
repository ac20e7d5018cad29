/**
 * Divides a memory budget among owners: each may use a share, and all together the entire budget.
 *
 * Owners that hold nothing take no memory here.
 */
import { randomUUID } from 'node:crypto'
import type { ReservableMemory } from './reservation.js'

/** Requests of one owner that may wait, so that one owner cannot fill the queue. */
const MAX_WAITING = 25

export interface MemoryShares {
  readonly forOwner: (owner: string) => ReservableMemory
}

export function createMemoryShares(budget: ReservableMemory, share: number, maxWaiting = MAX_WAITING): MemoryShares {
  const used = new Map<string, number>()
  const name = randomUUID() // an owner may have shares of several parts of one budget

  return {
    forOwner: (owner) => ({
      addHolder: (holder) => budget.addHolder(holder),
      acquire: (bytes) => {
        const after = (used.get(owner) ?? 0) + bytes
        if (after > share || !budget.acquire(bytes)) return false
        used.set(owner, after)
        return true
      },
      release: (bytes) => {
        const after = (used.get(owner) ?? 0) - bytes
        if (after > 0) used.set(owner, after)
        else used.delete(owner)
        budget.release(bytes)
      },
      waitForTurn: ({ bytes, levels, acquire }, wait) => {
        const usedByOwner = (): number => used.get(owner) ?? 0
        const own = { key: `${name} ${owner}`, bytes, limit: share, usedBytes: usedByOwner, maxWaiting }
        return budget.waitForTurn({ bytes, levels: [...levels, own], acquire }, wait)
      },
    }),
  }
}
