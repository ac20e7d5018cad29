/** Holds what all sessions of an MX listener share: limits, rates by address, and the counts of refusals. */

import { addressKeyOf } from '../../../base/platform/connections/client-address.js'
import { ClientLog } from '../../../base/platform/connections/client-log.js'
import { createConnectionLimiter } from '../../../base/platform/connections/connection-limiter.js'
import { createMemoryBudget } from '../../../base/platform/memory/budget.js'
import { createMemoryShares } from '../../../base/platform/memory/shares.js'
import { createRateLimit, type RateLimit } from '../../../workspaces/accounts/limits/rate-limit.js'
import type { SessionFacts, SessionGate } from '../session/session-gate.js'
import { ByteRate } from './byte-rate.js'
import { defaultMxLimits, type MxDeps, type MxLimits } from './mx-deps.js'
import type { MxReason } from './mx-refusals.js'

export interface MxGate extends SessionGate {
  readonly deps: MxDeps
  readonly settings: MxDeps['settings']
  readonly limits: MxLimits
  readonly newConnections: RateLimit
  readonly messages: RateLimit
  readonly bytes: ByteRate
  readonly lines: ClientLog
  readonly schedule: NonNullable<MxDeps['schedule']>
  /** Counts and logs that a client, a recipient or a message was turned away. */
  readonly note: (reason: MxReason, about: SessionFacts) => void
  /** Counts by reason, since the start. */
  refusals(): ReadonlyMap<MxReason, number>
}

export function createMxGate(deps: MxDeps): MxGate {
  const { hostname, tls, settings, limits = defaultMxLimits, log, observer = null, schedule = startTimer } = deps
  const refusals = new Map<MxReason, number>()
  const lines = new ClientLog(log, addressKeyOf)
  const memory = createMemoryBudget(limits.maxBytesInFlight, deps.memory)
  return {
    deps,
    hostname,
    tls,
    settings,
    limits,
    handshakeTimeout: () => limits.handshakeTimeout,
    clock: deps.clock,
    connections: createConnectionLimiter(settings),
    memory,
    memoryByClient: createMemoryShares(memory, Number.POSITIVE_INFINITY, limits.maxWaitingPerAddress),
    newConnections: perMinuteLimit(() => settings().connections_per_minute, limits.maxClients),
    messages: perMinuteLimit(() => settings().messages_per_minute, limits.maxClients),
    bytes: new ByteRate(settings, limits.maxClients, deps.clock),
    hasDiskSpace: () => deps.disk.hasRoom(),
    lines,
    schedule,
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

function startTimer(milliseconds: number, act: () => void): () => void {
  const timer = setTimeout(act, milliseconds)
  return () => clearTimeout(timer)
}

function perMinuteLimit(maxPerMinute: () => number, maxKeys: number): RateLimit {
  return createRateLimit({ limitsOf: () => ({ requests_per_minute: maxPerMinute() }), maxKeys })
}
