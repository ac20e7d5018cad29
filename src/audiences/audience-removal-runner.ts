/**
 * Removes the contacts of deleted audiences, in the background when they are many: the deletion of an
 * audience waits 10 s at most.
 *
 * A removal that a fault interrupts is resumed after a minute; one that the daemon's stop interrupts is
 * resumed at the next start.
 */
import { setTimeout as sleep } from 'node:timers/promises'
import type { Log } from '../platform/log.js'
import type { Store } from '../storage/database.js'
import { type DeletedAudience, listPendingRemovals, removeAudienceContacts } from './audience-removal.js'

interface AudienceRemovalRunnerDeps extends Store {
  readonly log: Pick<Log, 'error'>
  /** Milliseconds that a deletion waits for its contacts at most. */
  readonly maxWait?: number
  /** Milliseconds from a fault to the next try. */
  readonly retryDelay?: number
}

export interface AudienceRemovalRunner {
  /** Resolves when the contacts are removed, or after `maxWait`. */
  readonly start: (gone: DeletedAudience) => Promise<void>
  /** Each removal ends after the commit under way. */
  readonly stop: () => Promise<void>
}

const MAX_WAIT = 10_000
const RETRY_DELAY = 60_000

/** Resumes the removals that the last stop interrupted. */
export function createAudienceRemovalRunner(deps: AudienceRemovalRunnerDeps): AudienceRemovalRunner {
  const { read, commit, log, maxWait = MAX_WAIT, retryDelay = RETRY_DELAY } = deps
  const abortController = new AbortController()
  const removals = new Set<Promise<void>>()

  async function remove(gone: DeletedAudience): Promise<void> {
    while (!abortController.signal.aborted) {
      try {
        return await removeAudienceContacts({ read, commit }, gone, abortController.signal)
      } catch (err) {
        if (abortController.signal.aborted) return
        const about = { workspace: gone.workspaceId, audience: gone.audienceId }
        log.error({ err, ...about }, 'contacts of a deleted audience cannot be removed now')
      }
      await sleep(retryDelay, undefined, { signal: abortController.signal, ref: false }).catch(() => undefined)
    }
  }

  function start(gone: DeletedAudience): Promise<void> {
    const removing = remove(gone).finally(() => removals.delete(removing))
    removals.add(removing)
    return waitAtMost(removing, maxWait)
  }

  for (const gone of listPendingRemovals(read, {})) void start(gone)

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
