/**
 * Limits the wrong keys of a client address: too many within a sliding window bring a ban.
 *
 * Clients are keys of `addressKeyOf`. Known limits: `maxClients` addresses are remembered; beyond that
 * the one with the oldest last failure is forgotten, ban included. A restart forgets all.
 */
import { createLruCache } from '../../../base/platform/lru-cache.js'

export interface AuthLimitSettings {
  /** Failures within `window` that bring a ban. */
  readonly failures: number
  readonly window: number
  readonly ban: number
  readonly maxClients: number
}

export interface AuthLimit {
  isBanned(client: string, now: number): boolean
  /** True if the client is banned now. */
  recordFailure(client: string, now: number): boolean
  /** The number of addresses remembered. */
  size(): number
}

interface ClientFailures {
  readonly failedAt: readonly number[]
  readonly bannedUntil: number
}

export function createAuthLimit({ failures, window, ban, maxClients }: AuthLimitSettings): AuthLimit {
  const clients = createLruCache<ClientFailures>({ max: maxClients })

  return {
    isBanned(client, now) {
      return (clients.peek(client)?.bannedUntil ?? now) > now
    },
    recordFailure(client, now) {
      const recent = (clients.get(client)?.failedAt ?? []).filter((at) => at > now - window)
      const failedAt = [...recent, now].slice(-failures)
      const bannedUntil = failedAt.length >= failures ? now + ban : (clients.get(client)?.bannedUntil ?? 0)
      clients.set(client, { failedAt, bannedUntil })
      return bannedUntil > now
    },
    size: () => clients.size,
  }
}
