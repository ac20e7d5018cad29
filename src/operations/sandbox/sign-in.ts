/**
 * Prints how to sign in to the dashboard of the sandbox: a link that sets the owner's password, until there is one.
 */

import type { Database } from '../../base/storage/db/database.js'
import { userById } from '../../workspaces/accounts/people/users.js'
import { buildPasswordLink } from '../../workspaces/accounts/sessions/password-links.js'
import { ownerOf } from '../../workspaces/accounts/workspace/workspaces.js'
import { CannotStart } from './cannot-start.js'

export interface SandboxSignIn {
  readonly email: string
  /** Null if the owner has a password. */
  readonly passwordUrl: string | null
  /** The URL of the dashboard. */
  readonly url: string
}

export async function prepareSignIn(
  { read, commit }: Database,
  workspaceId: string,
  publicUrl: string,
  now: number,
): Promise<SandboxSignIn> {
  const userId = (await ownerOf(read, { workspaceId }))[0]?.user_id ?? ''
  const [user] = await userById(read, { id: userId })
  if (user === undefined) throw new CannotStart(`the workspace ${workspaceId} has no owner`)
  const url = `${publicUrl}/ui/`
  if (user.password_hash !== null) return { email: user.email, passwordUrl: null, url }
  const link = buildPasswordLink({ userId, purpose: 'set', publicUrl, now })
  await commit([link.write])
  return { email: user.email, passwordUrl: link.url, url }
}
