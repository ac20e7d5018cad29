/** Opens receiving: a separate resolver, and the observers of what happens to inbound mail. */
import type { StartSettings } from '../../base/config/live-config.js'
import type { Clock } from '../../base/platform/clock.js'
import type { RoomLogs } from '../../base/platform/room-logs.js'
import type { Database } from '../../base/storage/db/database.js'
import { Receiving, type ReceivingDeps } from '../../inbound/receiving/receiving.js'
import type { Breaker } from '../../outbound/breaker/breaker.js'
import type { Observers } from '../monitoring/monitoring.js'
import type { StopSteps } from './daemon-options.js'
import { type Edges, resolverOf } from './edges.js'

type OpenedHere = keyof Database | 'log' | 'spamLog' | 'resolver' | `on${string}`

interface OpenDeps extends Omit<ReceivingDeps, OpenedHere> {
  readonly config: StartSettings
  readonly clock: Clock
  readonly logs: RoomLogs
  readonly edges: Edges
  readonly database: Database
  readonly observers: Observers | null
  readonly breaker: Breaker
}

export function openReceiving(deps: OpenDeps, stopSteps: StopSteps): Receiving {
  const { config, clock, logs, edges, database, observers, breaker } = deps
  const ended = new AbortController()
  const receiving = new Receiving({
    ...deps,
    ...database,
    log: logs.of('receiving'),
    spamLog: logs.of('spam'),
    resolver: resolverOf(edges, config, clock, ended.signal),
    onLateOutcome: (subject, kind) => breaker.counts.countReport(subject, kind),
    onAuthenticated: observers?.onAuthenticated,
    onSpamVerdict: observers?.onSpamVerdict,
    onGreylisted: observers?.onGreylisted,
    onDomainReport: observers?.onDomainReport,
  })
  stopSteps.push(() => {
    ended.abort()
    return receiving.stop()
  })
  return receiving
}
