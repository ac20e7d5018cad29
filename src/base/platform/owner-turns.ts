/**
 * Lets owners take turns at work that takes long: some pieces are under way in all, and at most one of each owner. What
 * waits may be bounded too, in all and of each owner. An owner of whom nothing waits may always add a piece.
 */

import { OwnerQueue } from './owner-queue.js'

interface OwnerTurnsOptions {
  /** Pieces under way of all owners together. */
  readonly together: number
  /** Without it, any number of pieces waits. */
  readonly waiting?: WaitingLimits
}

interface WaitingLimits {
  /** Pieces that wait, in all and of one owner. */
  readonly maxWaiting: number
  readonly maxWaitingOfOwner: number
  /** Makes the error for a piece beyond the limits. */
  readonly buildRefusal: () => Error
}

export class OwnerTurns {
  private readonly active = new Set<string>()
  /** What begins each waiting piece. */
  private readonly waiting = new OwnerQueue<() => void>()

  constructor(private readonly options: OwnerTurnsOptions) {}

  /** Does the work when the owner has a turn. Rejects at once if too much waits. */
  async run<Value>(owner: string, work: () => Promise<Value>): Promise<Value> {
    const end = await this.take(owner)
    try {
      return await work()
    } finally {
      end()
    }
  }

  /** Resolves when the owner has a turn, to what ends it. Throws at once if too much waits. */
  take(owner: string): Promise<() => void> {
    const { waiting } = this.options
    if (waiting !== undefined && this.isTooMuch(this.waiting.countOf(owner), waiting)) throw waiting.buildRefusal()
    return new Promise((resolve) => {
      this.waiting.add(owner, () => resolve(() => this.end(owner)))
      this.startNext()
    })
  }

  private isTooMuch(ofOwner: number, { maxWaiting, maxWaitingOfOwner }: WaitingLimits): boolean {
    return ofOwner >= maxWaitingOfOwner || (ofOwner > 0 && this.waiting.size >= maxWaiting)
  }

  private end(owner: string): void {
    this.active.delete(owner)
    this.startNext()
  }

  private startNext(): void {
    while (this.active.size < this.options.together) {
      const next = this.waiting.takeNext((owner) => !this.active.has(owner))
      if (next === undefined) return
      this.active.add(next.owner)
      next.item()
    }
  }
}
