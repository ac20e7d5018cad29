/**
 * Removes the many rows of something that was deleted, in the background when they are many: the deletion waits 10 s
 * at most.
 *
 * A removal that a fault interrupts is resumed after a minute; one that the daemon's stop interrupts is resumed at the
 * next start.
 */
import { setTimeout as sleep } from 'node:timers/promises'

interface RemovalRunnerDeps<Deleted> {
  /** Removals that the last stop interrupted. */
  readonly listPending: () => readonly Deleted[]
  /** Removes in small commits. Rejects with the signal's reason if it is aborted between two of them. */
  readonly remove: (deleted: Deleted, signal: AbortSignal) => Promise<void>
  readonly onFault: (err: unknown, deleted: Deleted) => void
  /** Milliseconds that a deletion waits at most. */
  readonly maxWait?: number | undefined
  /** Milliseconds from a fault to the next try. */
  readonly retryDelay?: number | undefined
}

export interface RemovalRunner<Deleted> {
  /** Resolves when the rows are removed, or after `maxWait`. */
  readonly start: (deleted: Deleted) => Promise<void>
  /** Each removal ends after the commit under way. */
  readonly stop: () => Promise<void>
}

const MAX_WAIT = 10_000
const RETRY_DELAY = 60_000

/** Resumes the removals that the last stop interrupted. */
export function createRemovalRunner<Deleted>(deps: RemovalRunnerDeps<Deleted>): RemovalRunner<Deleted> {
  const { listPending, maxWait = MAX_WAIT, retryDelay = RETRY_DELAY } = deps
  const abortController = new AbortController()
  const { signal } = abortController
  const removals = new Set<Promise<void>>()

  async function remove(deleted: Deleted): Promise<void> {
    while (!signal.aborted) {
      try {
        return await deps.remove(deleted, signal)
      } catch (err) {
        if (signal.aborted) return
        deps.onFault(err, deleted)
      }
      await sleep(retryDelay, undefined, { signal, ref: false }).catch(() => undefined)
    }
  }

  function start(deleted: Deleted): Promise<void> {
    const removing = remove(deleted).finally(() => removals.delete(removing))
    removals.add(removing)
    return waitAtMost(removing, maxWait)
  }

  for (const deleted of listPending()) void start(deleted)

  return {
    start,
    stop: async () => {
      abortController.abort()
      await Promise.all(removals)
    },
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
