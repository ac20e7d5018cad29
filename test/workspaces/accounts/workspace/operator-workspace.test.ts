/** The operator's workspace as each message asks for it: from memory, until another process may have changed it. */
import t from 'tap'
import {
  initOperatorWorkspace,
  OperatorWorkspaceCache,
  setOperatorWorkspace,
} from '../../../../src/workspaces/accounts/workspace/operator-workspace.js'
import { temporaryDatabase } from '../../../helpers/database/database.js'
import { rowOf } from '../../../helpers/database/rows.js'

t.test('it is read until there is one, and then kept until it is dropped', async (t) => {
  const { database } = await temporaryDatabase(t)
  const row = rowOf(database.read)
  let reads = 0
  const cache = new OperatorWorkspaceCache({
    read: async (sql, parameters) => {
      reads += 1
      return database.read(sql, parameters)
    },
  })
  t.same([await cache.find(), await cache.find(), reads], [null, null, 2])
  await database.commit([
    await row('workspaces', { id: 'ws_1' }),
    await row('workspaces', { id: 'ws_2' }),
    initOperatorWorkspace('ws_1'),
  ])
  t.same([await cache.find(), await cache.find(), reads], ['ws_1', 'ws_1', 3])
  await database.commit([setOperatorWorkspace('ws_2')])
  t.equal(await cache.find(), 'ws_1')
  cache.drop()
  t.equal(await cache.find(), 'ws_2')
})
