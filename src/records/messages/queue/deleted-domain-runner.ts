/**
 * Fails the queued mail of deleted domains, in the background.
 *
 * If a fault or the daemon's stop interrupts a walk over the queue, that is logged, and the walk is not resumed: the
 * remaining messages fail at their next attempt.
 */
import type { Log } from '../../../base/platform/log.js'
import type { Store } from '../../../base/storage/db/database.js'
import { type DeletedDomain, failMailOfDomain } from './fail-domain.js'

interface DeletedDomainRunnerDeps extends Store {
  readonly log: Pick<Log, 'error' | 'warn'>
  /** Called when no mail from the domain is left in the queue, or the walk was interrupted. */
  readonly onWalkEnd: (gone: DeletedDomain) => void
}

export class DeletedDomainRunner {
  private readonly abortController = new AbortController()
  private readonly walks = new Set<Promise<void>>()

  constructor(private readonly deps: DeletedDomainRunnerDeps) {}

  start(gone: DeletedDomain): void {
    const walking = this.walk(gone).finally(() => this.walks.delete(walking))
    this.walks.add(walking)
  }

  /** Stops the walks. Each ends after its present page. */
  async stop(): Promise<void> {
    this.abortController.abort()
    await Promise.all(this.walks)
  }

  private async walk(gone: DeletedDomain): Promise<void> {
    const { log, onWalkEnd } = this.deps
    const { signal } = this.abortController
    try {
      await failMailOfDomain(this.deps, gone, signal)
    } catch (err) {
      const about = { workspace: gone.workspaceId, domain: gone.domain }
      const what = 'mail of a deleted domain fails at its next attempt, not at once'
      if (signal.aborted && err === signal.reason) log.warn(about, what)
      else log.error({ err, ...about }, what)
    }
    onWalkEnd(gone)
  }
}
