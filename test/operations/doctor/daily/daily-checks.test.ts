/** When a daily run is due. */
import t from 'tap'
import { isRunDue } from '../../../../src/operations/doctor/daily/daily-checks.js'

const MINUTE = 60_000
const DAY = 1_440 * MINUTE

t.test('ten minutes after the first start, then a day after the last run', async (t) => {
  const start = 100 * DAY
  const table: readonly (readonly [lastAt: number, now: number, isDue: boolean])[] = [
    [0, start + 10 * MINUTE - 1, false],
    [0, start + 10 * MINUTE, true],
    [start - DAY, start, true],
    [start - DAY + 1, start, false],
    [start + MINUTE, start + MINUTE + DAY - 1, false],
    [start + MINUTE, start + MINUTE + DAY, true],
    [start + DAY, start + MINUTE, false],
    [start + DAY, start + 10 * MINUTE, true],
  ]
  for (const [lastAt, now, isDue] of table) {
    t.equal(isRunDue({ lastAt, startedAt: start, now }), isDue, `${lastAt - start} ${now - start}`)
  }
})
