/** What `verify-data` finds in the counts of a broadcast and in reports about domains. `backup.test.ts` and the tests of each part have the rest. */
// Of SQLite alone: its file is verified.
import t from 'tap'
import { verifyData } from '../../../../src/base/storage/maintenance/verify.js'
import { toJson } from '../../../../src/base/storage/tables/columns.js'
import { storeReport } from '../../../../src/inbound/receiving/domain-reports/report-records.js'
import { sentBroadcast } from '../../../helpers/database/broadcast.js'
import { temporaryDatabase } from '../../../helpers/database/database.js'
import { rowOf } from '../../../helpers/database/rows.js'

const workspaceId = 'ws_a'

t.test(
  'counts of a broadcast that differ from its emails are found, and those of removed emails are no problem',
  async (t) => {
    const { database, file } = await temporaryDatabase(t)
    const { commit, read } = database
    const to = ['a@b.test', 'c@b.test', 'd@b.test']
    const { id, messages, writes } = await sentBroadcast(read, { workspaceId, to, at: 1_000, deliveredAt: 2_000 })
    await commit([...writes])
    const [first, second] = messages.map(({ emailId }) => emailId)
    const run = (sql: string, ...parameters: readonly unknown[]): Promise<void> => commit([{ sql, parameters }])
    const problems = (): unknown[] => verifyData(file).filter(({ check }) => check === 'broadcast-counts')
    await run(`update emails set status = 'bounced' where id = ?`, first)
    await run(`update emails set status = 'complained' where id = ?`, first)
    await run('update emails set opened_at = 3000, clicked_at = 3000 where id = ?', second)
    await run('update emails set clicked_at = null where id = ?', second)
    await run('update broadcast_messages set unsubscribed_at = 4000 where email_id = ?', second)
    t.match(await read('select * from broadcast_counts', []), [
      { recipients: 3, queued: 0, delivered: 2, bounced: 0, complained: 1, unique_opens: 1, unique_clicks: 0 },
    ])
    t.same(problems(), [])
    for (const column of ['delivered', 'bounced', 'complained', 'unique_opens', 'unique_clicks', 'recipients']) {
      await run(`update broadcast_counts set ${column} = ${column} + 1`)
      t.equal(problems().length, column === 'recipients' ? 0 : 1, column)
      await run(`update broadcast_counts set ${column} = ${column} - 1`)
    }
    await run('update broadcast_counts set unsubscribed = 0')
    t.equal(problems().length, 1, 'unsubscribed')
    await run('update broadcast_counts set unsubscribed = 1')
    await run('delete from emails where id = ?', first)
    t.same(problems(), [], 'counts outlive emails')
    await run('delete from broadcast_counts')
    t.equal(problems().length, 1, 'they are gone')
    await run('delete from broadcasts where id = ?', id)
    t.same(problems(), [], 'with their broadcast')
  },
)

t.test('reports about domains without their rows, and rows without their report', async (t) => {
  const { database, file } = await temporaryDatabase(t)
  const { commit } = database
  const report = (id: string) => ({
    ...({
      id,
      workspace_id: workspaceId,
      domain_id: 'dom_1',
      kind: 'tls',
      domain: 'a.test',
      reporter: 'b.test',
    } as const),
    ...{ organization: '', report_id: id, policy: '', begins_at: 1, ends_at: 2, messages: 1, passed: 1 },
    ...{ size: 2, received_at: 3 },
  })
  const problems = (): unknown[] => verifyData(file).filter(({ check }) => check === 'domain-report-rows')
  await commit([...storeReport(report('one'), toJson([])), ...storeReport(report('two'), toJson([]))])
  t.same(problems(), [])
  await commit([{ sql: `delete from domain_report_rows where report_id = 'one'`, parameters: [] }])
  t.match(problems(), [{ message: /one$/ }])
  await commit([{ sql: `update domain_report_rows set report_id = 'three'`, parameters: [] }])
  t.match(problems(), [{ message: /^3 reports/ }])
})

t.test('what is used belongs to an owner or a workspace that is there', async (t) => {
  const { database, file } = await temporaryDatabase(t)
  const row = rowOf(database.read)
  await database.commit([
    await row('users', { id: 'anna' }),
    await row('workspaces', { id: workspaceId }),
    ...(await Promise.all(
      ['anna', workspaceId, 'gone'].map((id) => row('usage', { workspace_id: id, kind: 'email-day', bucket: 1 })),
    )),
  ])
  t.match(
    verifyData(file).filter(({ check }) => check === 'usage-workspace'),
    [{ message: /^1 rows? of usage without their workspace/ }],
  )
})
