/** Emails in pages: their order, the contents of each page, and that no page costs more than it shows. */
import t from 'tap'
import type { Read } from '../../../src/base/storage/db/prepared.js'
import { countEmails, type EmailFilter, listEmails } from '../../../src/records/messages/email-list.js'
import { bulkEmail } from '../../helpers/database/bulk.js'
import { temporaryDatabase } from '../../helpers/database/database.js'
import { plansOfSqlite, skipOnPostgres } from '../../helpers/database/test-engine.js'

const { database } = await temporaryDatabase(t)

const all = (workspaceId: string): EmailFilter => ({ workspaceId, status: null, broadcastId: null })
const bouncedFilter = (workspaceId: string): EmailFilter => ({ workspaceId, status: 'bounced', broadcastId: null })

const idsOf = async (read: Read, filter: EmailFilter, offset: number, limit: number): Promise<string[]> =>
  (await listEmails(read, filter, { offset, limit })).map(({ id }) => id)

const ofBroadcast = (workspaceId: string, status: EmailFilter['status'] = null): EmailFilter => ({
  workspaceId,
  status,
  broadcastId: 'b1',
})

/** Emails of a workspace, several of each moment, every tenth bounced: as fast as the disk takes them. */
async function many(workspaceId: string, count: number, broadcastId: string | null = null): Promise<void> {
  const sql = `
    with recursive numbers(n) as (select 1 union all select n + 1 from numbers where n < ?)
    insert into emails (id, workspace_id, source, message_id, envelope_from, from_email, from_name, to_emails,
      cc_emails, bcc_emails, reply_to, subject, tags, track_opens, track_clicks, priority, size, smtputf8, status,
      recipients_bounced, created_at, broadcast_id)
    select ? || '-' || substr(cast(100000000 + n as text), 2), ?, 'rest', '', '', 'app@a.test', '', '[]', '[]', '[]', '[]',
      cast(n as text), '[]', 0, 0, 'normal', 1, 0, case when n % 10 = 0 then 'bounced' else 'delivered' end,
      case when n % 10 = 0 then 1 else 0 end, n / 3, ? from numbers`
  const prefix = broadcastId ?? workspaceId
  await database.commit([{ sql, parameters: [count, prefix, workspaceId, broadcastId] }])
}

t.test('newest first, emails of one moment by their ids, none twice and none left out', async (t) => {
  const emails = [1000, 3000, 2000, 2000, 2000].map((at) => bulkEmail({ workspaceId: 'mixed', to: 'x@b.test', at }))
  const foreign = bulkEmail({ workspaceId: 'ws_2', to: 'x@b.test', at: 2500 })
  await database.commit([...emails, foreign].flatMap(({ writes }) => writes))
  const expected = emails
    .map(({ email }) => email)
    .sort((a, b) => b.created_at - a.created_at || (a.id < b.id ? 1 : -1))
    .map(({ id }) => id)
  t.same(await idsOf(database.read, all('mixed'), 0, 10), expected)
  const pages = await Promise.all([0, 2, 4].map((offset) => idsOf(database.read, all('mixed'), offset, 2)))
  t.same(pages.flat(), expected)
  t.same(await idsOf(database.read, all('mixed'), 5, 2), [], 'behind the last')
  t.equal(await countEmails(database.read, all('mixed')), 5)
  t.match(await listEmails(database.read, all('mixed'), { offset: 0, limit: 1 }), [
    {
      from_email: 'app@a.test',
      from_name: '',
      to_emails: '["x@b.test"]',
      status: 'queued',
      created_at: 3000,
      sent_at: null,
    },
  ])
})

t.test('a status narrows both the list and its total, as it is now', async (t) => {
  await many('hundred', 100)
  t.equal(await countEmails(database.read, bouncedFilter('hundred')), 10)
  t.same(await idsOf(database.read, bouncedFilter('hundred'), 8, 10), ['hundred-00000020', 'hundred-00000010'])
  const complain = `update emails set status = 'complained', recipients_bounced = 0, recipients_complained = 1
    where id = 'hundred-00000020'`
  await database.commit([{ sql: complain, parameters: [] }])
  t.equal(await countEmails(database.read, bouncedFilter('hundred')), 9)
  t.same(await idsOf(database.read, bouncedFilter('hundred'), 8, 10), ['hundred-00000010'])
  t.equal(await countEmails(database.read, { ...all('hundred'), status: 'complained' }), 1)
  t.equal(await countEmails(database.read, all('hundred')), 100)
  t.equal(await countEmails(database.read, all('nobody')), 0)
})

