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
import { type DomainSettings, type SendingDomain, setDomainSettings, toSwitch } from './rows/sending-domains.js'
import {
  blockAddresses,
  listBlockedLocalParts,
  requireBlockedCapacity,
  unblockAddresses,
} from './verification/blocked-addresses.js'

export interface DomainChange {
  readonly inbound?: boolean | undefined
  /** Null: each interface has its own default. */
  readonly trackOpens?: boolean | null | undefined
  readonly trackClicks?: boolean | null | undefined
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
  const before = new Set(await listBlockedLocalParts(read, row))
  const added = [...new Set(change.block ?? [])].filter((key) => !before.has(key))
  const removed = [...new Set(change.unblock ?? [])].filter((key) => before.has(key))
  const policy = diffInboundPolicy(row.inbound_policy, change.inboundPolicy ?? {})
  const flags = diffFlags(row, change)
  const { inbound, sets_opens, track_opens, sets_clicks, track_clicks } = flags
  const isUnchanged = policy === null && inbound === null && sets_opens === 0 && sets_clicks === 0
  if (isUnchanged && added.length === 0 && removed.length === 0) return
  requireBlockedCapacity(before.size + added.length - removed.length, 'blocked_addresses')
  const details = {
    domain,
    ...(inbound === null ? {} : { inbound: inbound === 1 }),
    ...(sets_opens === 0 ? {} : { track_opens: toSwitch(track_opens) }),
    ...(sets_clicks === 0 ? {} : { track_clicks: toSwitch(track_clicks) }),
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

function diffFlags(
  row: SendingDomain,
  { inbound, trackOpens, trackClicks }: DomainChange,
): Omit<DomainSettings, 'inbound_policy'> {
  const receives = toFlag(inbound)
  const opens = trackOpens === undefined ? row.track_opens : toFlag(trackOpens)
  const clicks = trackClicks === undefined ? row.track_clicks : toFlag(trackClicks)
  return {
    inbound: receives === row.inbound ? null : receives,
    ...{ track_opens: opens, sets_opens: opens === row.track_opens ? 0 : 1 },
    ...{ track_clicks: clicks, sets_clicks: clicks === row.track_clicks ? 0 : 1 },
  }
}

function toFlag(value: boolean | null | undefined): Flag | null {
  return value == null ? null : value ? 1 : 0
}

function listOrCount(keys: readonly string[]): readonly string[] | number {
  return keys.length <= MAX_LISTED ? keys : keys.length
}

function buildNotVerifiedRefusal(domain: string): Refusal {
  return new Refusal('domain-not-verified', `${domain} is not verified: it cannot receive mail yet`, { domain })
}
