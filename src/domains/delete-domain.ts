/**
 * Takes a sending domain away, with its keys and its blocked addresses: from the commit on nothing more is sent from it.
 *
 * What waits to be sent from it fails at its next attempt (`ready-message.ts`). Whoever
 * deletes lets `failDomain` walk the queue after it, so that it is known sooner.
 */
import { type Actor, recordAuditEntry } from '../accounts/audit-log.js'
import type { Commit } from '../storage/writer/write.js'
import { deleteDkimKeys } from './dkim/signing-keys.js'
import { deleteDomain, type SendingDomain } from './sending-domains.js'
import { unblockAllAddresses } from './verification/blocked-addresses.js'

/** Rejects with `Missed` where the domain was gone already. */
export async function deleteSendingDomain(
  { commit }: { readonly commit: Commit },
  row: SendingDomain,
  actor: Actor,
  now: number,
): Promise<void> {
  const { id, workspace_id: workspaceId, domain } = row
  await commit([
    deleteDomain({ workspaceId, id }),
    deleteDkimKeys({ workspaceId, domain }),
    unblockAllAddresses(row),
    recordAuditEntry({ workspaceId, actor, action: 'domain.deleted', target: id, at: now, details: { domain } }),
  ])
}
