/**
 * Shares a thread among the work of many clients: in a turn of the event loop it takes no longer than one client's
 * share would.
 *
 * Steps that end with `setImmediate` bound the work of one client. A hundred clients then run a hundred steps in the
 * same turn, and so they do when their sockets have bytes at the same time. Nothing else would be served in that time.
 * Here the steps of all count together, and those beyond the time of a turn wait for the next ones, in the order in
 * which they came.
 */

/** Milliseconds of all work together, before the turn goes on to other things. */
const TURN_TIME = 5

export class SharedTurns {
  private readonly waiting: (() => void)[] = []
  private spent = 0
  private turnEnd: NodeJS.Immediate | null = null

  /** `now` reads the milliseconds of a steady clock. */
  constructor(private readonly now: () => number = () => performance.now()) {}

  /** Does the work at once, or in one of the next turns if this one has no time left. */
  run(work: () => void): void {
    if (this.waiting.length > 0 || this.spent >= TURN_TIME) this.waiting.push(work)
    else this.measure(work)
    this.turnEnd ??= setImmediate(() => this.beginTurn())
  }

  /** The same as `run` does; resolves to what the work returns, or rejects with what it throws. */
  take<Value>(work: () => Value): Promise<Value> {
    return new Promise((resolve, reject) => {
      this.run(() => {
        try {
          resolve(work())
        } catch (error) {
          reject(error)
        }
      })
    })
  }

  private beginTurn(): void {
    this.turnEnd = this.waiting.length > 0 ? setImmediate(() => this.beginTurn()) : null
    this.spent = 0
    while (this.spent < TURN_TIME) {
      const work = this.waiting.shift()
      if (work === undefined) return
      this.measure(work)
    }
  }

  private measure(work: () => void): void {
    const begun = this.now()
    try {
      work()
    } finally {
      this.spent += this.now() - begun
    }
  }
}

/** The turns of this thread, which has one event loop. */
export const sharedTurns = new SharedTurns()
