/**
 * Finds whether a workspace may send from a domain, from memory.
 *
 * Entries stay until they are dropped: one domain when this process changes it, all of them when another process may
 * have changed any.
 * Limit: 10,000 answers.
 */
import type { DomainName } from '../../base/mail/address.js'
import type { Read } from '../../base/storage/db/prepared.js'
import { domainByName, type SendingDomain } from './rows/sending-domains.js'
import { createWorkspaceDomainCache } from './rows/workspace-domain-cache.js'

const MAX_DOMAINS = 10_000

export interface SendingDomainCache {
  /** The domain if the workspace has it verified, else undefined. */
  readonly findVerified: (workspaceId: string, domain: DomainName) => SendingDomain | undefined
  readonly forget: (workspaceId: string, domain: DomainName) => void
  readonly drop: () => void
}

export function createSendingDomainCache({ read }: { readonly read: Read }): SendingDomainCache {
  const { find, forget, drop } = createWorkspaceDomainCache<SendingDomain>(MAX_DOMAINS, (workspaceId, domain) => {
    const [row] = domainByName(read, { workspaceId, domain })
    return row?.status === 'verified' ? row : undefined
  })
  return { findVerified: find, forget, drop }
}
