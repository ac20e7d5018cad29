/** Closing a workspace is one small commit, whatever its domains have gathered; erasing it takes the rest. */
import t from 'tap'
import { closeWorkspace, eraseWorkspace } from '../../../../src/base/storage/maintenance/erase.js'
import { toJson } from '../../../../src/base/storage/tables/columns.js'
import { type DomainReport, storeReport } from '../../../../src/inbound/receiving/domain-reports/report-records.js'
import { temporaryDatabase } from '../../../helpers/database/database.js'
import { seedDatabase } from '../../../helpers/database/seed-data.js'

t.test('reports about domains go with their domain, but not in the commit that closes a workspace', async (t) => {
  const { database } = await temporaryDatabase(t)
  const { read, commit } = database
  const { workspaceId, otherWorkspaceId } = await seedDatabase(database)
  const domainOf = async (workspace: string): Promise<string> =>
    (await read<{ id: string }>('select id from domains where workspace_id = ?', [workspace]))[0]?.id ?? ''
  const store = async (workspace: string): Promise<unknown> => {
    const report: DomainReport = {
      ...{
        id: `r-${workspace}`,
        workspace_id: workspace,
        domain_id: await domainOf(workspace),
        kind: 'tls',
        domain: 'a.test',
      },
      ...{ reporter: 'b.test', organization: 'B', report_id: 'one', policy: '', begins_at: 1, ends_at: 2 },
      ...{ messages: 1, passed: 1, size: 2, received_at: 3 },
    }
    return commit(storeReport(report, toJson([])))
  }
  const left = async (): Promise<readonly unknown[]> =>
    read('select workspace_id from domain_reports union all select workspace_id from domain_report_rows', [])
  await store(workspaceId)
  await store(otherWorkspaceId)

  await commit(closeWorkspace(workspaceId, 1))
  t.same(await read('select 1 from domains where workspace_id = ?', [workspaceId]), [])
  t.equal((await left()).length, 4, 'they wait for the small commits')
  await eraseWorkspace(database, workspaceId)
  t.same(await left(), [{ workspace_id: otherWorkspaceId }, { workspace_id: otherWorkspaceId }])

  await commit([{ sql: 'delete from domains where workspace_id = ?', parameters: [otherWorkspaceId] }])
  t.same(await left(), [], 'those of a deleted domain go at once')
})
