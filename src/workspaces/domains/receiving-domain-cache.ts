/**
 * Finds the workspace that receives mail for a domain, from memory, for every recipient that a remote client names.
 *
 * Entries stay until they are dropped. We cache names of other domains separately, because remote clients choose
 * them and must not evict our domains. Limits: 10,000 domains with 200,000 blocked addresses in total, and 10,000
 * names of others.
 */
import type { DomainName } from '../../base/mail/address.js'
import { createLruCache, type LruCache } from '../../base/platform/lru-cache.js'
import { SharedLoads } from '../../base/platform/shared-loads.js'
import type { Awaitable, Read } from '../../base/storage/db/prepared.js'
import type { FollowsTables } from '../../base/storage/db/table-changes.js'
import type { InboundPolicy } from '../../base/storage/tables/domain-tables.js'
import { parseInboundPolicy } from './rows/inbound-policy.js'
import { domainOfMailHost, verifiedByName } from './rows/sending-domains.js'
import { listBlockedLocalParts } from './verification/blocked-addresses.js'

interface ReceivingCacheLimits {
  /** The limit of domains and their blocked addresses together. */
  readonly maxWeight: number
  readonly maxForeignNames: number
}

const DOMAIN_WEIGHT = 20
const defaultLimits: ReceivingCacheLimits = { maxWeight: 200_000, maxForeignNames: 10_000 }

export interface ReceivingDomain {
  readonly workspaceId: string
  /** Whether the domain receives mail. */
  readonly inbound: boolean
  /** Keys of blocked local parts (`localPartKey`). */
  readonly blocked: ReadonlySet<string>
  readonly policy: InboundPolicy
}

export class ReceivingDomainCache implements FollowsTables {
  readonly follows = ['domains', 'blocked_addresses'] as const

  private readonly domains: LruCache<ReceivingDomain>
  private readonly foreignNames: LruCache<true>
  private readonly loads = new SharedLoads<ReceivingDomain | undefined>()

  constructor(
    private readonly deps: { readonly read: Read },
    limits = defaultLimits,
  ) {
    this.domains = createLruCache<ReceivingDomain>({
      max: limits.maxWeight,
      weightOf: ({ blocked }) => DOMAIN_WEIGHT + blocked.size,
    })
    this.foreignNames = createLruCache<true>({ max: limits.maxForeignNames })
  }

  /** The domain if a workspace has it verified. Otherwise it is undefined. */
  find(domain: DomainName): Awaitable<ReceivingDomain | undefined> {
    const cached = this.domains.get(domain)
    if (cached !== undefined || this.foreignNames.get(domain) === true) return cached
    return this.loads.join(
      domain,
      () => readDomain(this.deps.read, domain),
      (found) => this.keep(domain, found),
    )
  }

  /**
   * Tells whether the MX listener accepts mail for the domain. It does for a domain with receiving on, and for the
   * mail host of a verified domain, which gets the bounces.
   */
  async receives(domain: DomainName): Promise<boolean> {
    if ((await this.find(domain))?.inbound === true) return true
    const parent = domainOfMailHost(domain)
    return parent !== null && (await this.find(parent)) !== undefined
  }

  forget(domain: string): void {
    this.domains.delete(domain)
    this.foreignNames.delete(domain)
    this.loads.forget(domain)
  }

  drop(): void {
    this.domains.clear()
    this.foreignNames.clear()
    this.loads.forgetAll()
  }

  private keep(domain: DomainName, found: ReceivingDomain | undefined): void {
    if (found === undefined) this.foreignNames.set(domain, true)
    else this.domains.set(domain, found)
  }
}

async function readDomain(read: Read, domain: DomainName): Promise<ReceivingDomain | undefined> {
  const [row] = await verifiedByName(read, { domain })
  if (row === undefined) return undefined
  const inbound = row.inbound === 1
  const blocked = new Set(inbound ? await listBlockedLocalParts(read, row) : [])
  return { workspaceId: row.workspace_id, inbound, blocked, policy: parseInboundPolicy(row.inbound_policy) }
}
