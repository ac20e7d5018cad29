/** Local days and hours, on days when the clocks change too. */
import t from 'tap'
import { createTimeSeries } from '../../../src/records/metrics/time-series.js'
import { findTimeZone, utc } from '../../../src/records/metrics/time-zone.js'
import { BUCKET, toWindow, type Window } from '../../../src/records/metrics/window.js'

const zoneOf = (name: string): typeof utc => findTimeZone(name) ?? utc

/** One email in each bucket of the window. */
function pointsOf(grouping: 'day' | 'hour', window: Window, zone: typeof utc): Record<string, number> {
  const series = createTimeSeries(grouping, window, zone)
  for (let bucket = window.start; bucket < window.end; bucket += BUCKET) series.add([{ bucket, total: 1 }])
  return Object.fromEntries(series.toPoints().map(({ period, count }) => [period, count]))
}

t.test('every day of the window is there, each with its own', async (t) => {
  const window = toWindow(Date.UTC(2026, 1, 27, 23, 50), Date.UTC(2026, 2, 2, 0, 10))
  t.same(pointsOf('day', window, utc), { '2026-02-27': 1, '2026-02-28': 96, '2026-03-01': 96, '2026-03-02': 1 })
  const empty = createTimeSeries('day', window, utc).toPoints()
  t.same(
    empty.map(({ count }) => count),
    [0, 0, 0, 0],
  )
  const midnight = toWindow(Date.UTC(2026, 0, 1), Date.UTC(2026, 0, 2))
  t.same(pointsOf('day', midnight, utc), { '2026-01-01': 96 }, 'the end is not in it')
})

t.test('days have the hours that they have in their time zone', async (t) => {
  const cases: readonly [zone: string, from: number, to: number, buckets: Record<string, number>][] = [
    ['Europe/Berlin', Date.UTC(2026, 2, 28, 23), Date.UTC(2026, 2, 29, 22), { '2026-03-29': 23 * 4 }],
    ['Europe/Berlin', Date.UTC(2026, 9, 24, 22), Date.UTC(2026, 9, 25, 23), { '2026-10-25': 25 * 4 }],
    ['America/New_York', Date.UTC(2026, 10, 1, 4), Date.UTC(2026, 10, 2, 5), { '2026-11-01': 25 * 4 }],
    // Half an hour of summer time, at half an hour past an hour of UTC.
    ['Australia/Lord_Howe', Date.UTC(2026, 3, 4, 13), Date.UTC(2026, 3, 5, 13, 30), { '2026-04-05': 98 }],
    ['Asia/Kathmandu', Date.UTC(2026, 0, 1, 18, 15), Date.UTC(2026, 0, 2, 18, 15), { '2026-01-02': 96 }],
    ['Pacific/Apia', Date.UTC(2026, 0, 1, 11), Date.UTC(2026, 0, 2, 11), { '2026-01-02': 96 }],
  ]
  for (const [zone, from, to, expected] of cases)
    t.same(pointsOf('day', toWindow(from, to), zoneOf(zone)), expected, zone)
})

t.test('the hours of the local day are 24, in their order', async (t) => {
  const week = toWindow(Date.UTC(2026, 0, 1), Date.UTC(2026, 0, 8))
  const hours = pointsOf('hour', week, zoneOf('Asia/Kolkata'))
  t.equal(Object.keys(hours).length, 24)
  t.same([Object.keys(hours).at(0), Object.keys(hours).at(-1)], ['00:00', '23:00'])
  t.ok(Object.values(hours).every((count) => count === 28))
  const spring = pointsOf(
    'hour',
    toWindow(Date.UTC(2026, 2, 28, 23), Date.UTC(2026, 2, 29, 22)),
    zoneOf('Europe/Berlin'),
  )
  t.same([spring['01:00'], spring['02:00'], spring['03:00']], [4, 0, 4], 'an hour that there was not')
  const autumn = pointsOf(
    'hour',
    toWindow(Date.UTC(2026, 9, 24, 22), Date.UTC(2026, 9, 25, 23)),
    zoneOf('Europe/Berlin'),
  )
  t.same([autumn['01:00'], autumn['02:00'], autumn['03:00']], [4, 8, 4], 'an hour that there was twice')
})

t.test('every bucket is where the time zone says, all the year', async (t) => {
  for (const zone of ['America/St_Johns', 'Africa/Casablanca', 'Antarctica/Troll', 'America/Santiago']) {
    const [window, offsetAt] = [toWindow(Date.UTC(2026, 0, 1), Date.UTC(2027, 0, 1)), zoneOf(zone)]
    const expected: Record<string, number> = {}
    for (let bucket = window.start; bucket < window.end; bucket += BUCKET) {
      const day = new Date(bucket + offsetAt(bucket)).toISOString().slice(0, 10)
      expected[day] = (expected[day] ?? 0) + 1
    }
    t.same(pointsOf('day', window, offsetAt), expected, zone)
  }
})
