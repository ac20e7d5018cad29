/** What all sessions of an MX listener share: the limits, the pace of each address, and who was turned away. */
import { type RateLimit, rateLimit } from '../accounts/rate-limit.js'
import { connectionLimit } from '../platform/connection-limit.js'
import { memoryBudget } from '../platform/memory-budget.js'
import type { MxDeps, MxSettings } from './mx-deps.js'
import type { MxReason } from './mx-refusals.js'
import type { SessionGate } from './session-gate.js'

export interface MxGate extends SessionGate {
  readonly deps: MxDeps
  readonly settings: MxSettings
  readonly newConnections: RateLimit
  readonly messages: RateLimit
  /** Counts and logs that somebody is turned away. */
  note(reason: MxReason, client: string): void
  /** How many were turned away, by reason, since the start. */
  refusals(): ReadonlyMap<MxReason, number>
}

export function mxGate(deps: MxDeps): MxGate {
  const { settings, log } = deps
  const refusals = new Map<MxReason, number>()
  return {
    deps,
    settings,
    connections: connectionLimit(settings),
    memory: memoryBudget(settings.maxBytesInFlight),
    newConnections: perMinute(settings.connectionsPerMinute, settings.maxClients),
    messages: perMinute(settings.messagesPerMinute, settings.maxClients),
    mayTake: () => deps.mayTake(),
    note(reason, client) {
      refusals.set(reason, (refusals.get(reason) ?? 0) + 1)
      log.info({ reason, client }, 'an MX client was turned away')
    },
    refusals: () => refusals,
    report: (error) => log.error({ err: error }, 'receiving mail failed'),
  }
}

function perMinute(most: number, maxKeys: number): RateLimit {
  return rateLimit({ limitsOf: () => ({ requests_per_minute: most }), maxKeys })
}
