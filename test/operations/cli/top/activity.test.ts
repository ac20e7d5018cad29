/** Counts of the event log: each event once, however many portions are read; of very many, a sample. */
import t from 'tap'
import type { Write } from '../../../../src/base/storage/db/write.js'
import { readActivity } from '../../../../src/operations/cli/top/activity.js'
import { temporaryDatabase } from '../../../helpers/database/database.js'
import { buildEventWrite } from '../../../helpers/database/store-events.js'

const START = 1_000_000

const queued = (at: number, workspaceId = 'ws_1'): Write => buildEventWrite({ workspaceId, type: 'email.queued', at })

t.test('each event of a stretch is counted once, at the edges of portions too', async (t) => {
  const { database } = await temporaryDatabase(t)
  let stored = 0
  for (const total of [1, 249, 250, 251, 284, 499, 500, 501, 1_300]) {
    const writes = Array.from({ length: total - stored }, (_, at) => queued(START + stored + at))
    await database.commit(writes)
    stored = total
    t.match(await readActivity(database.read, START + 10_000, 60), { exact: true, accepted: total }, `${total} events`)
  }
  await database.commit([queued(START + 2_000, 'ws_2')])
  t.same((await readActivity(database.read, START + 10_000, 60)).senders, [
    { workspace_id: 'ws_1', accepted: 1_300 },
    { workspace_id: 'ws_2', accepted: 1 },
  ])
})

t.test('of more than 5,000 events a sample is scaled up', async (t) => {
  const { database } = await temporaryDatabase(t)
  await database.commit(Array.from({ length: 7_000 }, (_, at) => queued(START + at)))
  t.match(await readActivity(database.read, START + 10_000, 60), { exact: false, accepted: 7_000 })
})
