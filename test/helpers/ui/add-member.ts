/** Adds a user to the workspace of a test daemon, who can sign in after `givePassword`. */

import { parseAddress } from '../../../src/base/mail/address.js'
import { uuidv7 } from '../../../src/base/platform/ids.js'
import { insertMember } from '../../../src/workspaces/accounts/people/members.js'
import { insertUser } from '../../../src/workspaces/accounts/people/users.js'
import type { TestDaemon } from '../daemon/test-daemon.js'

export async function addMember(app: TestDaemon, email: string, role: 'admin' | 'member'): Promise<void> {
  const now = app.now()
  const [id, userId] = [uuidv7(now), uuidv7(now)]
  const user = { id: userId, email: parseAddress(email), full_name: '', password_hash: null, created_at: now }
  await app.daemon.database.commit([
    insertUser(user),
    insertMember({ id, workspace_id: app.workspaceId, user_id: userId, role, joined_at: now }),
  ])
}
