/**
 * Deletes a sending domain with its keys, blocked addresses and forwarding rules. After the commit no mail leaves
 * from it.
 *
 * Queued mail from the domain fails at its next attempt (`delivery/attempt/message-preparer`). The caller starts
 * `failDomain`, which walks the queue, so that the mail fails sooner.
 */

import type { Commit } from '../../base/storage/db/write.js'
import { type Actor, recordAuditEntry } from '../accounts/access/audit-log.js'
import { deleteDkimKeys } from './dkim/signing-keys.js'
import { deleteRulesOf } from './forwards/forward-rules.js'
import { deleteDomain, type SendingDomain } from './rows/sending-domains.js'
import { unblockAllAddresses } from './verification/blocked-addresses.js'

/** Rejects with `WriteConflict` if the domain is gone already. */
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
    deleteRulesOf(row),
    recordAuditEntry({ workspaceId, actor, action: 'domain.deleted', target: id, at: now, details: { domain } }),
  ])
}
