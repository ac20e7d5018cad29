/**
 * The removals of contacts that follow when an audience is deleted: in the background where
 * they are many, so that nobody waits for a million of them.
 *
 * One that a fault breaks off is taken up again a minute later, and one that the stop breaks off at
 * the next start.
 */
import { setTimeout as sleep } from 'node:timers/promises'
import { type DeletedAudience, listPendingRemovals, removeAudienceContacts } from '../audiences/audience-removal.js'
import type { Log } from '../platform/log.js'
import type { Store } from '../storage/database.js'

export interface AudienceRemovalDeps extends Store {
  readonly log: Pick<Log, 'error'>
  /** Milliseconds that whoever deletes an audience waits at most. */
  readonly maxWait?: number
  /** Milliseconds after a fault. */
  readonly retryDelay?: number
}

export interface AudienceRemovals {
  /** Resolves when the contacts are gone, or when that takes long. */
  readonly start: (gone: DeletedAudience) => Promise<void>
  /** Each ends after its commit. */
  readonly stop: () => Promise<void>
}

const MAX_WAIT = 10_000
const RETRY_DELAY = 60_000

/** Takes up what was cut off. */
export function audienceRemovals(deps: AudienceRemovalDeps): AudienceRemovals {
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
