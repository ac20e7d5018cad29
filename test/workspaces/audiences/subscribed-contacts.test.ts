/** The counts of an audience, and its first subscribed contact, also behind many who have unsubscribed. */
import fc from 'fast-check'
import t from 'tap'
import { ROW_STEP } from '../../../src/base/storage/db/stepped-walk.js'
import { countSubscribed, findSubscribedContact } from '../../../src/workspaces/audiences/subscribed-contacts.js'
import { temporaryDatabase } from '../../helpers/database/database.js'

const { database } = await temporaryDatabase(t)

async function add(audience: string, numbers: readonly number[], subscribed: 0 | 1, workspace = 'ws_a'): Promise<void> {
  const sql = `insert into contacts (id, workspace_id, audience_id, email, email_key, subscribed, metadata, created_at,
    updated_at) values (?, ?, ?, ?, ?, ?, '{}', 1, 1)`
  await database.commit(
    numbers.map((number) => {
      const [id, email] = [`${audience}-${String(number).padStart(9, '0')}`, `${number}@b.test`]
      return { sql, parameters: [id, workspace, audience, email, email, subscribed] }
    }),
  )
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
  const read: typeof database.read = async (sql, parameters) => {
    const rows = await database.read<never>(sql, parameters)
    steps += 1
    t.ok(rows.length <= ROW_STEP)
    return rows
  }
  t.equal((await findSubscribedContact(read, 'ws_a', 'long'))?.email, `${3 * ROW_STEP + 1}@b.test`)
  t.equal(steps, 5, 'four steps, and the contact')
})

const contact = fc.record({
  id: fc.nat(5),
  audience: fc.constantFrom('one', 'two', null),
  subscribed: fc.constantFrom(0, 1),
})
const change = fc.record({ act: fc.constantFrom('put', 'subscribe', 'move', 'remove'), contact })

const upsert = `insert into contacts (id, workspace_id, audience_id, email, email_key, subscribed, metadata, created_at, updated_at)
  values (?, ?, ?, ?, ?, ?, '{}', 0, 0)
  on conflict (id) do update set audience_id = excluded.audience_id, subscribed = excluded.subscribed`

const statements = {
  put: upsert,
  subscribe: 'update contacts set subscribed = ? where id = ?',
  move: 'update contacts set audience_id = ? where id = ?',
  remove: 'delete from contacts where id = ?',
}

let run = 0

t.test('the counts after any changes', async (t) => {
  await fc.assert(
    fc.asyncProperty(fc.array(change, { minLength: 1, maxLength: 30 }), async (changes) => {
      run += 1
      const workspaceId = `ws_${run}`
      for (const { act, contact } of changes) {
        const id = `${run}-${contact.id}`
        const parameters = {
          put: [id, workspaceId, contact.audience, id, id, contact.subscribed],
          subscribe: [contact.subscribed, id],
          move: [contact.audience, id],
          remove: [id],
        }[act as keyof typeof statements]
        await database.commit([{ sql: statements[act as keyof typeof statements], parameters }])
      }
      for (const list of ['one', 'two', 'all']) {
        const [counted] = await database.read<{ contacts: number; subscribed: number }>(
          `select count(*) as contacts, coalesce(sum(subscribed), 0) as subscribed from contacts
            where workspace_id = ? and (? = 'all' or audience_id = ?)`,
          [workspaceId, list, list],
        )
        t.same(await countSubscribed(database.read, workspaceId, list), counted, list)
      }
    }),
    { numRuns: 60 },
  )
})

t.test('the counts of an audience without contacts', async (t) => {
  t.same(await countSubscribed(database.read, 'ws_1', 'absent'), { contacts: 0, subscribed: 0 })
})
