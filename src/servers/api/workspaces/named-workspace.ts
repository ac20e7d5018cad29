/**
 * Authorizes a request by the role of the key's user in the workspace that it names: for workspaces, members,
 * invitations, and keys of another workspace. Every route that names a workspace comes here.
 *
 * A workspace that the user does not belong to is answered as not found. A key with any limit (scopes, expiry,
 * networks, domains) is confined to its own workspace.
 */
import { z } from 'zod'
import { Refusal } from '../../../base/mail/refusal.js'
import type { Read } from '../../../base/storage/db/prepared.js'
import { type Area, requirePermission } from '../../../workspaces/accounts/access/permissions.js'
import type { Principal } from '../../../workspaces/accounts/access/principal.js'
import { requireUnbound } from '../../../workspaces/accounts/keys/key-limits.js'
import { roleIn } from '../../../workspaces/accounts/workspace/workspaces.js'
import { notFound, wholeNumber } from '../http/input/values.js'

const idRule = 'allowed: the id of a workspace'

/** The id as a parameter. */
export const workspaceId = z
  .string(idRule)
  .max(100, idRule)
  .meta({ description: 'Id of the workspace, `ws_…`.', example: 'ws_01a1ff35-3880-7ef5-bbba-0d7e1de2529c' })

/** The query of lists that are usually short. */
export const sliceFields = {
  limit: wholeNumber(1, 100).default(100).meta({ description: 'How many at most. Default 100.' }),
  offset: wholeNumber(0, 10_000_000).default(0).meta({ description: 'How many to skip. Default 0.' }),
}

export interface WorkspaceCaller {
  readonly workspaceId: string
  /** The user of the key. */
  readonly userId: string
}

/**
 * Throws a Refusal `not-found` if the user does not belong to the workspace, or `forbidden` if the role or key does not
 * allow it.
 */
export async function authorizeInWorkspace(
  read: Read,
  principal: Principal,
  workspaceId: string,
  area: Area,
): Promise<WorkspaceCaller> {
  const { userId } = principal
  const role = userId === null ? undefined : (await roleIn(read, { workspaceId, userId }))[0]?.role
  if (userId === null || role === undefined) throw notFound('not-found', 'workspace', workspaceId)
  if (workspaceId !== principal.workspaceId) await requireUnbound(read, principal, 'act in another workspace')
  requirePermission({ ...principal, role }, area)
  return { workspaceId, userId }
}

/** The user of the key. Every key has one; a principal without a key cannot call the API. */
export function requireUserOf({ userId }: Principal): string {
  if (userId === null) throw new Refusal('forbidden', 'not permitted: the request has no user')
  return userId
}
