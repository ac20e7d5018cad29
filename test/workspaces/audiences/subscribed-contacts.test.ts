/** The first subscribed contact of an audience, also behind many who have unsubscribed. */
import t from 'tap'
import { ROW_STEP } from '../../../src/base/storage/db/stepped-walk.js'
import { findSubscribedContact } from '../../../src/workspaces/audiences/subscribed-contacts.js'
import { temporaryDatabase } from '../../helpers/database/database.js'

const { database } = await temporaryDatabase(t)

async function add(audience: string, numbers: readonly number[], subscribed: 0 | 1, workspace = 'ws_a'): Promise<void> {
  const sql = `insert into contacts (id, workspace_id, audience_id, email, email_key, subscribed, metadata, created_at,
    updated_at) select printf('%s-%09d', ?, value), ?, ?, value || '@b.test', value || '@b.test', ?, '{}', 1, 1
    from json_each(?)`
  const parameters = [audience, workspace, audience, subscribed, JSON.stringify(numbers)]
  await database.commit([{ sql, parameters }])
}

const range = (from: number, count: number): number[] => Array.from({ length: count }, (_, at) => from + at)

t.test('the oldest one', async (t) => {
  await add('some', [1, 2], 0)
  await add('some', [3, 4], 1)
  t.equal((await findSubscribedContact(database.read, 'ws_a', 'some'))?.email, '3@b.test')
  t.equal(await findSubscribedContact(database.read, 'ws_b', 'some'), undefined)
})

t.test('none', async (t) => {
  await add('gone', range(1, ROW_STEP), 0)
  t.equal(await findSubscribedContact(database.read, 'ws_a', 'gone'), undefined)
  t.equal(await findSubscribedContact(database.read, 'ws_a', 'empty'), undefined)
})

t.test('behind more than a step', async (t) => {
  await add('long', range(1, 3 * ROW_STEP), 0)
  await add('long', [3 * ROW_STEP + 1], 1)
  let steps = 0
  const read: typeof database.read = (sql, parameters) => {
    const rows = database.read<never>(sql, parameters)
    steps += 1
    t.ok(rows.length <= ROW_STEP)
    return rows
  }
  t.equal((await findSubscribedContact(read, 'ws_a', 'long'))?.email, `${3 * ROW_STEP + 1}@b.test`)
  t.equal(steps, 5, 'four steps, and the contact')
})
