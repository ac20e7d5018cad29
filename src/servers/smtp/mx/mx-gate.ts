/** Holds what all sessions of an MX listener share: limits, rates by address, and the counts of refusals. */

import { StorageFault } from '../../../base/storage/db/write.js'
import { RateLimit } from '../../../workspaces/accounts/limits/rate-limit.js'
import { type SessionFacts, SessionGate } from '../session/session-gate.js'
import { ByteRate } from './byte-rate.js'
import { defaultMxLimits, type MxDeps, type MxLimits } from './mx-deps.js'
import type { MxReason } from './mx-refusals.js'

export class MxGate extends SessionGate<MxDeps, MxLimits> {
  readonly newConnections: RateLimit
  readonly messages: RateLimit
  readonly bytes: ByteRate
  private readonly counts = new Map<MxReason, number>()

  constructor(deps: MxDeps) {
    super(deps, deps.limits ?? defaultMxLimits)
    const { maxClients } = this.limits
    this.newConnections = perMinuteLimit(() => deps.settings().connections_per_minute, maxClients)
    this.messages = perMinuteLimit(() => deps.settings().messages_per_minute, maxClients)
    this.bytes = new ByteRate(deps.settings, maxClients, deps.clock)
  }

  handshakeTimeout(): number {
    return this.limits.handshakeTimeout
  }

  hasDiskSpace(): boolean {
    return this.deps.disk.hasRoom()
  }

  note(reason: MxReason, about: SessionFacts): void {
    this.counts.set(reason, (this.counts.get(reason) ?? 0) + 1)
    this.observer?.onTurnedAway(reason)
    this.lines.info({ ...about, reason }, 'an MX client was turned away')
  }

  /** Counts by reason, since the start. */
  refusals(): ReadonlyMap<MxReason, number> {
    return this.counts
  }

  report(error: unknown, session: string): void {
    if (error instanceof StorageFault && error.isOutage) {
      this.deps.log.debug({ reason: error.message, session }, 'the database was away when a session needed it')
    } else this.deps.log.error({ err: error, session }, 'receiving mail failed')
  }

  /** Calls `act` after so many milliseconds, unless the returned function cancels it. */
  schedule(milliseconds: number, act: () => void): () => void {
    if (this.deps.schedule !== undefined) return this.deps.schedule(milliseconds, act)
    const timer = setTimeout(act, milliseconds)
    return () => clearTimeout(timer)
  }
}

function perMinuteLimit(maxPerMinute: () => number, maxKeys: number): RateLimit {
  return new RateLimit({ limitsOf: () => ({ requests_per_minute: maxPerMinute() }), maxKeys })
}
