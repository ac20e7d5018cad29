/** The most clicked links of some days: their order, their sums, and the end of the list. */
import t, { type Test } from 'tap'
import { DAY } from '../../../src/base/platform/time-units.js'
import type { Database } from '../../../src/base/storage/db/database.js'
import type { Write } from '../../../src/base/storage/db/write.js'
import { MAX_LISTED_LINKS, readLinkMetrics } from '../../../src/records/metrics/link-metrics.js'
import { toWindow } from '../../../src/records/metrics/window.js'
import { temporaryDatabase } from '../../helpers/database/database.js'
import { rowOf } from '../../helpers/database/rows.js'

const FIRST = Date.UTC(2026, 8, 1)
const dayOf = (number: number): number => FIRST + number * DAY

interface Clicked {
  readonly day: number
  readonly url: string
  readonly clicks: number
  readonly workspace?: string
  readonly domain?: string
}

async function store(t: Test, clicked: readonly Clicked[]): Promise<Database> {
  const { database } = await temporaryDatabase(t)
  const row = rowOf(database.read)
  const writes = await Promise.all(
    clicked.map(async ({ day, url, clicks, workspace = 'ws_1', domain = '' }): Promise<Write> => {
      const times = { first_clicked_at: dayOf(day) + 1, last_clicked_at: dayOf(day) + clicks }
      return row('link_metrics', {
        workspace_id: workspace,
        domain,
        day: dayOf(day),
        url,
        clicks,
        unique_clicks: 1,
        ...times,
      })
    }),
  )
  // Pieces, because on a busy machine one commit of all rows takes longer than the lease of a node.
  while (writes.length > 0) await database.commit(writes.splice(0, 2_000))
  return database
}

const list = ({ read }: Database, days: number, [offset, limit] = [0, 100], domain = '') =>
  readLinkMetrics(read, {
    ...{ workspaceId: 'ws_1', domain, window: toWindow(FIRST, dayOf(days)), slice: { offset, limit } },
  })
const brief = (links: Awaited<ReturnType<typeof list>>) => links.map(({ url, clicks }) => `${url} ${clicks}`)

t.test('clicks of all days are added up, the most first', async (t) => {
  const database = await store(t, [
    { day: 0, url: 'b', clicks: 3 },
    { day: 2, url: 'b', clicks: 4 },
    { day: 1, url: 'a', clicks: 6 },
    { day: 1, url: 'c', clicks: 7 },
    { day: 5, url: 'late', clicks: 50 },
    { day: 1, url: 'a', clicks: 90, workspace: 'ws_2' },
    { day: 1, url: 'a', clicks: 5, domain: 'a.test' },
  ])
  t.same(brief(await list(database, 3)), ['b 7', 'c 7', 'a 6'])
  t.match((await list(database, 3))[0], {
    ...{ unique_clicks: 2, first_clicked_at: FIRST + 1, last_clicked_at: dayOf(2) + 4 },
  })
  t.same(brief(await list(database, 3, [1, 1])), ['c 7'])
  t.same(brief(await list(database, 90)), ['late 50', 'b 7', 'c 7', 'a 6'])
  t.same(brief(await list(database, 90, [0, 100], 'a.test')), ['a 5'])
  t.same(await list(database, 90, [0, 100], 'b.test'), [])
})

t.test('the list ends, however many links there are', async (t) => {
  const many = Array.from({ length: MAX_LISTED_LINKS + 50 }, (_, number) => ({
    ...{ day: 0, url: `u${String(number).padStart(4, '0')}`, clicks: 1 + (number % 2) },
  }))
  const database = await store(t, many)
  t.equal((await list(database, 1, [MAX_LISTED_LINKS - 10, 100])).length, 10)
  t.same(await list(database, 1, [MAX_LISTED_LINKS, 100]), [])
  const first = await list(database, 1)
  t.ok(first.every(({ clicks }) => clicks === 2))
  t.same(
    first.map(({ url }) => url),
    first.map(({ url }) => url).toSorted(),
  )
})

t.test('a link of every day is found among many of one day each', async (t) => {
  const rare = Array.from({ length: 90 }, (_, day) =>
    Array.from({ length: 400 }, (_, number) => ({ day, url: `rare-${day}-${number}`, clicks: 1 + (number % 3) })),
  )
  const steady = Array.from({ length: 90 }, (_, day) => ({ day, url: 'steady', clicks: 3 }))
  const database = await store(t, [...rare.flat(), ...steady])
  t.same(brief(await list(database, 90, [0, 2])), ['steady 270', 'rare-0-101 3'])
})

t.test('long URLs are bounded in memory, and the most clicked stay', async (t) => {
  const long = Array.from({ length: 40 }, (_, day) =>
    Array.from({ length: 60 }, (_, number) => ({
      ...{ day, url: `https://example.com/${day}/${number}?${'x'.repeat(8_000)}`, clicks: 2 },
    })),
  )
  const database = await store(t, [
    ...long.flat(),
    { day: 0, url: 'most', clicks: 5 },
    { day: 39, url: 'most', clicks: 5 },
  ])
  const [first, second] = await list(database, 40)
  t.match([first, second], [{ url: 'most', clicks: 10 }, { clicks: 2 }])
})
