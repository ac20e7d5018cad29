/**
 * A budget of memory of which nobody may take all: each owner has a share, and all of them
 * together the whole.
 *
 * Owners who hold nothing are not remembered.
 */
import type { MemoryBudget } from './memory-budget.js'

/** `enter` names a holder to the whole: it gives way where that is full. */
export type OwnerMemory = Pick<MemoryBudget, 'take' | 'give' | 'enter'>

export interface MemoryShares {
  /** What that owner may take. */
  readonly of: (owner: string) => OwnerMemory
}

export function memoryShares(whole: OwnerMemory, share: number): MemoryShares {
  const used = new Map<string, number>()

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
    }),
  }
}
