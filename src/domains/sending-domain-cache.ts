/**
 * Whether a workspace may send from a domain, from memory.
 *
 * Entries stay until they are dropped: one domain when this process changes it, all of them when another process may
 * have changed any.
 * Limit: 10,000 answers.
 */
import type { DomainName } from '../mail/address.js'
import { createLruCache } from '../platform/lru-cache.js'
import type { Read } from '../storage/prepared.js'
import { domainByName, type SendingDomain } from './sending-domains.js'

const MAX_DOMAINS = 10_000

export interface SendingDomainCache {
  /** The domain if the workspace has it verified, else undefined. */
  readonly findVerified: (workspaceId: string, domain: DomainName) => SendingDomain | undefined
  readonly forget: (workspaceId: string, domain: DomainName) => void
  readonly drop: () => void
}

export function createSendingDomainCache({ read }: { readonly read: Read }): SendingDomainCache {
  const cache = createLruCache<SendingDomain>({ max: MAX_DOMAINS })
  return {
    findVerified: (workspaceId, domain) => {
      const key = cacheKeyOf(workspaceId, domain)
      const cached = cache.get(key)
      if (cached !== undefined) return cached
      const row = domainByName(read, { workspaceId, domain })[0]
      if (row?.status !== 'verified') return undefined
      cache.set(key, row)
      return row
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
