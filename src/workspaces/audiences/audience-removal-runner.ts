/** Removes the contacts of deleted audiences: see `base/storage/db/removal-runner.ts`. */
import type { Log } from '../../base/platform/log.js'
import type { Store } from '../../base/storage/db/database.js'
import { RemovalRunner } from '../../base/storage/db/removal-runner.js'
import { type DeletedAudience, listPendingRemovals, removeAudienceContacts } from './audience-removal.js'

interface AudienceRemovalRunnerDeps extends Store {
  readonly log: Pick<Log, 'error'>
  /** Milliseconds that a deletion waits for its contacts at most. */
  readonly maxWait?: number
  /** Milliseconds from a fault to the next try. */
  readonly retryDelay?: number
}

export type AudienceRemovalRunner = RemovalRunner<DeletedAudience>

export function createAudienceRemovalRunner(deps: AudienceRemovalRunnerDeps): AudienceRemovalRunner {
  const { read, commit, log, maxWait, retryDelay } = deps
  return new RemovalRunner<DeletedAudience>({
    listPending: () => listPendingRemovals(read, {}),
    remove: (audience, signal) => removeAudienceContacts({ read, commit }, audience, signal),
    onFault: (err, { workspaceId: workspace, audienceId: audience }) =>
      log.error({ err, workspace, audience }, 'contacts of a deleted audience cannot be removed now'),
    maxWait,
    retryDelay,
  })
}
