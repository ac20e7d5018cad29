/**
 * Limits the wrong keys of a client address: too many within a sliding window bring a ban.
 *
 * Clients are keys of `addressKeyOf`. Known limits: `maxClients` addresses are remembered; beyond that
 * the one with the oldest last failure is forgotten, ban included. A restart forgets all.
 */
import { createLruCache, type LruCache } from '../../../base/platform/lru-cache.js'

export interface AuthLimitSettings {
  /** Failures within `window` that bring a ban. */
  readonly failures: number
  readonly window: number
  readonly ban: number
  readonly maxClients: number
}

interface ClientFailures {
  readonly failedAt: readonly number[]
  readonly bannedUntil: number
}

export class AuthLimit {
  private readonly clients: LruCache<ClientFailures>

  constructor(private readonly settings: AuthLimitSettings) {
    this.clients = createLruCache({ max: settings.maxClients })
  }

  /** The number of addresses remembered. */
  get size(): number {
    return this.clients.size
  }

  isBanned(client: string, now: number): boolean {
    return (this.clients.peek(client)?.bannedUntil ?? now) > now
  }

  /** True if the client is banned now. */
  recordFailure(client: string, now: number): boolean {
    const { failures, window, ban } = this.settings
    const known = this.clients.get(client)
    const recent = (known?.failedAt ?? []).filter((at) => at > now - window)
    const failedAt = [...recent, now].slice(-failures)
    const bannedUntil = failedAt.length >= failures ? now + ban : (known?.bannedUntil ?? 0)
    this.clients.set(client, { failedAt, bannedUntil })
    return bannedUntil > now
  }
}
