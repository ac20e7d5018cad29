/**
 * Limits the large messages whose requests are under way, because each holds a body of many megabytes: some in all, and
 * one of each owner. Owners take turns.
 */

/** Large messages of all owners together. */
const MAX_TOGETHER = 3

export class MessageTurns {
  private readonly active = new Set<string>()
  /** Owners by how long they have waited for a turn. */
  private readonly waiting = new Map<string, (() => void)[]>()

  /** Resolves when the owner may begin. Call `end` afterwards. */
  take(owner: string): Promise<void> {
    return new Promise((resolve) => {
      const queue = this.waiting.get(owner) ?? []
      queue.push(resolve)
      this.waiting.set(owner, queue)
      this.startNext()
    })
  }

  end(owner: string): void {
    this.active.delete(owner)
    this.startNext()
  }

  private startNext(): void {
    for (const [owner, queue] of [...this.waiting]) {
      if (this.active.size >= MAX_TOGETHER) return
      const next = this.active.has(owner) ? undefined : queue.shift()
      if (next === undefined) continue
      this.waiting.delete(owner)
      if (queue.length > 0) this.waiting.set(owner, queue)
      this.active.add(owner)
      next()
    }
  }
}
