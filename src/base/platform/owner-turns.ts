/**
 * Lets owners take turns at work that takes long: some pieces are under way in all, and at most one of each owner. What
 * waits may be bounded too, in all and of each owner. An owner of whom nothing waits may always add a piece.
 */

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
  /** The waiting pieces by owner, in the order of their turns. No queue is empty. */
  private readonly queues = new Map<string, (() => void)[]>()
  private waitingCount = 0

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
    const queue = this.queues.get(owner) ?? []
    if (waiting !== undefined && this.isTooMuch(queue.length, waiting)) throw waiting.buildRefusal()
    return new Promise((resolve) => {
      queue.push(() => resolve(() => this.end(owner)))
      this.queues.set(owner, queue)
      this.waitingCount += 1
      this.startNext()
    })
  }

  private isTooMuch(ofOwner: number, { maxWaiting, maxWaitingOfOwner }: WaitingLimits): boolean {
    return ofOwner >= maxWaitingOfOwner || (ofOwner > 0 && this.waitingCount >= maxWaiting)
  }

  private end(owner: string): void {
    this.active.delete(owner)
    this.startNext()
  }

  private startNext(): void {
    for (const [owner, queue] of [...this.queues]) {
      if (this.active.size >= this.options.together) return
      const next = this.active.has(owner) ? undefined : queue.shift()
      if (next === undefined) continue
      this.queues.delete(owner)
      // The owner moves to the end of the round.
      if (queue.length > 0) this.queues.set(owner, queue)
      this.waitingCount -= 1
      this.active.add(owner)
      next()
    }
  }
}
