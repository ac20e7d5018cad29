import fc from 'fast-check'
import t from 'tap'
import { countSubscribed } from '../../../src/workspaces/audiences/count-subscribed.js'
import { temporaryDatabase } from '../../helpers/database/database.js'

const { database } = await temporaryDatabase(t)
const { read, commit } = database

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

t.test('after any changes', async (t) => {
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
        await commit([{ sql: statements[act as keyof typeof statements], parameters }])
      }
      for (const list of ['one', 'two', 'all']) {
        const [counted] = read<{ contacts: number; subscribed: number }>(
          `select count(*) as contacts, coalesce(sum(subscribed), 0) as subscribed from contacts
            where workspace_id = ? and (? = 'all' or audience_id = ?)`,
          [workspaceId, list, list],
        )
        t.same(countSubscribed(read, workspaceId, list), counted, list)
      }
    }),
    { numRuns: 60 },
  )
})

t.test('an audience without contacts', async (t) => {
  t.same(countSubscribed(read, 'ws_1', 'absent'), { contacts: 0, subscribed: 0 })
})
