/**
 * Changes what a domain takes in, with the word in the audit log, in one commit.
 *
 * Taking mail in is turned on for a verified domain alone. All is
 * changed by difference: of two changes at once each does what it meant, and nothing else.
 */
import { type Actor, recordAct } from '../accounts/audit-log.js'
import { Refusal } from '../mail/refusal.js'
import type { Read } from '../storage/prepared.js'
import type { Commit } from '../storage/write.js'
import { block, blockedKeys, refuseTooMany, unblock } from './blocked-addresses.js'
import { type SendingDomain, setInbound } from './sending-domains.js'

export interface DomainChange {
  readonly inbound?: boolean | undefined
  /** Keys of local parts. */
  readonly block?: readonly string[]
  readonly unblock?: readonly string[]
}

/** Addresses that an entry of the audit log names; a longer list is counted. */
const MAX_NAMED = 20

/**
 * Throws a Refusal: `domain-not-verified`, or `invalid-parameter` for too many blocked
 * addresses. Rejects with `Missed` where the domain is gone.
 */
export async function changeDomain(
  { read, commit }: { readonly read: Read; readonly commit: Commit },
  row: SendingDomain,
  change: DomainChange,
  { actor, now }: { readonly actor: Actor; readonly now: number },
): Promise<void> {
  const { id, workspace_id: workspaceId, domain } = row
  const { inbound = row.inbound === 1 } = change
  if (change.inbound === true && row.status !== 'verified') throw notVerified(domain)
  const before = new Set(blockedKeys(read, row))
  const added = [...new Set(change.block ?? [])].filter((key) => !before.has(key))
  const removed = [...new Set(change.unblock ?? [])].filter((key) => before.has(key))
  const turned = inbound !== (row.inbound === 1)
  if (!turned && added.length === 0 && removed.length === 0) return
  refuseTooMany(before.size + added.length - removed.length, 'blocked_addresses')
  const details = {
    domain,
    ...(turned ? { inbound } : {}),
    ...(added.length > 0 ? { blocked: named(added) } : {}),
    ...(removed.length > 0 ? { unblocked: named(removed) } : {}),
  }
  await commit([
    setInbound({ workspaceId, id, inbound: turned ? (inbound ? 1 : 0) : null }),
    ...block(row, added),
    ...unblock(row, removed),
    recordAct({ workspaceId, actor, action: 'domain.changed', target: id, at: now, details }),
  ])
}

function named(keys: readonly string[]): readonly string[] | number {
  return keys.length <= MAX_NAMED ? keys : keys.length
}

function notVerified(domain: string): Refusal {
  return new Refusal('domain-not-verified', `${domain} is not verified: it cannot take mail in yet`, { domain })
}
