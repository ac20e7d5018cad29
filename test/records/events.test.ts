/**
 * The log of events that several nodes write: lists, exports and their times.
 *
 * Runs alone: it sets the engine of its process.
 */
import t, { type Test } from 'tap'
import type { Database } from '../../src/base/storage/db/database.js'
import { listEvents } from '../../src/records/events/event-list.js'
import { createOpenSource } from '../../src/records/exports/rows/event-rows.js'
import {
  openTestPostgres,
  openTestStore,
  stopServer,
  temporaryPostgres,
  useClockOfServer,
} from '../helpers/database/postgres-database.js'
import { holdCommits } from '../helpers/database/slow-commit.js'
import { buildEventWrite } from '../helpers/database/store-events.js'
import { withoutPostgres } from '../helpers/programs/postgres.js'
import { waitUntil } from '../helpers/wait-until.js'

t.teardown(stopServer)

const skip = withoutPostgres
const MINUTE = 60_000
const filter = { workspaceId: 'ws_1' }

interface Cluster {
  readonly url: string
  readonly one: Database
  readonly two: Database
}

async function openCluster(t: Test): Promise<Cluster> {
  const url = await temporaryPostgres(t)
  await useClockOfServer(url)
  return { url, one: await openTestPostgres(t, url), two: await openTestPostgres(t, url, { node: 'two' }) }
}

const opened = (at: number) => buildEventWrite({ type: 'email.opened', at })

async function seqsOf(
  { read }: Pick<Database, 'read'>,
  order: 'asc' | 'desc',
  after?: number,
): Promise<readonly number[]> {
  return (await listEvents(read, filter, { after, order, limit: 100 })).map(({ seq }) => seq)
}

t.test(
  'who comes again for what is new, oldest first, misses nothing that becomes visible late',
  { skip },
  async (t) => {
    const { url, one, two } = await openCluster(t)
    const held = await holdCommits(t, url)
    const { commit } = await held.begin(one, [opened(Date.now())])
    await two.commit([opened(Date.now())])
    await two.commit([opened(Date.now())])
    const [newest = 0] = await seqsOf(two, 'desc')
    t.ok(newest > 0, 'newest first, they are listed at once')
    const seen = [...(await seqsOf(two, 'asc'))]
    t.same(seen, [], 'an event with a smaller number may come')
    await held.release()
    await commit
    await waitUntil('all are listed', async () => {
      seen.push(...(await seqsOf(two, 'asc', seen.at(-1))))
      return seen.length >= 3
    })
    t.same(seen, (await seqsOf(two, 'desc')).toReversed())
  },
)

t.test('with one daemon, and after others have ended, all are listed at once', { skip }, async (t) => {
  const { one, two } = await openCluster(t)
  await two.commit([opened(Date.now())])
  await two.close()
  for (const count of [2, 3, 4]) {
    await one.commit([opened(Date.now())])
    t.equal((await seqsOf(one, 'asc')).length, count)
  }
})

t.test('commits of commands follow one another', { skip }, async (t) => {
  const url = await temporaryPostgres(t)
  const [first, second] = [await openTestStore(t, url), await openTestStore(t, url)]
  const held = await holdCommits(t, url)
  const { commit } = await held.begin(first, [opened(1)])
  const later = second.commit([opened(2)])
  await waitUntil('the second one waits', async () => {
    const sql = `select pid from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'`
    return (await first.read(sql, [])).length === 2
  })
  t.same(await first.read('select seq from events', []), [])
  await held.release()
  await Promise.all([commit, later])
  t.same(await first.read('select slot, created_at >= 1 as known from events order by seq', []), [
    { slot: 0, known: 1 },
    { slot: 0, known: 1 },
  ])
})

/** Events of two nodes, one of which has a clock that is ten minutes ahead, and of a third that is as far behind. */
async function storeWithOtherClocks({ one, two }: Cluster): Promise<void> {
  const store = async (database: Database, differences: readonly number[]): Promise<void> => {
    for (let at = 0; at < 40; at += 1) {
      const events = differences.map((difference) => opened(Date.now() + difference))
      await database.commit([...events, { sql: 'select pg_sleep(0.003)', parameters: [] }])
    }
  }
  await Promise.all([store(one, [10 * MINUTE, -3_000]), store(two, [0, -10 * MINUTE])])
}

async function countExported(database: Database, from: number, to: number): Promise<number> {
  const range = { workspace_id: 'ws_1', domain: null, from_at: from, to_at: to, broadcast_id: null, outcome: null }
  const source = await createOpenSource(database.read, range)
  let count = 0
  let cursor: string | null = null
  do {
    const step: Awaited<ReturnType<typeof source.readStep>> = await source.readStep(cursor)
    for await (const _ of step.rows) count += 1
    cursor = step.cursor
  } while (cursor !== null)
  return count
}

t.test('with clocks ten minutes apart, lists and exports have what is in their times', { skip }, async (t) => {
  const cluster = await openCluster(t)
  const { one } = cluster
  const begin = Date.now()
  await storeWithOtherClocks(cluster)
  const end = Date.now()
  const rows = await one.read<{ at: number }>('select created_at as at from events order by seq', [])
  const times = rows.map(({ at }) => at)
  t.equal(times.length, 160)
  t.ok(Math.min(...times) >= begin - 5_000 && Math.max(...times) <= end + 5_000, 'the clock of the server counts')
  const sorted = [...new Set(times)].toSorted((one, other) => one - other)
  t.not(times.join(), times.toSorted((one, other) => one - other).join(), 'they are not quite in order')
  for (let at = 0; at < sorted.length; at += 7) {
    const [from = 0, to = 0] = [sorted[at], sorted[Math.min(sorted.length - 1, at + 11)]]
    const expected = times.filter((time) => time >= from && time < to).length
    const listed = await listEvents(one.read, { ...filter, from, to }, { limit: 1_000 })
    t.equal(listed.length, expected, `listed from ${from} to ${to}`)
    t.equal(await countExported(one, from, to), expected, `exported from ${from} to ${to}`)
  }
})
