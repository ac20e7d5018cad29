/**
 * How many wrong keys a client address may try: a sliding window, then a ban.
 *
 * Pure but for its own memory: the time comes in with each call. Keys come from `limitKey`.
 *
 * Known limit: the memory holds `maxClients` addresses; beyond that, the one whose last
 * failure lies furthest back is forgotten, ban included. It is not kept across a restart.
 */
import { createLruCache } from '../../platform/lru-cache.js'

export interface AuthLimitSettings {
  /** Failures within `window` that bring a ban. */
  readonly failures: number
  readonly window: number
  readonly ban: number
  readonly maxClients: number
}

export interface AuthLimit {
  isBanned(client: string, now: number): boolean
  /** A wrong key. True: the client is banned from now on. */
  recordFailure(client: string, now: number): boolean
  /** Addresses remembered. */
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
