/** What all sessions of an MX listener share: the limits, the pace of each address, and who was turned away. */
import { type RateLimit, rateLimit } from '../accounts/rate-limit.js'
import { connectionLimit } from '../platform/connection-limit.js'
import { memoryBudget } from '../platform/memory-budget.js'
import type { MxDeps, MxSettings } from './mx-deps.js'
import type { MxReason } from './mx-refusals.js'
import type { SessionGate } from './session-gate.js'

/** A session that may have to go. */
export interface QuietSession {
  /** Since when its client has said nothing; null: it is bringing a message. */
  quietSince(): number | null
  giveWay(): void
}

export interface MxGate extends SessionGate {
  readonly deps: MxDeps
  readonly settings: MxSettings
  readonly newConnections: RateLimit
  readonly messages: RateLimit
  /** All that are open, at whichever socket. */
  readonly sessions: Set<QuietSession>
  /** Ends the session that has been quiet the longest. False: none has been for long enough. */
  makePlace(): boolean
  /** Counts and logs that somebody is turned away. */
  note(reason: MxReason, client: string): void
  /** How many were turned away, by reason, since the start. */
  refusals(): ReadonlyMap<MxReason, number>
}

export function mxGate(deps: MxDeps): MxGate {
  const { settings, log } = deps
  const refusals = new Map<MxReason, number>()
  const sessions = new Set<QuietSession>()
  return {
    deps,
    settings,
    connections: connectionLimit(settings),
    memory: memoryBudget(settings.maxBytesInFlight, deps.memory),
    newConnections: perMinute(settings.connectionsPerMinute, settings.maxClients),
    messages: perMinute(settings.messagesPerMinute, settings.maxClients),
    mayTake: () => deps.mayTake(),
    sessions,
    makePlace() {
      const longest = longestQuiet(sessions, deps.clock() - settings.givesWayAfter)
      longest?.giveWay()
      return longest !== null
    },
    note(reason, client) {
      refusals.set(reason, (refusals.get(reason) ?? 0) + 1)
      log.info({ reason, client }, 'an MX client was turned away')
    },
    refusals: () => refusals,
    report: (error) => log.error({ err: error }, 'receiving mail failed'),
  }
}

function longestQuiet(sessions: ReadonlySet<QuietSession>, latest: number): QuietSession | null {
  let found: QuietSession | null = null
  let least = latest
  for (const session of sessions) {
    const since = session.quietSince()
    if (since === null || since > least) continue
    found = session
    least = since
  }
  return found
}

function perMinute(most: number, maxKeys: number): RateLimit {
  return rateLimit({ limitsOf: () => ({ requests_per_minute: most }), maxKeys })
}
