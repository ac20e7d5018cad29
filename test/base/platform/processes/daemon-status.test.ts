/** The file is read as it was written; what is no status is none; an old one does not count as fresh. */
import { readdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import fc from 'fast-check'
import t from 'tap'
import {
  type DaemonStatus,
  isStatusFresh,
  readDaemonStatus,
  removeDaemonStatus,
  writeDaemonStatus,
} from '../../../../src/base/platform/processes/daemon-status.js'
import { temporaryFolder } from '../../../helpers/database/database.js'

const status: DaemonStatus = {
  pid: 4711,
  version: '1.2.3',
  node: { name: 'one', state: 'draining', leads: true },
  started_at: '2026-01-01T00:00:00.000Z',
  updated_at: '2026-01-01T00:00:10.000Z',
  event_loop_delay_ms: { p50: 1, p99: 2, max: 3 },
  rss: 4,
  heap_used: 5,
  sessions: { submission: 6, mx: 7, api: 8 },
  attempts_under_way: 9,
  commits: 10,
  rates: { commits_per_second: 11.5, main_thread_load: 0.12 },
}

t.test('a status is replaced, read and removed', async (t) => {
  const folder = temporaryFolder(t)
  t.equal(await readDaemonStatus(folder), null)
  await writeDaemonStatus(folder, { ...status, pid: 1 })
  await writeDaemonStatus(folder, status)
  t.same(await readDaemonStatus(folder), status)
  t.same(readdirSync(folder), ['status.json'])
  await removeDaemonStatus(folder)
  t.same(readdirSync(folder), [])
  await removeDaemonStatus(folder)
})

t.test('a file of another version, or with anything in it, is read or is no status', async (t) => {
  const folder = temporaryFolder(t)
  const file = join(folder, 'status.json')
  writeFileSync(file, '{"pid":7,"updated_at":"2026-01-01T00:00:10.000Z","rss":"much"}')
  t.match(await readDaemonStatus(folder), {
    pid: 7,
    node: null,
    rss: 0,
    sessions: { mx: 0 },
    rates: { commits_per_second: 0 },
  })
  for (const text of ['', '{', 'null', '[]', '{}', '{"updated_at":1}']) {
    writeFileSync(file, text)
    t.equal(await readDaemonStatus(folder), null, text)
  }
  await fc.assert(
    fc.asyncProperty(fc.json(), async (text) => {
      writeFileSync(file, text)
      await readDaemonStatus(folder)
    }),
    { numRuns: 200 },
  )
})

t.test('a status is fresh for half a minute', async (t) => {
  const at = Date.parse(status.updated_at)
  const ages: readonly (readonly [age: number, fresh: boolean])[] = [
    [0, true],
    [30_000, true],
    [30_001, false],
    [-30_001, false],
  ]
  for (const [age, fresh] of ages) t.equal(isStatusFresh(status, at + age), fresh, `${age}`)
  t.equal(isStatusFresh({ updated_at: 'yesterday' }, at), false)
})
