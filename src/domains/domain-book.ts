/**
 * "May this workspace send from this domain?", answered from memory.
 *
 * Holds what was read until it is told to forget it: one domain that we change ourselves,
 * or all of them, when somebody else may have changed any.
 * Limit: 10,000 answers.
 */
import type { Read } from '../storage/prepared.js'
import { domainByName, type SendingDomain } from './sending-domains.js'

const MAX_DOMAINS = 10_000

export interface DomainBook {
  /** The domain where the workspace has it verified, else undefined. */
  readonly verified: (workspaceId: string, domain: string) => SendingDomain | undefined
  readonly forget: (workspaceId: string, domain: string) => void
  readonly drop: () => void
}

export function domainBook({ read }: { readonly read: Read }): DomainBook {
  const known = new Map<string, SendingDomain>()
  return {
    verified: (workspaceId, domain) => {
      const key = nameOf(workspaceId, domain)
      const kept = known.get(key)
      if (kept !== undefined) return kept
      const row = domainByName(read, { workspaceId, domain })[0]
      if (row?.status !== 'verified') return undefined
      if (known.size >= MAX_DOMAINS) known.clear()
      known.set(key, row)
      return row
    },
    forget: (workspaceId, domain) => {
      known.delete(nameOf(workspaceId, domain))
    },
    drop: () => known.clear(),
  }
}

function nameOf(workspaceId: string, domain: string): string {
  return `${workspaceId} ${domain}`
}
