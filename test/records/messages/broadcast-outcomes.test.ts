/** The recipients of a broadcast by outcome: their order, pages, and that each read walks one index. */
import t from 'tap'
import type { Read } from '../../../src/base/storage/db/prepared.js'
import {
  findUnopened,
  keepsAllEmails,
  listRecipients,
  type OutcomePlace,
  recipientOutcomes,
} from '../../../src/records/messages/broadcast-outcomes.js'
import { temporaryDatabase } from '../../helpers/database/database.js'
import { plansOfSqlite, skipOnPostgres } from '../../helpers/database/test-engine.js'

const { database } = await temporaryDatabase(t)
const COUNT = 300
const of = { workspaceId: 'ws_1', broadcastId: 'b1' }

/** Every third was opened, every fifth clicked, every seventh unsubscribed, and every tenth bounced. */
const seeded = `with recursive numbers(n) as (select 1 union all select n + 1 from numbers where n < ?)`
const idOf = `'bc-' || substr(cast(100000000 + n as text), 2)`
await database.commit([
  {
    sql: `${seeded} insert into emails (id, workspace_id, source, message_id, envelope_from, from_email, from_name,
      to_emails, cc_emails, bcc_emails, reply_to, subject, tags, track_opens, track_clicks, priority, size, smtputf8,
      status, recipients_bounced, created_at, broadcast_id, opened_at, clicked_at)
    select ${idOf}, 'ws_1', 'rest', '', '', 'app@a.test', '', '["to@b.test"]', '[]', '[]', '[]', '', '[]', 1, 1, 'low',
      1, 0, case when n % 10 = 0 then 'bounced' else 'delivered' end, case when n % 10 = 0 then 1 else 0 end, n / 3,
      'b1', case when n % 3 = 0 then 1000 - n / 6 end, case when n % 5 = 0 then n / 4 end from numbers`,
    parameters: [COUNT],
  },
  {
    sql: `${seeded} insert into broadcast_messages (email_id, recipient_id, workspace_id, broadcast_id, contact_id,
      address, created_at, unsubscribed_at)
    select ${idOf}, 'r' || cast(n as text), 'ws_1', 'b1', 'c' || cast(1000 + n as text), 'x' || cast(n as text), n / 3,
      case when n % 7 = 0 then n / 4 end from numbers`,
    parameters: [COUNT],
  },
])

t.test('pages have each recipient once, the latest first', async (t) => {
  const expected = {
    ...{ sent: 300, delivered: 270, opened: 100, clicked: 60, bounced: 30, unsubscribed: 42 },
    ...{ queued: 0, complained: 0, failed: 0, cancelled: 0 },
  }
  for (const outcome of [null, ...recipientOutcomes]) {
    const places: OutcomePlace[] = []
    for (;;) {
      const page = await listRecipients(database.read, { ...of, outcome }, { after: places.at(-1), limit: 17 })
      places.push(...page.map(({ place }) => place))
      if (page.length < 17) break
    }
    t.equal(places.length, outcome === null ? COUNT : expected[outcome], String(outcome))
    t.equal(new Set(places.map(({ id }) => id)).size, places.length, 'none twice')
    const sorted = places.toSorted((one, other) => other.at - one.at || (one.id < other.id ? 1 : -1))
    t.same(places, sorted)
  }
  for (const other of [{ workspaceId: 'ws_2' }, { broadcastId: 'b2' }]) {
    for (const outcome of [null, ...recipientOutcomes]) {
      t.same(await listRecipients(database.read, { ...of, ...other, outcome }, { limit: 9 }), [])
    }
  }
})

t.test('those who did not open are found by their contacts', async (t) => {
  const all = Array.from({ length: COUNT }, (_, at) => `c${1_001 + at}`)
  const left = all.filter((_, at) => [3, 5, 7, 10].every((every) => (at + 1) % every !== 0))
  t.same([...(await findUnopened(database.read, of, [...all, 'c9999']))].sort(), left)
  t.equal((await findUnopened(database.read, { ...of, workspaceId: 'ws_2' }, all)).size, 0)
})

t.test('each read walks one index and sorts nothing', { skip: skipOnPostgres(plansOfSqlite) }, async (t) => {
  const seen = new Map<string, readonly unknown[]>()
  const read: Read = async (sql, parameters) => {
    seen.set(sql, parameters)
    return database.read(sql, parameters)
  }
  for (const outcome of [null, ...recipientOutcomes]) await listRecipients(read, { ...of, outcome }, { limit: 9 })
  await findUnopened(read, of, ['c1'])
  t.equal(await keepsAllEmails(read, of), true)
  t.equal(seen.size, 7)
  const firsts: string[] = []
  for (const [sql, parameters] of seen) {
    const plan = await database.read<{ detail: string }>(`explain query plan ${sql}`, parameters)
    const details = plan.map(({ detail }) => detail)
    for (const detail of details) t.match(detail, /^SEARCH /, sql)
    firsts.push(details[0] ?? '')
  }
  const indexes = ['listed', 'opened', 'clicked', 'by_status'].map((name) => `emails_${name}`)
  for (const index of [...indexes, 'broadcast_messages_unsubscribed', 'broadcast_messages_of_contact']) {
    t.ok(
      firsts.some((detail) => detail.includes(` ${index} `)),
      `${index}: ${firsts.join(' | ')}`,
    )
  }
  t.equal(
    firsts.filter((detail) => /\([a-z_]+,(?:email_)?id\)</.test(detail)).length,
    5,
    'from the place of the cursor',
  )
})

t.test('the first removed email tells that not all are kept', async (t) => {
  t.equal(await keepsAllEmails(database.read, { ...of, broadcastId: 'b2' }), false)
  await database.commit([{ sql: `delete from emails where id = 'bc-00000001'`, parameters: [] }])
  t.equal(await keepsAllEmails(database.read, of), false)
})
