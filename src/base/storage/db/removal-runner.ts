/**
 * Removes the many rows of something that was deleted, in the background when they are many: the deletion waits 10 s
 * at most.
 *
 * A removal that a fault interrupts is resumed after a minute; one that the daemon's end interrupts is resumed by the node
 * that leads: see `RemovalResumer`.
 */
import { setTimeout as sleep } from 'node:timers/promises'

interface RemovalRunnerDeps<Deleted> {
  /** All removals that have not been completed. */
  readonly listPending: () => Promise<readonly Deleted[]>
  readonly idOf: (deleted: Deleted) => string
  /** Removes in small commits. Rejects with the signal's reason if it is aborted between two of them. */
  readonly remove: (deleted: Deleted, signal: AbortSignal) => Promise<void>
  readonly onFault: (err: unknown, deleted: Deleted) => void
  /** Milliseconds that a deletion waits at most. */
  readonly maxWait?: number | undefined
  /** Milliseconds from a fault to the next try. */
  readonly retryDelay?: number | undefined
}

const MAX_WAIT = 10_000
const RETRY_DELAY = 60_000

export class RemovalRunner<Deleted> {
  private readonly stopped = new AbortController()
  /** Those under way, by their ids. */
  private readonly removals = new Map<string, Promise<void>>()

  constructor(private readonly deps: RemovalRunnerDeps<Deleted>) {}

  /** Resumes the removals that a stop interrupted, here or on another node. */
  async resume(): Promise<void> {
    for (const deleted of await this.deps.listPending()) void this.start(deleted)
  }

  /** Resolves when the rows are removed, or after `maxWait`. */
  start(deleted: Deleted): Promise<void> {
    const id = this.deps.idOf(deleted)
    const removing = this.removals.get(id) ?? this.remove(deleted).finally(() => this.removals.delete(id))
    this.removals.set(id, removing)
    return waitAtMost(removing, this.deps.maxWait ?? MAX_WAIT)
  }

  /** Each removal ends after the commit under way. */
  async stop(): Promise<void> {
    this.stopped.abort()
    await Promise.all(this.removals.values())
  }

  private async remove(deleted: Deleted): Promise<void> {
    const { signal } = this.stopped
    while (!signal.aborted) {
      try {
        return await this.deps.remove(deleted, signal)
      } catch (err) {
        if (signal.aborted) return
        this.deps.onFault(err, deleted)
      }
      await sleep(this.deps.retryDelay ?? RETRY_DELAY, undefined, { signal, ref: false }).catch(() => undefined)
    }
  }
}

function waitAtMost(work: Promise<void>, milliseconds: number): Promise<void> {
  return new Promise((resolve) => {
    const timer = setTimeout(resolve, milliseconds)
    void work.finally(() => {
      clearTimeout(timer)
      resolve()
    })
  })
}
