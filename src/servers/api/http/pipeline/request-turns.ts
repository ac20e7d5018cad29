/**
 * Lets the owners of requests take turns on the main thread: hundreds of requests of one owner that are ready at once
 * delay a request of another owner by one of them, not by all.
 *
 * In a turn of the event loop, requests begin until its time is used. Each begins in a callback of its own, so its
 * promises run before the next one begins, and their time counts too.
 */

import { OwnerQueue } from '../../../../base/platform/owner-queue.js'

/** Milliseconds of a turn in which requests may begin. Several then write in one commit. */
const TURN_TIME = 5

export class RequestTurns {
  /** What begins each waiting request. */
  private readonly waiting = new OwnerQueue<() => void>()
  /** When this turn of the event loop began its first request. Null before. */
  private turnBegan: number | null = null

  /** `now` reads the milliseconds of a steady clock. */
  constructor(private readonly now: () => number = () => performance.now()) {}

  /** Resolves when the owner's request may go on. */
  take(owner: string): Promise<void> {
    return new Promise((resolve) => {
      this.waiting.add(owner, resolve)
      setImmediate(() => this.admit())
    })
  }

  /** Runs once for each waiting request, or again in the next turn. */
  private admit(): void {
    this.turnBegan ??= this.beginTurn()
    if (this.now() - this.turnBegan < TURN_TIME) this.waiting.takeNext()?.item()
    else setImmediate(() => this.admit())
  }

  private beginTurn(): number {
    // It is the first callback of ours in the next turn.
    setImmediate(() => {
      this.turnBegan = null
    })
    return this.now()
  }
}