t.test('bounced and failed also find an email of which one recipient is, once, until it is removed', async (t) => {
  const [one, both, failed] = [1_000, 2_000, 3_000].map((at) =>
    bulkEmail({ workspaceId: 'partly', to: 'x@b.test', at }),
  )
  if (one === undefined || both === undefined || failed === undefined) throw new Error('three')
  await database.commit([one, both, failed].flatMap(({ writes }) => writes))
  const set = (id: string, values: string) => ({ sql: `update emails set ${values} where id = ?`, parameters: [id] })
  await database.commit([
    set(one.email.id, `status = 'delivered', recipients_bounced = 1`),
    set(both.email.id, `status = 'bounced', recipients_bounced = 2, recipients_failed = 1`),
    set(failed.email.id, `status = 'failed', recipients_suppressed = 1`),
  ])
  const listed = async (status: EmailFilter['status']) => {
    const filter = { ...all('partly'), status }
    return Promise.all([await countEmails(database.read, filter), idsOf(database.read, filter, 0, 10)])
  }
  t.same(await listed('bounced'), [2, [both.email.id, one.email.id]])
  t.same(await listed('failed'), [2, [failed.email.id, both.email.id]])
  t.same(await listed('delivered'), [1, [one.email.id]])
  await database.commit([set(one.email.id, 'recipients_bounced = 0'), set(both.email.id, 'recipients_bounced = 1')])
  t.same(await listed('bounced'), [1, [both.email.id]])
  await database.commit([{ sql: 'delete from emails where id = ?', parameters: [both.email.id] }])
  t.same(await Promise.all([await listed('bounced'), await listed('failed')]), [
    [0, []],
    [1, [failed.email.id]],
  ])
})

t.test('emails of a broadcast are in its list only, with its totals', async (t) => {
  await many('writer', 2)
  await many('writer', 9, 'b1')
  // Counted as queued when it is made, and then with each change of its status.
  await database.commit([{ sql: `update emails set status = 'failed' where id = 'b1-00000003'`, parameters: [] }])
  t.same(await idsOf(database.read, all('writer'), 0, 10), ['writer-00000002', 'writer-00000001'])
  t.equal(await countEmails(database.read, all('writer')), 2)
  t.same(await idsOf(database.read, ofBroadcast('writer'), 7, 5), ['b1-00000002', 'b1-00000001'])
  t.equal(await countEmails(database.read, ofBroadcast('writer')), 9)
  t.same(await idsOf(database.read, ofBroadcast('writer', 'failed'), 0, 10), ['b1-00000003'])
  t.equal(await countEmails(database.read, ofBroadcast('writer', 'failed')), 1)
  t.same(await idsOf(database.read, ofBroadcast('other'), 0, 10), [], 'nothing for another workspace')
  t.equal(await countEmails(database.read, ofBroadcast('other')), 0)
})

t.test('a cursor far down the list points to the row that counting would find', async (t) => {
  await many('long', 25_000)
  await many('ws_2', 100)
  for (const offset of [9_999, 10_000, 10_001, 20_000, 24_999]) {
    const plain = await database.read<{ id: string }>(
      `select id from emails where workspace_id = 'long' order by created_at desc, id desc limit 2 offset ${offset}`,
      [],
    )
    t.same(
      await idsOf(database.read, all('long'), offset, 2),
      plain.map(({ id }) => id),
      String(offset),
    )
  }
  t.same(await idsOf(database.read, bouncedFilter('long'), 2_499, 5), ['long-00000010'])
  let reads = 0
  const counting: Read = async (sql, parameters) => {
    reads += 1
    return database.read(sql, parameters)
  }
  t.same(await idsOf(counting, all('long'), 10_000_000, 100), [])
  t.equal(reads, 1, 'what lies behind the end is not walked to')
})

t.test('every read walks an index, and nothing is sorted', { skip: skipOnPostgres(plansOfSqlite) }, async (t) => {
  await many('planned', 1_000)
  const seen = new Map<string, readonly unknown[]>()
  const watching: Read = async (sql, parameters) => {
    seen.set(sql, parameters)
    return database.read(sql, parameters)
  }
  const insert = `insert into broadcast_counts (broadcast_id, workspace_id, recipients, bounced) values ('b1', ?, 99, 99)
    on conflict do update set workspace_id = excluded.workspace_id, recipients = 99, bounced = 99`
  await database.commit([{ sql: insert, parameters: ['planned'] }])
  const filters = [all, bouncedFilter, ofBroadcast, (id: string) => ofBroadcast(id, 'bounced')]
  for (const filter of filters.map((build) => build('planned'))) {
    await countEmails(watching, filter)
    await listEmails(watching, filter, { offset: 50, limit: 10 })
  }
  t.equal(
    seen.size,
    8,
    'a total of either kind, a step and a page of each list, and a step to the end of each broadcast',
  )
  for (const [sql, parameters] of seen) {
    const plan = (await database.read<{ detail: string }>(`explain query plan ${sql}`, parameters)).map(
      ({ detail }) => detail,
    )
    t.equal(plan.length, 1, sql)
    const [detail = ''] = plan
    const index = /_counts/.test(sql)
      ? /USING PRIMARY KEY/
      : /recipients_bounced > 0\) = 1/.test(sql)
        ? /emails_bounced/
        : /status = /.test(sql)
          ? /emails_by_status/
          : /emails_listed/
    t.match(detail, /^SEARCH /, sql)
    t.match(detail, index, sql)
    if (!/_counts/.test(sql)) t.match(detail, /\(created_at,id\)</, 'from its place on')
    if (/offset/.test(sql)) t.match(detail, /COVERING INDEX/, 'a step reads no rows')
  }
})
