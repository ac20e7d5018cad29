/** Who can be unsubscribed, what it writes, and for how long the link works. */
import t, { type Test } from 'tap'
import { parseAddress } from '../../../src/base/mail/address.js'
import { uuidv7 } from '../../../src/base/platform/ids.js'
import type { Database } from '../../../src/base/storage/db/database.js'
import type { RecipientStatus } from '../../../src/base/storage/tables/email-tables.js'
import { buildUnsubscription, findLinkRecipient, unsubscribe } from '../../../src/records/messages/unsubscribe.js'
import {
  insertUnsubscribeLink,
  removeOldUnsubscribeLinks,
  unsubscribeLinkOf,
} from '../../../src/records/messages/unsubscribe-links.js'
import { bulkEmail } from '../../helpers/database/bulk.js'
import { temporaryDatabase } from '../../helpers/database/database.js'

async function storeEmail(t: Test, status: RecipientStatus, workspaceId = 'ws_1') {
  const { database } = await temporaryDatabase(t)
  const { email, entries, writes } = bulkEmail({ workspaceId, to: 'Bob@b.test', at: 1_000 })
  const id = entries[0]?.id ?? ''
  const link = insertUnsubscribeLink({
    ...{ recipient_id: id, workspace_id: workspaceId, email_id: email.id, created_at: 1_000 },
    ...{ address: parseAddress('Bob@b.test'), sender: parseAddress('app@a.test') },
  })
  const withStatus = { sql: 'update recipients set status = ?', parameters: [status] }
  await database.commit([...writes, link, withStatus])
  return { database, id, emailId: email.id }
}

const count = async (database: Database, table: string): Promise<number> =>
  (await database.read<{ n: number }>(`select count(*) n from ${table}`, []))[0]?.n ?? -1
const events = async (database: Database): Promise<number> =>
  (await database.read(`select 1 from events where type = 'email.unsubscribed'`, [])).length

t.test('by the status of the recipient', async (t) => {
  const rows: readonly (readonly [RecipientStatus, kind: string, events: number])[] = [
    ['delivered', 'acts', 1],
    ['sent', 'acts', 1],
    ['bounced', 'acts', 1],
    ['queued', 'acts', 1],
    ['failed', 'acts', 1],
    ['scheduled', 'ignored', 0],
    ['suppressed', 'ignored', 0],
    ['cancelled', 'ignored', 0],
  ]
  for (const [status, kind, recorded] of rows) {
    const { database, id, emailId } = await storeEmail(t, status)
    t.equal((await buildUnsubscription(database.read, id, 2_000)).kind, kind, status)
    t.equal(await unsubscribe(database, id, 2_000), true)
    t.equal(await events(database), recorded, status)
    t.match(await database.read('select * from suppressions', []), [
      { workspace_id: 'ws_1', email: 'bob@b.test', reason: 'unsubscribe', source_email_id: emailId },
    ])
  }
})

t.test('requests at the same moment record one event', async (t) => {
  const { database, id } = await storeEmail(t, 'delivered')
  const answers = await Promise.all([1, 2, 3, 4, 5].map((n) => unsubscribe(database, id, 2_000 + n)))
  t.same([answers, await events(database), await count(database, 'suppressions')], [Array(5).fill(true), 1, 1])
  t.equal((await findLinkRecipient(database.read, id, 2_010))?.isUnsubscribed, true)
})

t.test('no recipient of the service, of a closed workspace, or of nothing', async (t) => {
  const service = await storeEmail(t, 'delivered', 'service')
  t.equal(await unsubscribe(service.database, service.id, 2_000), false)
  const closed = await storeEmail(t, 'delivered')
  await closed.database.commit([{ sql: `insert into erasures (id, asked_at) values ('ws_1', 1)`, parameters: [] }])
  t.equal(await unsubscribe(closed.database, closed.id, 2_000), false)
  t.equal(await unsubscribe(closed.database, uuidv7(1), 2_000), false)
  t.same([await count(service.database, 'suppressions'), await count(closed.database, 'suppressions')], [0, 0])
})

t.test('links are removed when they are old, and no others', async (t) => {
  const { database } = await temporaryDatabase(t)
  const times = [...Array.from({ length: 700 }, (_, n) => 1_000 + n), 5_000, 6_000]
  const links = times.map((at) =>
    insertUnsubscribeLink({
      ...{ recipient_id: uuidv7(at), workspace_id: 'ws_1', email_id: 'x', created_at: at },
      ...{ address: parseAddress('bob@b.test'), sender: parseAddress('app@a.test') },
    }),
  )
  await database.commit(links)
  t.equal(await removeOldUnsubscribeLinks(database, 5_000), true, 'one step removes some')
  t.equal(await count(database, 'unsubscribe_links'), 202)
  t.equal(await removeOldUnsubscribeLinks(database, 5_000), false)
  t.equal(await removeOldUnsubscribeLinks(database, 5_000), false)
  t.same(await database.read('select created_at from unsubscribe_links order by 1', []), [
    { created_at: 5_000 },
    { created_at: 6_000 },
  ])
  t.same(await unsubscribeLinkOf(database.read, { recipientId: 'x' }), [])
})
