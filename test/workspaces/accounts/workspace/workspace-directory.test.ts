/** Who owns a workspace and which plan it has, from memory, until it is read again. */
import t, { type Test } from 'tap'
import type { Read } from '../../../../src/base/storage/db/prepared.js'
import { setPlan } from '../../../../src/workspaces/accounts/limits/plans.js'
import { transferOwnership } from '../../../../src/workspaces/accounts/people/members.js'
import { WorkspaceDirectory } from '../../../../src/workspaces/accounts/workspace/workspace-directory.js'
import { temporaryDatabase } from '../../../helpers/database/database.js'
import { rowOf } from '../../../helpers/database/rows.js'

const PAGE_SIZE = 2

async function openDirectory(t: Test) {
  const { database } = await temporaryDatabase(t)
  const row = rowOf(database.read)
  await database.commit(
    await Promise.all([
      row('users', { id: 'anna' }),
      row('users', { id: 'ben' }),
      row('workspaces', { id: 'ws_1', slug: 's1', plan: 'free' }),
      row('workspaces', { id: 'ws_2', slug: 's2', plan: 'pro' }),
      row('workspaces', { id: 'ws_3', slug: 's3', plan: 'pro' }),
      row('members', { id: 'm1', workspace_id: 'ws_1', user_id: 'anna', role: 'owner' }),
      row('members', { id: 'm2', workspace_id: 'ws_1', user_id: 'ben', role: 'admin' }),
      row('members', { id: 'm3', workspace_id: 'ws_2', user_id: 'anna', role: 'owner' }),
    ]),
  )
  /** What happens between a read and its answer, and how many reads there were. */
  const during = { reads: 0, act: async (): Promise<void> => undefined }
  const read: Read = async (...query) => {
    during.reads += 1
    const rows = await database.read<never>(...query)
    await during.act()
    return rows
  }
  return { database, during, directory: await WorkspaceDirectory.open(read, PAGE_SIZE) }
}

const transfer = (from: string, to: string) => transferOwnership({ workspaceId: 'ws_1', ownerId: from, newOwnerId: to })

t.test('all workspaces are known from the start, and others have their own id and no plan', async (t) => {
  const { directory, during } = await openDirectory(t)
  const ids = ['ws_1', 'ws_2', 'ws_3', 'ws_none']
  t.same(ids.map(directory.ownerOf), ['anna', 'anna', 'ws_3', 'ws_none'], 'nobody owns the third')
  t.same(
    ids.map((id) => directory.planOf(id)),
    ['free', 'pro', 'pro', undefined],
  )
  t.equal(during.reads, 2, 'they are read in pages')
})

t.test('a change takes effect when the workspace is learned, and when all are read again', async (t) => {
  const { database, directory } = await openDirectory(t)
  await database.commit([...transfer('anna', 'ben'), setPlan({ workspaceId: 'ws_1', plan: 'scale' })])
  t.same([directory.ownerOf('ws_1'), directory.planOf('ws_1')], ['anna', 'free'])
  await directory.learn('ws_1')
  t.same([directory.ownerOf('ws_1'), directory.planOf('ws_1')], ['ben', 'scale'])
  await database.commit([
    ...transfer('ben', 'anna'),
    { sql: `delete from workspaces where id = 'ws_3'`, parameters: [] },
  ])
  await directory.reload()
  t.same([directory.ownerOf('ws_1'), directory.planOf('ws_3')], ['anna', undefined])
  await database.commit([{ sql: `delete from workspaces where id = 'ws_2'`, parameters: [] }])
  await directory.learn('ws_2')
  t.same([directory.ownerOf('ws_2'), directory.planOf('ws_2')], ['ws_2', undefined])
})

t.test('an answer that was read before a change never replaces a later one', async (t) => {
  const { database, during, directory } = await openDirectory(t)
  const learned: Promise<void>[] = []
  during.act = async () => {
    during.act = async () => undefined
    await database.commit([
      ...transfer('anna', 'ben'),
      await rowOf(database.read)('workspaces', { id: 'ws_0', slug: 's0', plan: 'free' }),
    ])
    learned.push(directory.learn('ws_1'), directory.learn('ws_0'))
  }
  await directory.reload()
  await Promise.all(learned)
  t.equal(directory.ownerOf('ws_1'), 'ben')
  t.equal(directory.planOf('ws_0'), 'free', 'a workspace that was made while all were read stays')
})

t.test('what is known stays in force while nothing can be read, and calls at once share a reload', async (t) => {
  const { during, directory } = await openDirectory(t)
  during.act = () => Promise.reject(new Error('the database is away'))
  await t.rejects(directory.reload(), /away/)
  t.equal(directory.ownerOf('ws_1'), 'anna')
  during.act = async () => undefined
  during.reads = 0
  const first = directory.reload()
  await Promise.resolve()
  await Promise.all([first, directory.reload(), directory.reload(), directory.reload()])
  t.equal(during.reads, 4, 'one for the first call, one for all others')
})
