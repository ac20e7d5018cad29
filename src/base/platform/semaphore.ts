/**
 * A limited number of slots with a queue: callers wait in order, each for a limited time.
 *
 * Every `acquire` that returned true must be followed by one `release`.
 */
export class Semaphore {
  private readonly waiters = new Set<Waiter>()
  private takenSlots = 0
  private closed = false

  constructor(
    private readonly slots: number,
    private readonly maxWaiting: number,
  ) {}

  /** False if no slot became free within `maxWait` milliseconds, the queue is full, or the semaphore is closed. */
  async acquire(maxWait: number): Promise<boolean> {
    if (this.closed) return false
    if (this.takenSlots < this.slots) {
      this.takenSlots += 1
      return true
    }
    return this.waiters.size < this.maxWaiting && (await this.waitForSlot(maxWait))
  }

  release(): void {
    const [next] = this.waiters
    // The slot passes to the next caller.
    if (next === undefined) this.takenSlots -= 1
    else next(true)
  }

  /** All waiting and later calls of `acquire` return false. */
  close(): void {
    this.closed = true
    for (const admit of [...this.waiters]) admit(false)
  }

  private waitForSlot(maxWait: number): Promise<boolean> {
    return new Promise((resolve) => {
      const admit: Waiter = (admitted) => {
        clearTimeout(timer)
        this.waiters.delete(admit)
        resolve(admitted)
      }
      const timer = setTimeout(admit, maxWait, false)
      this.waiters.add(admit)
    })
  }
}

type Waiter = (admitted: boolean) => void
