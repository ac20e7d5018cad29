/**
 * Fails the queued mail of deleted domains, in the background.
 *
 * A walk over the queue that a fault or the daemon's stop interrupts is logged and not resumed: the
 * remaining messages fail at their next attempt.
 */
import type { Log } from '../../../base/platform/log.js'
import type { Store } from '../../../base/storage/db/database.js'
import { type DeletedDomain, failMailOfDomain } from './fail-domain.js'

interface DeletedDomainRunnerDeps extends Store {
  readonly log: Pick<Log, 'error' | 'warn'>
  /** No mail from the domain is left in the queue, or the walk was interrupted. */
  readonly onWalkEnd: (gone: DeletedDomain) => void
}

export interface DeletedDomainRunner {
  readonly start: (gone: DeletedDomain) => void
  /** Each walk ends after the page under way. */
  readonly stop: () => Promise<void>
}

export function createDeletedDomainRunner({
  read,
  commit,
  log,
  onWalkEnd,
}: DeletedDomainRunnerDeps): DeletedDomainRunner {
  const abortController = new AbortController()
  const walks = new Set<Promise<void>>()

  async function walk(gone: DeletedDomain): Promise<void> {
    try {
      await failMailOfDomain({ read, commit }, gone, abortController.signal)
    } catch (err) {
      const about = { workspace: gone.workspaceId, domain: gone.domain }
      const what = 'mail of a deleted domain fails at its next attempt, not at once'
      if (abortController.signal.aborted && err === abortController.signal.reason) log.warn(about, what)
      else log.error({ err, ...about }, what)
    }
    onWalkEnd(gone)
  }

  return {
    start: (gone) => {
      const walking = walk(gone).finally(() => walks.delete(walking))
      walks.add(walking)
    },
    stop: async () => {
      abortController.abort()
      await Promise.all(walks)
    },
  }
}
