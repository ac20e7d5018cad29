/**
 * Takes a sending domain away: from the commit on nothing more is sent from it, and then
 * what waits to be sent from it fails.
 *
 * What waits fails at its next attempt anyway (`ready-message.ts`): walking the queue only
 * makes it known at once. So when the walk breaks off, the deletion still stands.
 */
import { type Actor, recordAct } from '../accounts/audit-log.js'
import { deleteDomain, type SendingDomain } from '../domains/sending-domains.js'
import { deleteDkimKeys } from '../domains/signing-keys.js'
import type { DomainName } from '../mail/address.js'
import { failDomain } from '../messages/fail-domain.js'
import type { Read } from '../storage/prepared.js'
import type { Commit } from '../storage/write.js'

export interface DeleteDomainDeps {
  readonly read: Read
  readonly commit: Commit
  /** The domain is gone: whoever remembers it must forget it. */
  readonly changed: () => void
  readonly brokenOff: (error: unknown) => void
}

/** Resolves to the number of recipients that have failed; rejects with `Missed` where the domain was gone already. */
export async function deleteSendingDomain(
  { read, commit, changed, brokenOff }: DeleteDomainDeps,
  { id, workspace_id: workspaceId, domain }: SendingDomain,
  actor: Actor,
  now: number,
): Promise<number> {
  await commit([
    deleteDomain({ workspaceId, id }),
    deleteDkimKeys({ workspaceId, domain }),
    recordAct({ workspaceId, actor, action: 'domain.deleted', target: id, at: now, details: { domain } }),
  ])
  changed()
  try {
    return await failDomain({ read, commit }, { workspaceId, domain: domain as DomainName, at: now })
  } catch (error) {
    brokenOff(error)
    return 0
  }
}
