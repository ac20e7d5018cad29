/**
 * "Who receives mail for this domain?", answered from memory, for every address that a
 * stranger asks about.
 *
 * Holds what was read until it is told to forget it. Names that are not ours are remembered
 * too, apart from those that are: strangers choose them, and must not push ours out.
 * Limits: 10,000 domains with 200,000 blocked addresses in all; 10,000 names of others.
 */
import type { DomainName } from '../mail/address.js'
import type { Read } from '../storage/prepared.js'
import { verifiedAnywhere } from './sending-domains.js'
import { blockedKeys } from './verification/blocked-addresses.js'

export interface ReceivingLimits {
  readonly domains: number
  readonly blocked: number
  readonly strangers: number
}

const defaultLimits: ReceivingLimits = { domains: 10_000, blocked: 200_000, strangers: 10_000 }

export interface ReceivingDomain {
  readonly workspaceId: string
  /** Whether it takes mail at all. */
  readonly inbound: boolean
  /** Keys of local parts (`localPartKey`) to which it takes none. */
  readonly blocked: ReadonlySet<string>
}

export interface ReceivingBook {
  /** The domain where some workspace has it verified, else undefined. */
  readonly receiving: (domain: DomainName) => ReceivingDomain | undefined
  readonly forget: (domain: string) => void
  readonly drop: () => void
}

export function receivingBook({ read }: { readonly read: Read }, limits = defaultLimits): ReceivingBook {
  const ours = new Map<string, ReceivingDomain>()
  const strangers = new Set<string>()
  let blockedInAll = 0

  function dropOurs(): void {
    ours.clear()
    blockedInAll = 0
  }

  function remember(name: string, domain: ReceivingDomain): ReceivingDomain {
    const { size } = domain.blocked
    if (ours.size >= limits.domains || blockedInAll + size > limits.blocked) dropOurs()
    ours.set(name, domain)
    blockedInAll += size
    return domain
  }

  return {
    receiving: (domain) => {
      const kept = ours.get(domain)
      if (kept !== undefined || strangers.has(domain)) return kept
      const found = readDomain(read, domain)
      if (found !== undefined) return remember(domain, found)
      if (strangers.size >= limits.strangers) strangers.clear()
      strangers.add(domain)
      return undefined
    },
    forget: (domain) => {
      blockedInAll -= ours.get(domain)?.blocked.size ?? 0
      ours.delete(domain)
      strangers.delete(domain)
    },
    drop: () => {
      dropOurs()
      strangers.clear()
    },
  }
}

function readDomain(read: Read, domain: DomainName): ReceivingDomain | undefined {
  const [row] = verifiedAnywhere(read, { domain })
  if (row === undefined) return undefined
  const inbound = row.inbound === 1
  return { workspaceId: row.workspace_id, inbound, blocked: new Set(inbound ? blockedKeys(read, row) : []) }
}
