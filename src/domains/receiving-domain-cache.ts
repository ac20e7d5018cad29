/**
 * Which workspace receives mail for a domain, from memory, for every recipient that a remote client names.
 *
 * Entries stay until they are dropped. Names of other domains are cached separately from ours, because remote clients
 * choose them and must not evict ours.
 * Limits: 10,000 domains with 200,000 blocked addresses in all; 10,000 names of others.
 */
import type { DomainName } from '../mail/address.js'
import type { Read } from '../storage/prepared.js'
import { verifiedByName } from './sending-domains.js'
import { listBlockedLocalParts } from './verification/blocked-addresses.js'

export interface ReceivingCacheLimits {
  readonly maxDomains: number
  readonly maxBlocked: number
  readonly maxForeignNames: number
}

const defaultLimits: ReceivingCacheLimits = { maxDomains: 10_000, maxBlocked: 200_000, maxForeignNames: 10_000 }

export interface ReceivingDomain {
  readonly workspaceId: string
  /** Whether the domain receives mail. */
  readonly inbound: boolean
  /** Keys of blocked local parts (`localPartKey`). */
  readonly blocked: ReadonlySet<string>
}

export interface ReceivingDomainCache {
  /** The domain if a workspace has it verified, else undefined. */
  readonly find: (domain: DomainName) => ReceivingDomain | undefined
  readonly forget: (domain: string) => void
  readonly drop: () => void
}

export function createReceivingDomainCache(
  { read }: { readonly read: Read },
  limits = defaultLimits,
): ReceivingDomainCache {
  const domains = new Map<string, ReceivingDomain>()
  const foreignNames = new Set<string>()
  let blockedTotal = 0

  function clearDomains(): void {
    domains.clear()
    blockedTotal = 0
  }

  function remember(name: string, domain: ReceivingDomain): ReceivingDomain {
    const { size } = domain.blocked
    if (domains.size >= limits.maxDomains || blockedTotal + size > limits.maxBlocked) clearDomains()
    domains.set(name, domain)
    blockedTotal += size
    return domain
  }

  return {
    find: (domain) => {
      const cached = domains.get(domain)
      if (cached !== undefined || foreignNames.has(domain)) return cached
      const found = readDomain(read, domain)
      if (found !== undefined) return remember(domain, found)
      if (foreignNames.size >= limits.maxForeignNames) foreignNames.clear()
      foreignNames.add(domain)
      return undefined
    },
    forget: (domain) => {
      blockedTotal -= domains.get(domain)?.blocked.size ?? 0
      domains.delete(domain)
      foreignNames.delete(domain)
    },
    drop: () => {
      clearDomains()
      foreignNames.clear()
    },
  }
}

function readDomain(read: Read, domain: DomainName): ReceivingDomain | undefined {
  const [row] = verifiedByName(read, { domain })
  if (row === undefined) return undefined
  const inbound = row.inbound === 1
  return { workspaceId: row.workspace_id, inbound, blocked: new Set(inbound ? listBlockedLocalParts(read, row) : []) }
}
