/** Wires the circuit breaker: what is counted, and what it holds. Stop it after delivery and receiving. */

import type { ReadSettings, StartSettings } from '../../base/config/live-config.js'
import type { Clock } from '../../base/platform/clock.js'
import type { Log } from '../../base/platform/log.js'
import type { Database } from '../../base/storage/db/database.js'
import { Breaker } from '../../outbound/breaker/breaker.js'
import { PendingCounts } from '../../outbound/breaker/pending-counts.js'
import type { BroadcastEngine } from '../../outbound/broadcasts/broadcast-engine.js'
import { StoredBroadcasts } from '../../outbound/broadcasts/broadcast-switch.js'
import type { HoldRuleRunner } from '../../records/messages/queue/hold-rule-runner.js'
import type { WorkspaceDirectory } from '../../workspaces/accounts/workspace/workspace-directory.js'

interface BreakerDeps {
  readonly config: StartSettings
  readonly settings: ReadSettings
  readonly clock: Clock
  readonly log: Log
  readonly database: Database
  readonly workspaces: WorkspaceDirectory
}

/** Finds what the breaker holds. It is built after the breaker, because the breaker stops after it. */
type FindHolders = () => {
  readonly holdRules: Pick<HoldRuleRunner, 'reload'>
  readonly broadcasts: Pick<BroadcastEngine, 'wake'>
}

export function wireBreaker(
  { config, settings, clock, log, database, workspaces: { ownerOf } }: BreakerDeps,
  findHolders: FindHolders,
): Breaker {
  const { read, commit, node } = database
  const simulator = `simulator.${config.service.zone}`
  return new Breaker({
    ...{ read, commit, clock, log, leads: node.leads },
    counts: new PendingCounts({ clock, ownerOf, isSimulated: (domain) => domain === simulator }),
    onHoldsChanged: async () => {
      const { holdRules, broadcasts } = findHolders()
      await holdRules.reload()
      await broadcasts.wake()
    },
    limits: () => settings().limits.breaker,
    broadcasts: new StoredBroadcasts(read),
  })
}
