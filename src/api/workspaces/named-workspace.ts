/**
 * The workspace that a request names, and what the key's user is in it: workspaces, members
 * and invitations are authorised by that, not by what the key may do in its own workspace.
 *
 * A workspace that the user does not belong to is not there. A key that may only read is cut
 * to its own workspace: what it may see of others was never said when it was made.
 */
import { z } from 'zod'
import { type Area, requirePermission } from '../../accounts/permissions.js'
import type { Principal } from '../../accounts/principal.js'
import { roleIn } from '../../accounts/workspaces.js'
import { Refusal } from '../../mail/refusal.js'
import type { Read } from '../../storage/prepared.js'
import { notFound, wholeNumber } from '../http/input/values.js'

const idRule = 'allowed: the id of a workspace'

/** As a parameter. */
export const workspaceId = z
  .string(idRule)
  .max(100, idRule)
  .meta({ description: 'Id of the workspace, `ws_…`.', example: 'ws_01a1ff35-3880-7ef5-bbba-0d7e1de2529c' })

/** Of the lists of a workspace, which are short: all of it unless somebody asks for less. */
export const sliceFields = {
  limit: wholeNumber(1, 100).default(100).meta({ description: 'How many at most. Default 100.' }),
  offset: wholeNumber(0, 10_000_000).default(0).meta({ description: 'How many to pass over. Default 0.' }),
}

export interface WorkspaceCaller {
  readonly workspaceId: string
  /** Who asks. */
  readonly userId: string
}

/** Throws a Refusal: `not-found` where the user does not belong to it, `forbidden` where their role is not enough. */
export function authorizeInWorkspace(
  read: Read,
  principal: Principal,
  workspaceId: string,
  area: Area,
): WorkspaceCaller {
  const { userId } = principal
  const role = userId === null ? undefined : roleIn(read, { workspaceId, userId })[0]?.role
  if (userId === null || role === undefined) throw notFound('not-found', 'workspace', workspaceId)
  if (workspaceId !== principal.workspaceId && !principal.scopes.includes('full')) {
    throw new Refusal('forbidden', 'not permitted: in another workspace a key needs the scope "full"')
  }
  requirePermission({ ...principal, role }, area)
  return { workspaceId, userId }
}

/** The user behind a key. Only keys come to routes that need one, and every key is somebody's. */
export function requireUser({ userId }: Principal): string {
  if (userId === null) throw new Refusal('forbidden', 'not permitted: nobody stands behind this request')
  return userId
}
