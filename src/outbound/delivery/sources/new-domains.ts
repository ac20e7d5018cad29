/**
 * The sending domains that are new: verified a short time ago. They stay in memory for ten minutes, because each
 * message asks for them.
 *
 * Limit: a domain that was verified again, after it had lost its records, counts as new again.
 */

import { tryParseDomainName } from '../../../base/mail/address.js'
import type { Clock } from '../../../base/platform/clock.js'
import { createLruCache } from '../../../base/platform/lru-cache.js'
import type { Read } from '../../../base/storage/db/prepared.js'
import { domainByName } from '../../../workspaces/domains/rows/sending-domains.js'

const NEW_FOR = 45 * 86_400_000
const REMEMBER_TIME = 600_000
const MAX_DOMAINS = 10_000

export class NewDomains {
  private readonly known = createLruCache<{ readonly isNew: boolean; readonly readAt: number }>({ max: MAX_DOMAINS })

  constructor(private readonly deps: { readonly read: Read; readonly clock: Clock }) {}

  async has(workspaceId: string, domain: string): Promise<boolean> {
    const now = this.deps.clock()
    const key = `${workspaceId} ${domain}`
    const known = this.known.get(key)
    if (known !== undefined && Math.abs(now - known.readAt) < REMEMBER_TIME) return known.isNew
    const isNew = await this.find(workspaceId, domain, now)
    this.known.set(key, { isNew, readAt: now })
    return isNew
  }

  drop(): void {
    this.known.clear()
  }

  private async find(workspaceId: string, name: string, now: number): Promise<boolean> {
    const domain = tryParseDomainName(name)
    const [row] = domain === null ? [] : await domainByName(this.deps.read, { workspaceId, domain })
    return row?.verified_at != null && now - row.verified_at < NEW_FOR
  }
}
