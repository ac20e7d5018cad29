/**
 * A cache by workspace and domain.
 *
 * Entries stay until they are dropped or pushed out by later ones; what `load` does not find is not cached.
 */
import type { DomainName } from '../../../base/mail/address.js'
import { createLruCache } from '../../../base/platform/lru-cache.js'

export interface WorkspaceDomainCache<V> {
  readonly find: (workspaceId: string, domain: DomainName) => V | undefined
  readonly forget: (workspaceId: string, domain: DomainName) => void
  readonly drop: () => void
}

export function createWorkspaceDomainCache<V extends object>(
  max: number,
  load: (workspaceId: string, domain: DomainName) => V | undefined,
): WorkspaceDomainCache<V> {
  const cache = createLruCache<V>({ max })
  return {
    find: (workspaceId, domain) => {
      const key = cacheKeyOf(workspaceId, domain)
      const cached = cache.get(key)
      if (cached !== undefined) return cached
      const value = load(workspaceId, domain)
      if (value !== undefined) cache.set(key, value)
      return value
    },
    forget: (workspaceId, domain) => {
      cache.delete(cacheKeyOf(workspaceId, domain))
    },
    drop: () => cache.clear(),
  }
}

function cacheKeyOf(workspaceId: string, domain: DomainName): string {
  return `${workspaceId} ${domain}`
}
