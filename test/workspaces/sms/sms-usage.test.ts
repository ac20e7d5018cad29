/** The codes of a workspace by days. */
import t from 'tap'
import { UsageCleanup } from '../../../src/workspaces/accounts/limits/old-usage.js'
import { countSent, readSmsUsage } from '../../../src/workspaces/sms/sms-usage.js'
import { temporaryDatabase } from '../../helpers/database/database.js'

const DAY = 86_400_000
const noon = Date.UTC(2026, 10, 22, 12)

t.test('today and the days of the last 30 that have any, before and after the clean-up', async (t) => {
  const { database } = await temporaryDatabase(t)
  const { read, commit } = database
  const midnight = noon - DAY / 2
  for (const [at, segments, workspaceId = 'ws_1'] of [
    [midnight - 29 * DAY - 1, 9],
    [midnight - 29 * DAY, 2],
    [midnight - 1, 1],
    [midnight, 3],
    [noon, 1],
    [noon, 7, 'ws_2'],
  ] as const) {
    await commit(countSent(workspaceId, segments, at))
  }
  const expected = {
    sms_sent: 2,
    segments: 4,
    limit_per_day: 5000,
    days: [
      { date: '2026-10-24', sms_sent: 1, segments: 2 },
      { date: '2026-11-21', sms_sent: 1, segments: 1 },
      { date: '2026-11-22', sms_sent: 2, segments: 4 },
    ],
  }
  t.strictSame(await readSmsUsage(read, 'ws_1', 5000, noon), expected)
  const cleanup = new UsageCleanup(database, noon)
  while (await cleanup.step());
  t.strictSame(await readSmsUsage(read, 'ws_1', 5000, noon), expected)
  t.equal((await read('select * from usage', [])).length, 8, 'the day before them is gone')
  t.strictSame(await readSmsUsage(read, 'ws_1', 5000, noon + 2 * DAY), {
    ...{ sms_sent: 0, segments: 0, limit_per_day: 5000 },
    days: expected.days.slice(1),
  })
  t.strictSame(await readSmsUsage(read, 'ws_3', 5, noon), { sms_sent: 0, segments: 0, limit_per_day: 5, days: [] })
})
