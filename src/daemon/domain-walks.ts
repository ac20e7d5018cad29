/**
 * The walks over the queue that follow when a domain is deleted at a door: in the background,
 * because whoever deletes it waits for none of them.
 *
 * A walk that breaks off, by a fault or at the stop, is logged and not taken up again: what it
 * had not come to fails at its next attempt.
 */
import { type DeletedDomain, failDomain } from '../messages/queue/fail-domain.js'
import type { Log } from '../platform/log.js'
import type { Store } from '../storage/database.js'

export interface DomainWalkDeps extends Store {
  readonly log: Pick<Log, 'error' | 'warn'>
  /** Mail from the domain is not in the queue any more. */
  readonly onWalkEnd: (gone: DeletedDomain) => void
}

export interface DomainWalks {
  readonly start: (gone: DeletedDomain) => void
  /** Each ends after its page. */
  readonly stop: () => Promise<void>
}

export function domainWalks({ read, commit, log, onWalkEnd }: DomainWalkDeps): DomainWalks {
  const abortController = new AbortController()
  const walks = new Set<Promise<void>>()

  async function walk(gone: DeletedDomain): Promise<void> {
    try {
      await failDomain({ read, commit }, gone, abortController.signal)
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
