/** The numbers of each local day, read in several steps. */
import t from 'tap'
import { DAY } from '../../../src/base/platform/time-units.js'
import { readDailyMetrics } from '../../../src/records/metrics/daily-metrics.js'
import { findTimeZone, utc } from '../../../src/records/metrics/time-zone.js'
import { BUCKET, toWindow } from '../../../src/records/metrics/window.js'
import { temporaryDatabase } from '../../helpers/database/database.js'

const FIRST = Date.UTC(2026, 2, 1)

const columns = ['sent', 'delivered', 'complained', 'bounced', 'failed', 'unique_opens', 'unique_clicks']

function insert(bucket: number, counts: readonly number[], [workspace, domain, tag] = ['ws_1', '', '']) {
  return {
    sql: `insert into email_metrics (workspace_id, domain, tag, bucket, ${columns.join(', ')})
      values (${columns.map(() => '?').join(', ')}, ?, ?, ?, ?)`,
    parameters: [workspace, domain, tag, bucket, ...counts],
  }
}

t.test('what left includes what was delivered, complained of and bounced', async (t) => {
  const { database } = await temporaryDatabase(t)
  const counts = [1, 10, 2, 3, 4, 5, 6]
  await database.commit([
    insert(FIRST, counts),
    insert(FIRST + DAY - BUCKET, [1, 1, 1, 1, 1, 1, 1]),
    insert(FIRST + 9 * DAY, counts),
    insert(FIRST, counts, ['ws_1', 'a.test', '']),
    insert(FIRST, counts, ['ws_1', '', 'kind:news']),
    insert(FIRST, counts, ['ws_2', '', '']),
  ])
  const window = toWindow(FIRST, FIRST + 10 * DAY)
  const request = { workspaceId: 'ws_1', domain: undefined, tag: undefined, window, offsetAt: utc }
  const days = await readDailyMetrics(database.read, request)
  const once = { sent: 16, delivered: 12, bounced: 3, failed: 4, complained: 2, opened: 5, clicked: 6 }
  const empty = { sent: 0, delivered: 0, bounced: 0, failed: 0, complained: 0, opened: 0, clicked: 0 }
  t.equal(days.length, 10)
  const both = { sent: 20, delivered: 14, bounced: 4, failed: 5, complained: 3, opened: 6, clicked: 7 }
  t.same(days[0], { date: '2026-03-01', ...both })
  t.same(days[1], { date: '2026-03-02', ...empty })
  t.same(days[9], { date: '2026-03-10', ...once })

  const [ofDomain] = await readDailyMetrics(database.read, { ...request, domain: 'a.test' })
  t.same(ofDomain, { date: '2026-03-01', ...once })
  const [ofTag] = await readDailyMetrics(database.read, { ...request, tag: 'kind:news' })
  t.same(ofTag, { date: '2026-03-01', ...once })

  const local = await readDailyMetrics(database.read, { ...request, offsetAt: findTimeZone('America/New_York') ?? utc })
  t.equal(local.length, 11)
  t.same(local[0], { date: '2026-02-28', ...once }, 'midnight of UTC is the evening before')
})
