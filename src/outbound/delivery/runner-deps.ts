/** Lists what the queue runner needs. */

import type { Log } from '../../base/platform/log.js'
import type { Store } from '../../base/storage/db/database.js'
import type { HoldRuleRunner } from '../../records/messages/queue/hold-rule-runner.js'
import type { WorkspaceDirectory } from '../../workspaces/accounts/workspace/workspace-directory.js'
import type { AttemptSettler } from './attempt/attempt-settler.js'
import type { AttemptParts } from './attempt/make-attempt.js'
import type { MessageCache } from './queue/message-cache.js'
import type { ConnectionLimits } from './sessions/session-pool.js'
import type { Paces } from './shaping/paces.js'

export interface RunnerDeps extends Store, AttemptParts {
  /** The name of this node, whose entries are attempted. */
  readonly node: string
  /** False while another node may take the entries over. */
  readonly holdsLease: () => boolean
  readonly log: Log
  readonly holdRules: Pick<HoldRuleRunner, 'find' | 'findStored' | 'hold'>
  readonly messageCache: MessageCache
  readonly owners: Pick<WorkspaceDirectory, 'ownerOf'>
  readonly paces: Pick<Paces, 'find' | 'findPause' | 'onRoom'>
  readonly settler: Pick<AttemptSettler, 'settle'>
  /** The runner asks for the limits at each attempt that begins. */
  readonly connections: () => ConnectionLimits
}
