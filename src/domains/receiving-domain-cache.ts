/**
 * "Who receives mail for this domain?", answered from memory, for every address that a
 * stranger asks about.
 *
 * Holds what was read until it is told to forget it. Names that are not ours are remembered
 * too, apart from those that are: strangers choose them, and must not push ours out.
 * Limits: a weight of 200,000, of which a domain has 20 and each blocked address 1; 10,000 names of others.
 */

import type { DomainName } from '../mail/address.js'
import { createLruCache } from '../platform/lru-cache.js'
import type { Read } from '../storage/prepared.js'
import { verifiedByName } from './sending-domains.js'
import { listBlockedLocalParts } from './verification/blocked-addresses.js'

export interface ReceivingCacheLimits {
  /** Of domains and their blocked addresses. */
  readonly maxWeight: number
  readonly maxForeignNames: number
}

const DOMAIN_WEIGHT = 20
const defaultLimits: ReceivingCacheLimits = { maxWeight: 200_000, maxForeignNames: 10_000 }

export interface ReceivingDomain {
  readonly workspaceId: string
  /** Whether it takes mail at all. */
  readonly inbound: boolean
  /** Keys of local parts (`localPartKey`) to which it takes none. */
  readonly blocked: ReadonlySet<string>
}

export interface ReceivingDomainCache {
  /** The domain where some workspace has it verified, else undefined. */
  readonly find: (domain: DomainName) => ReceivingDomain | undefined
  readonly forget: (domain: string) => void
  readonly drop: () => void
}

export function createReceivingDomainCache(
  { read }: { readonly read: Read },
  limits = defaultLimits,
): ReceivingDomainCache {
  const domains = createLruCache<ReceivingDomain>({
    max: limits.maxWeight,
    weightOf: ({ blocked }) => DOMAIN_WEIGHT + blocked.size,
  })
  const foreignNames = createLruCache<true>({ max: limits.maxForeignNames })

  return {
    find: (domain) => {
      const cached = domains.get(domain)
      if (cached !== undefined || foreignNames.get(domain) === true) return cached
      const found = readDomain(read, domain)
      if (found === undefined) foreignNames.set(domain, true)
      else domains.set(domain, found)
      return found
    },
    forget: (domain) => {
      domains.delete(domain)
      foreignNames.delete(domain)
    },
    drop: () => {
      domains.clear()
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
