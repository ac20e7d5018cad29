/**
 * Divides a memory budget among owners: each may use a share, and all together the entire budget.
 *
 * Owners that hold nothing take no memory here.
 */
import { randomUUID } from 'node:crypto'
import type { ReservableMemory } from './reservation.js'

/** Requests of one owner that may wait, so that one owner cannot fill the queue. */
const MAX_WAITING = 25

interface ShareOptions {
  readonly maxWaiting?: number
  /** Names with the same owner have one share. */
  readonly ownerOf?: (name: string) => string
}

export class MemoryShares {
  private readonly used = new Map<string, number>()
  /** An owner may have shares of several parts of one budget. */
  private readonly name = randomUUID()

  constructor(
    private readonly budget: ReservableMemory,
    private readonly share: number,
    private readonly options: ShareOptions = {},
  ) {}

  forOwner(name: string): ReservableMemory {
    const { budget, used, share } = this
    const { maxWaiting = MAX_WAITING, ownerOf } = this.options
    const owner = ownerOf?.(name) ?? name
    return {
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
        const usedBytes = (): number => used.get(owner) ?? 0
        const own = { key: `${this.name} ${owner}`, bytes, limit: share, usedBytes, maxWaiting }
        return budget.waitForTurn({ bytes, levels: [...levels, own], acquire }, wait)
      },
    }
  }
}
