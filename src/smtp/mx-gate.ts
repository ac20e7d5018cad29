/** What all sessions of an MX listener share: the limits, the pace of each address, and who was turned away. */
import { limitKey } from '../accounts/client-address.js'
import { type RateLimit, rateLimit } from '../accounts/limits/rate-limit.js'
import { ClientLines } from '../platform/connections/client-lines.js'
import { connectionLimit } from '../platform/connections/connection-limit.js'
import { memoryBudget } from '../platform/memory/budget.js'
import { memoryShares } from '../platform/memory/shares.js'
import type { MxDeps, MxSettings } from './mx-deps.js'
import type { MxReason } from './mx-refusals.js'
import type { SessionFacts, SessionGate } from './session-gate.js'

export interface MxGate extends SessionGate {
  readonly deps: MxDeps
  readonly settings: MxSettings
  readonly newConnections: RateLimit
  readonly messages: RateLimit
  readonly lines: ClientLines
  /** Counts and logs that a client, a recipient or a message is turned away. */
  readonly note: (reason: MxReason, about: SessionFacts) => void
  /** How many were turned away, by reason, since the start. */
  refusals(): ReadonlyMap<MxReason, number>
}

export function mxGate(deps: MxDeps): MxGate {
  const { settings, log } = deps
  const refusals = new Map<MxReason, number>()
  const lines = new ClientLines(log, limitKey)
  const memory = memoryBudget(settings.maxBytesInFlight, deps.memory)
  return {
    deps,
    settings,
    clock: deps.clock,
    connections: connectionLimit(settings),
    memory,
    memoryByClient: memoryShares(memory, Number.POSITIVE_INFINITY, settings.maxWaitingPerAddress),
    newConnections: perMinute(settings.connectionsPerMinute, settings.maxClients),
    messages: perMinute(settings.messagesPerMinute, settings.maxClients),
    mayTake: () => deps.mayTake(),
    lines,
    note(reason, about) {
      refusals.set(reason, (refusals.get(reason) ?? 0) + 1)
      lines.info({ ...about, reason }, 'an MX client was turned away')
    },
    refusals: () => refusals,
    report: (error) => log.error({ err: error }, 'receiving mail failed'),
  }
}

function perMinute(most: number, maxKeys: number): RateLimit {
  return rateLimit({ limitsOf: () => ({ requests_per_minute: most }), maxKeys })
}
