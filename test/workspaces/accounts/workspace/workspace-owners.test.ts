/** Who owns a workspace, from memory until it may have changed. */
import t, { type Test } from 'tap'
import { transferOwnership } from '../../../../src/workspaces/accounts/people/members.js'
import { WorkspaceOwners } from '../../../../src/workspaces/accounts/workspace/workspace-owners.js'
import { temporaryDatabase } from '../../../helpers/database/database.js'
import { rowOf } from '../../../helpers/database/rows.js'

async function openOwners(t: Test, max?: number) {
  const { database } = await temporaryDatabase(t)
  const row = rowOf(database.read)
  await database.commit([
    row('users', { id: 'anna' }),
    row('users', { id: 'ben' }),
    row('workspaces', { id: 'ws_1' }),
    row('workspaces', { id: 'ws_2' }),
    row('members', { id: 'm1', workspace_id: 'ws_1', user_id: 'anna', role: 'owner' }),
    row('members', { id: 'm2', workspace_id: 'ws_1', user_id: 'ben', role: 'admin' }),
    row('members', { id: 'm3', workspace_id: 'ws_2', user_id: 'anna', role: 'owner' }),
  ])
  const reads = { count: 0 }
  const read: typeof database.read = (sql, parameters) => {
    reads.count += 1
    return database.read(sql, parameters)
  }
  return { database, reads, owners: new WorkspaceOwners({ read }, max) }
}

t.test('workspaces of one owner have the same, and a workspace that nobody owns has its own id', async (t) => {
  const { owners, reads } = await openOwners(t)
  t.same([owners.ownerOf('ws_1'), owners.ownerOf('ws_2'), owners.ownerOf('ws_none')], ['anna', 'anna', 'ws_none'])
  for (const id of ['ws_1', 'ws_2', 'ws_none']) owners.ownerOf(id)
  t.equal(reads.count, 3, 'each is read once')
})

t.test('a transfer takes effect when the workspace is forgotten, and when all are', async (t) => {
  const { database, owners } = await openOwners(t)
  owners.ownerOf('ws_1')
  await database.commit(transferOwnership({ workspaceId: 'ws_1', ownerId: 'anna', newOwnerId: 'ben' }))
  t.equal(owners.ownerOf('ws_1'), 'anna')
  owners.forget('ws_1')
  t.equal(owners.ownerOf('ws_1'), 'ben')
  await database.commit(transferOwnership({ workspaceId: 'ws_1', ownerId: 'ben', newOwnerId: 'anna' }))
  owners.drop()
  t.equal(owners.ownerOf('ws_1'), 'anna')
})

t.test('memory is bounded: the workspace that was asked for longest ago is read again', async (t) => {
  const { owners, reads } = await openOwners(t, 2)
  for (const id of ['ws_1', 'ws_2', 'ws_none', 'ws_2', 'ws_1']) owners.ownerOf(id)
  t.equal(reads.count, 4)
})
