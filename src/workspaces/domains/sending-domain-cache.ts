/**
 * Finds whether a workspace may send from a domain, from memory.
 *
 * Entries stay until they are dropped: one domain when this process changes it, and all of them when another process
 * has changed any. Limit: 10,000 answers.
 */
import type { DomainName } from '../../base/mail/address.js'
import { RecordCache } from '../../base/platform/record-cache.js'
import type { Awaitable, Read } from '../../base/storage/db/prepared.js'
import type { FollowsTables } from '../../base/storage/db/table-changes.js'
import { domainByName, type SendingDomain, verifiedDomainNames } from './rows/sending-domains.js'

const MAX_DOMAINS = 10_000

export class SendingDomainCache extends RecordCache<SendingDomain | undefined, DomainName> implements FollowsTables {
  readonly follows = ['domains'] as const

  constructor(private readonly read: Read) {
    super({ max: MAX_DOMAINS })
  }

  /** The domain if the workspace has it verified. Otherwise it is undefined. */
  findVerified(workspaceId: string, domain: DomainName): Awaitable<SendingDomain | undefined> {
    return this.find(workspaceId, domain)
  }

  /** Verified domains of the workspace, read from the database. */
  async listVerified(workspaceId: string, limit: number): Promise<readonly DomainName[]> {
    return (await verifiedDomainNames(this.read, { workspaceId, limit })).map(({ domain }) => domain)
  }

  protected async load(workspaceId: string, domain: DomainName): Promise<SendingDomain | undefined> {
    const [row] = await domainByName(this.read, { workspaceId, domain })
    return row?.status === 'verified' ? row : undefined
  }
}
