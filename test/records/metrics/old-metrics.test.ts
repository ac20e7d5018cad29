/** Roll-ups are removed in steps when no window reaches them, and late changes do not bring them back. */
import t from 'tap'
import { DAY } from '../../../src/base/platform/time-units.js'
import { KEPT_METRICS_DAYS } from '../../../src/base/storage/tables/metrics-tables.js'
import { removeOldMetrics } from '../../../src/records/metrics/old-metrics.js'
import { bulkEmail } from '../../helpers/database/bulk.js'
import { temporaryDatabase } from '../../helpers/database/database.js'
import { rowOf } from '../../helpers/database/rows.js'

const NOW = Date.UTC(2026, 10, 22, 12)

t.test('old rows are removed in steps, others stay', async (t) => {
  const { database } = await temporaryDatabase(t)
  const { read, commit } = database
  const oldest = Math.floor(NOW / DAY) * DAY - KEPT_METRICS_DAYS * DAY
  const old = bulkEmail({ workspaceId: 'ws_1', to: 'bob@b.test', at: oldest - 1 })
  const kept = bulkEmail({ workspaceId: 'ws_1', to: 'bob@b.test', at: oldest })
  const row = rowOf(read)
  await commit([
    ...[...old.writes, ...kept.writes],
    ...(await Promise.all(
      [...Array(1_200).keys()].map((number) =>
        row('email_metrics', { workspace_id: 'ws_2', bucket: number * 900_000 }),
      ),
    )),
    ...(await Promise.all(
      [-1, 0].map((day) => row('link_metrics', { workspace_id: 'ws_1', url: 'u', day: oldest + day * DAY })),
    )),
  ])
  let steps = 0
  while (await removeOldMetrics(database, NOW)) steps += 1
  t.equal(steps, 3)
  const buckets = await read<{ at: number }>('select distinct bucket as at from email_metrics', [])
  t.same(buckets, [{ at: oldest }])
  t.same(await read('select day as at from link_metrics', []), [{ at: oldest }])
  await commit([{ sql: `update emails set status = 'bounced', opened_at = 1`, parameters: [] }])
  t.same(await read('select distinct bucket as at, bounced, unique_opens from email_metrics', []), [
    { at: oldest, bounced: 1, unique_opens: 1 },
  ])
})
