/**
 * The principal of a request with a session: the user, acting in one of their workspaces.
 *
 * We read the role at each request, so a removal or another role takes effect at once. There is no key, so only the
 * role limits what the user may do.
 */
import { Refusal } from '../../../base/mail/refusal.js'
import type { Read } from '../../../base/storage/db/prepared.js'
import type { Principal } from '../access/principal.js'
import { findOperatedBy } from '../workspace/operator-workspace.js'
import { roleIn } from '../workspace/workspaces.js'

/** Throws a Refusal `forbidden` for a workspace that the user does not belong to, existing or not. */
export async function findSessionPrincipal(read: Read, userId: string, workspaceId: string): Promise<Principal> {
  const role = (await roleIn(read, { workspaceId, userId }))[0]?.role
  if (role === undefined) throw new Refusal('forbidden', 'not permitted: you do not belong to this workspace')
  return { workspaceId, keyId: null, userId, role, scopes: ['full'], allowedDomains: [], sender: null }
}

/** Throws a Refusal `forbidden` unless the user is owner or admin of the operator's workspace. */
export async function requireOperator(read: Read, userId: string): Promise<void> {
  if ((await findOperatedBy(read, userId)) !== null) return
  throw new Refusal('forbidden', "not permitted: only the owner and admins of the operator's workspace may do this")
}
