/** What the queue runner needs. */
import type { WorkspaceOwners } from '../../accounts/workspace-owners.js'
import type { QueueEntry } from '../../messages/queue/queue.js'
import type { Clock } from '../../platform/clock.js'
import type { Log } from '../../platform/log.js'
import type { Store } from '../../storage/database.js'
import type { AttemptSteps } from '../attempt/make-attempt.js'
import type { MessageCache } from '../attempt/message-cache.js'
import type { ReadyMessage } from '../attempt/ready-message.js'
import type { SettleAttempt } from '../attempt/settle-attempt.js'
import type { ConnectionLimits } from '../sessions/session-pool.js'
import type { Paces } from '../shaping/paces.js'

export interface RunnerDeps extends Store, AttemptSteps {
  readonly clock: Clock
  readonly log: Log
  readonly messageCache: MessageCache
  readonly owners: Pick<WorkspaceOwners, 'ownerOf'>
  readonly paces: Pick<Paces, 'find' | 'findPause' | 'onRoom'>
  /** As much of the message as it takes to report a fault; null: the email is gone. */
  readonly buildMinimalMessage: (entry: QueueEntry) => ReadyMessage | null
  readonly settle: SettleAttempt
  /** Asked for each attempt that begins. */
  readonly connections: () => ConnectionLimits
}
