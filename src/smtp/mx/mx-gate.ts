/** What all sessions of an MX listener share: limits, rates by address, and the counts of refusals. */
import { addressKeyOf } from '../../accounts/client-address.js'
import { createRateLimit, type RateLimit } from '../../accounts/limits/rate-limit.js'
import { ClientLog } from '../../platform/connections/client-log.js'
import { createConnectionLimiter } from '../../platform/connections/connection-limiter.js'
import { createMemoryBudget } from '../../platform/memory/budget.js'
import { createMemoryShares } from '../../platform/memory/shares.js'
import type { SessionFacts, SessionGate } from '../session/session-gate.js'
import { ByteRate } from './byte-rate.js'
import type { MxDeps, MxSettings } from './mx-deps.js'
import type { MxReason } from './mx-refusals.js'

export interface MxGate extends SessionGate {
  readonly deps: MxDeps
  readonly settings: MxSettings
  readonly newConnections: RateLimit
  readonly messages: RateLimit
  readonly bytes: ByteRate
  readonly lines: ClientLog
  /** Counts and logs that a client, a recipient or a message was turned away. */
  readonly note: (reason: MxReason, about: SessionFacts) => void
  /** Counts by reason, since the start. */
  refusals(): ReadonlyMap<MxReason, number>
}

export function createMxGate(deps: MxDeps): MxGate {
  const { settings, log, observer = null } = deps
  const refusals = new Map<MxReason, number>()
  const lines = new ClientLog(log, addressKeyOf)
  const memory = createMemoryBudget(settings.maxBytesInFlight, deps.memory)
  return {
    deps,
    settings,
    clock: deps.clock,
    connections: createConnectionLimiter(settings),
    memory,
    memoryByClient: createMemoryShares(memory, Number.POSITIVE_INFINITY, settings.maxWaitingPerAddress),
    newConnections: perMinuteLimit(() => settings.connectionsPerMinute, settings.maxClients),
    messages: perMinuteLimit(() => settings.messagesPerMinute, settings.maxClients),
    bytes: new ByteRate(settings, deps.clock),
    hasDiskSpace: () => deps.hasDiskSpace(),
    lines,
    note(reason, about) {
      refusals.set(reason, (refusals.get(reason) ?? 0) + 1)
      observer?.onTurnedAway(reason)
      lines.info({ ...about, reason }, 'an MX client was turned away')
    },
    refusals: () => refusals,
    report: (error, session) => log.error({ err: error, session }, 'receiving mail failed'),
    observer,
  }
}

function perMinuteLimit(maxPerMinute: () => number, maxKeys: number): RateLimit {
  return createRateLimit({ limitsOf: () => ({ requests_per_minute: maxPerMinute() }), maxKeys })
}
