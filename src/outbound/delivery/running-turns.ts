/** The turns of entries that are under way. The end of the process waits for them. */
import { setTimeout as sleep } from 'node:timers/promises'
import type { AttemptTurn } from './attempt/make-attempt.js'

export interface Turn extends AttemptTurn {
  isActive: boolean
  /** True if the entry may be due again by now, behind the position of the sweep. */
  needsRecheck: boolean
}

export class RunningTurns {
  private readonly turns = new Set<Promise<void>>()

  get size(): number {
    return this.turns.size
  }

  add(turn: Promise<void>): void {
    const running = turn.finally(() => this.turns.delete(running))
    this.turns.add(running)
  }

  /** Resolves when no turn is under way, after `limit` milliseconds at the latest. */
  async wait(limit: number): Promise<void> {
    const late = new AbortController()
    const done = Promise.all(this.turns).finally(() => late.abort())
    await Promise.race([done, sleep(limit, undefined, { signal: late.signal }).catch(() => undefined)])
  }
}
