/**
 * Changes a domain's settings in one commit with the audit entry: receiving, blocked addresses, what the domain asks
 * of mail that it receives, and default tracking.
 *
 * You can turn receiving on for a verified domain only. We write only differences, so that two concurrent changes
 * both take effect.
 */

import { Refusal } from '../../base/mail/refusal.js'
import type { Store } from '../../base/storage/db/database.js'
import { type Flag, toJson } from '../../base/storage/tables/columns.js'
import { type Actor, recordAuditEntry } from '../accounts/access/audit-log.js'
import { diffInboundPolicy, type PolicyChange } from './rows/inbound-policy.js'
import { type DomainSettings, type SendingDomain, setDomainSettings } from './rows/sending-domains.js'
import {
  blockAddresses,
  listBlockedLocalParts,
  requireBlockedCapacity,
  unblockAddresses,
} from './verification/blocked-addresses.js'

export interface DomainChange {
  readonly inbound?: boolean | undefined
  readonly trackOpens?: boolean | undefined
  readonly trackClicks?: boolean | undefined
  readonly inboundPolicy?: PolicyChange | undefined
  /** Keys of local parts. */
  readonly block?: readonly string[]
  readonly unblock?: readonly string[]
}

/** Addresses that an audit entry lists. If the list is longer, the entry has its length. */
const MAX_LISTED = 20

/**
 * Rejects with a Refusal `domain-not-verified`, or `invalid-parameter` for too many blocked addresses. Rejects with
 * `WriteConflict` if the domain is gone.
 */
export async function changeDomain(
  { read, commit }: Store,
  row: SendingDomain,
  change: DomainChange,
  { actor, now }: { readonly actor: Actor; readonly now: number },
): Promise<void> {
  const { id, workspace_id: workspaceId, domain } = row
  if (change.inbound === true && row.status !== 'verified') throw buildNotVerifiedRefusal(domain)
  const before = new Set(listBlockedLocalParts(read, row))
  const added = [...new Set(change.block ?? [])].filter((key) => !before.has(key))
  const removed = [...new Set(change.unblock ?? [])].filter((key) => before.has(key))
  const policy = diffInboundPolicy(row.inbound_policy, change.inboundPolicy ?? {})
  const flags = diffFlags(row, change)
  const { inbound, track_opens, track_clicks } = flags
  const isUnchanged = policy === null && Object.values(flags).every((flag) => flag === null)
  if (isUnchanged && added.length === 0 && removed.length === 0) return
  requireBlockedCapacity(before.size + added.length - removed.length, 'blocked_addresses')
  const details = {
    domain,
    ...(inbound === null ? {} : { inbound: inbound === 1 }),
    ...(track_opens === null ? {} : { track_opens: track_opens === 1 }),
    ...(track_clicks === null ? {} : { track_clicks: track_clicks === 1 }),
    ...(policy === null ? {} : { inbound_policy: policy }),
    ...(added.length > 0 ? { blocked: listOrCount(added) } : {}),
    ...(removed.length > 0 ? { unblocked: listOrCount(removed) } : {}),
  }
  await commit([
    setDomainSettings({ workspaceId, id, ...flags, inbound_policy: policy === null ? null : toJson(policy) }),
    ...blockAddresses(row, added),
    ...unblockAddresses(row, removed),
    recordAuditEntry({ workspaceId, actor, action: 'domain.changed', target: id, at: now, details }),
  ])
}

/** Null means that no flag changes. */
function diffFlags(
  row: SendingDomain,
  { inbound, trackOpens, trackClicks }: DomainChange,
): Omit<DomainSettings, 'inbound_policy'> {
  const diffFlag = (now: Flag, requested: boolean | undefined): Flag | null => {
    const flag = requested === undefined ? now : requested ? 1 : 0
    return flag === now ? null : flag
  }
  return {
    inbound: diffFlag(row.inbound, inbound),
    track_opens: diffFlag(row.track_opens, trackOpens),
    track_clicks: diffFlag(row.track_clicks, trackClicks),
  }
}

function listOrCount(keys: readonly string[]): readonly string[] | number {
  return keys.length <= MAX_LISTED ? keys : keys.length
}

function buildNotVerifiedRefusal(domain: string): Refusal {
  return new Refusal('domain-not-verified', `${domain} is not verified: it cannot receive mail yet`, { domain })
}
