/** Wires the circuit breaker: what is counted, and what it holds. */

import type { ReadSettings, StartSettings } from '../../base/config/live-config.js'
import type { Clock } from '../../base/platform/clock.js'
import type { Log } from '../../base/platform/log.js'
import type { Database } from '../../base/storage/db/database.js'
import type { OnLateOutcome } from '../../inbound/receiving/reports/report-processor.js'
import { Breaker } from '../../outbound/breaker/breaker.js'
import type { ScopeRef } from '../../outbound/breaker/outcome-counts.js'
import { PendingCounts } from '../../outbound/breaker/pending-counts.js'
import type { BroadcastEngine } from '../../outbound/broadcasts/broadcast-engine.js'
import { StoredBroadcasts } from '../../outbound/broadcasts/broadcast-switch.js'
import type { OnAttempt } from '../../outbound/delivery/attempt/attempt-settler.js'
import type { HoldRuleRunner } from '../../records/messages/queue/hold-rule-runner.js'
import type { WorkspaceOwners } from '../../workspaces/accounts/workspace/workspace-owners.js'

interface BreakerDeps {
  readonly config: StartSettings
  readonly settings: ReadSettings
  readonly clock: Clock
  readonly log: Log
  readonly database: Database
  readonly workspaceOwners: WorkspaceOwners
}

/** Finds what the breaker holds. It is built after the breaker, because the breaker stops after it. */
type FindHolders = () => {
  readonly holdRules: Pick<HoldRuleRunner, 'reload'>
  readonly broadcasts: Pick<BroadcastEngine, 'wake'>
}

export interface BreakerService extends Pick<Breaker, 'start' | 'stop'> {
  /** Counts what an attempt has settled. */
  readonly countAttempt: OnAttempt
  /** Counts what a report has changed. */
  readonly countReport: OnLateOutcome
  /** Call it when these scopes were released: their outcomes that are not stored yet no longer count. */
  readonly onReleased: (scopes: readonly ScopeRef[]) => void
}

/** Stop it after delivery and receiving, because it stores their last outcomes. */
export function wireBreaker(
  { config, settings, clock, log, database, workspaceOwners: { ownerOf } }: BreakerDeps,
  findHolders: FindHolders,
): BreakerService {
  const { read, commit } = database
  const simulator = `simulator.${config.service.zone}`
  const counts = new PendingCounts({ clock, ownerOf, isSimulated: (domain) => domain === simulator })
  const onHoldsChanged = (): void => {
    const { holdRules, broadcasts } = findHolders()
    holdRules.reload()
    broadcasts.wake()
  }
  const breaker = new Breaker({
    ...{ read, commit, clock, log, counts, onHoldsChanged },
    limits: () => settings().limits.breaker,
    broadcasts: new StoredBroadcasts(read),
  })
  return {
    start: () => breaker.start(),
    stop: () => breaker.stop(),
    countAttempt: createAttemptCounter(counts),
    countReport: ({ recipient, email }, kind) =>
      counts.count({
        workspaceId: email.workspace_id,
        senderDomain: email.from_domain,
        broadcastId: email.broadcast_id,
        recipientDomain: recipient.domain,
        kind,
      }),
    onReleased: (scopes) => {
      counts.forget(scopes)
      onHoldsChanged()
    },
  }
}

function createAttemptCounter(counts: PendingCounts): BreakerService['countAttempt'] {
  return ({ outcome, recipientsFault, entry, email }) => {
    if (outcome !== 'accepted' && !recipientsFault) return
    counts.count({
      workspaceId: entry.workspace_id,
      senderDomain: senderDomainOf(email.from_email),
      broadcastId: entry.broadcast_id,
      recipientDomain: entry.domain,
      kind: outcome === 'accepted' ? 'accepted' : 'bounced',
    })
  }
}

function senderDomainOf(from: string): string {
  return from.slice(from.lastIndexOf('@') + 1)
}
