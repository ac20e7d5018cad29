/** Which names are time zones, and how far each is from UTC. */
import t from 'tap'
import { findTimeZone } from '../../../src/records/metrics/time-zone.js'

const MINUTE = 60_000
const winter = Date.UTC(2026, 0, 15)
const summer = Date.UTC(2026, 6, 15, 23, 59, 59)

t.test('offsets of time zones, in winter and in summer', async (t) => {
  const cases: readonly [name: string, winter: number, summer: number][] = [
    ['UTC', 0, 0],
    ['Europe/Berlin', 60, 120],
    ['europe/berlin', 60, 120],
    ['America/New_York', -300, -240],
    ['Asia/Kathmandu', 345, 345],
    ['Pacific/Kiritimati', 840, 840],
    ['Pacific/Niue', -660, -660],
    ['Australia/Lord_Howe', 660, 630],
    ['Etc/GMT+12', -720, -720],
  ]
  for (const [name, inWinter, inSummer] of cases) {
    const offsetAt = findTimeZone(name)
    t.same([offsetAt?.(winter), offsetAt?.(summer)], [inWinter * MINUTE, inSummer * MINUTE], name)
    t.equal(findTimeZone(name)?.(winter), offsetAt?.(winter), 'and again')
  }
})

t.test('no time zones', async (t) => {
  for (const name of [
    '',
    'Europe/Atlantis',
    '+01:00',
    '-05:00',
    '01:00',
    ' UTC',
    'UTC ',
    'Europe',
    'a/../b',
    'UTC\0',
  ]) {
    t.equal(findTimeZone(name), null, name)
  }
})
