/** After the clock was set back, waiting mail and deliveries of webhooks are due, and scheduled mail keeps its time. */
// Of SQLite alone: its file is opened by others too.
import { pino } from 'pino'
import t, { type Test } from 'tap'
import type { Database, Store } from '../../../src/base/storage/db/database.js'
import { StorageFault } from '../../../src/base/storage/db/write.js'
import { watchSetBack } from '../../../src/operations/upkeep/set-back-clock.js'
import { bulkEmail } from '../../helpers/database/bulk.js'
import { temporaryDatabase } from '../../helpers/database/database.js'
import { runSql } from '../../helpers/database/run-sql.js'
import { seedDatabase } from '../../helpers/database/seed-data.js'
import { waitUntil } from '../../helpers/wait-until.js'

const DAY = 86_400_000
const MINUTE = 60_000
const START = 1_000 * DAY

interface Fixture {
  readonly database: Database
  readonly file: string
  readonly workspaceId: string
  readonly lines: Record<string, unknown>[]
  /** Calls of `wake` and `reload`. */
  readonly woken: string[]
  readonly watch: (clock: () => number, commit?: Store['commit']) => void
}

async function open(t: Test): Promise<Fixture> {
  const { database, file } = await temporaryDatabase(t)
  const { workspaceId } = await seedDatabase(database)
  const lines: Record<string, unknown>[] = []
  const woken: string[] = []
  const log = pino({ base: null }, { write: (line: string) => lines.push(JSON.parse(line)) })
  const config = { outbound: { retry_schedule: [5 * MINUTE, 60 * MINUTE] }, webhooks: { retry_schedule: [MINUTE] } }
  const watch = async (clock: () => number, commit = database.commit): Promise<void> => {
    const delivery = { runner: { wake: () => woken.push('queue') } }
    const webhooks = { reload: () => woken.push('webhooks') }
    const housekeeping = { reschedule: () => woken.push('housekeeping') }
    const started = await watchSetBack({
      node: { name: '' },
      ...{ read: database.read, commit, clock, log, delivery, webhooks, housekeeping },
      settings: () => config as never,
    })
    t.teardown(started.stop)
  }
  return { database, file, workspaceId, lines, woken, watch }
}

const addEmail = async (
  { database, workspaceId }: Fixture,
  to: string,
  at: number,
  scheduledFor: number | null = null,
) => {
  await database.commit([...bulkEmail({ workspaceId, to, at, scheduledFor }).writes])
}

const waits = async ({ database }: Fixture): Promise<Record<string, number>> =>
  Object.fromEntries(
    (
      await database.read<{ recipient: string; next_attempt_at: number }>(
        'select recipient, next_attempt_at from queue',
        [],
      )
    ).map((row) => [row.recipient.split('@')[0] ?? '', row.next_attempt_at - START]),
  )

t.test('entries of the time ahead are due at once', async (t) => {
  const parts = await open(t)
  await addEmail(parts, 'ahead@b.test', START + DAY)
  await addEmail(parts, 'deferred@b.test', START - MINUTE)
  await addEmail(parts, 'soon@b.test', START - MINUTE)
  await addEmail(parts, 'under-way@b.test', START - MINUTE)
  await addEmail(parts, 'scheduled@b.test', START + DAY, START + 2 * DAY)
  runSql(parts.file, `update queue set next_attempt_at = ${START + DAY} where recipient = 'deferred@b.test'`)
  runSql(parts.file, `update queue set next_attempt_at = ${START + 50 * MINUTE} where recipient = 'soon@b.test'`)
  runSql(parts.file, `update queue set next_attempt_at = ${START + DAY}, leased = 1 where recipient like 'under-way%'`)
  runSql(
    parts.file,
    `insert into webhook_deliveries (id, workspace_id, webhook_id, event_seq, event_id, type, status, attempts,
      next_attempt_at, created_at) values ('far', 'w', 'h', 1, 'e1', 'email.sent', 'pending', 1, ${START + DAY}, 1),
      ('near', 'w', 'h', 2, 'e2', 'email.sent', 'pending', 1, ${START + MINUTE}, 1)`,
  )
  let now = START + DAY
  parts.watch(() => now)
  const before = await waits(parts)
  now = START
  await waitUntil('the step is noticed', () => parts.woken.includes('webhooks'))
  t.same(before['ahead'], DAY, 'nothing changes before')
  t.same(await waits(parts), {
    ...{ ahead: 0, deferred: 0, soon: 50 * MINUTE },
    ...{ 'under-way': DAY, scheduled: 2 * DAY },
  })
  const deliveries = await parts.database.read('select id, next_attempt_at from webhook_deliveries order by id', [])
  t.same(deliveries, [
    { id: 'far', next_attempt_at: START },
    { id: 'near', next_attempt_at: START + MINUTE },
  ])
  t.match(parts.lines, [{ level: 40, msg: 'the clock was set back', seconds: 86_400 }])
})

t.test('a step before the start is seen by the newest event', async (t) => {
  const parts = await open(t)
  await addEmail(parts, 'ahead@b.test', START + DAY)
  const newest = (await parts.database.read<{ at: number }>('select max(created_at) as at from events', []))[0]?.at
  t.equal(newest, START + DAY)
  parts.watch(() => START)
  await waitUntil('the step is noticed', () => parts.woken.includes('webhooks'))
  t.same(await waits(parts), { ahead: 0 })
})

t.test('a long queue is mended in portions', async (t) => {
  const parts = await open(t)
  const { writes } = bulkEmail({ workspaceId: parts.workspaceId, to: 'first@b.test', at: START - MINUTE })
  await parts.database.commit([...writes])
  const copy = `with recursive numbers(value) as (select 1 union all select value + 1 from numbers where value < 11000)
    insert into queue select substr(id, 1, 30) || printf('%06d', value) as id, email_id, workspace_id,
    value || '@b.test' as recipient`
  const columns = (await parts.database.read<{ name: string }>(`select name from pragma_table_info('queue')`, []))
    .map(({ name }) => name)
    .slice(4)
  runSql(parts.file, `${copy}, ${columns.join(', ')} from queue, numbers`)
  runSql(parts.file, `update queue set next_attempt_at = ${START + DAY}`)
  let commits = 0
  parts.watch(
    () => START - DAY,
    async (given) => {
      commits += 1
      await parts.database.commit(given)
    },
  )
  await waitUntil('the step is noticed', () => parts.woken.includes('webhooks'))
  t.equal(commits, 4, 'three portions of the queue, and the webhooks')
  t.ok(
    Object.values(await waits(parts)).every((at) => at === -DAY),
    'all entries are due',
  )
})

t.test('a fault of the database puts it off', async (t) => {
  const parts = await open(t)
  await addEmail(parts, 'ahead@b.test', START + DAY)
  let faults = 2
  parts.watch(
    () => START,
    async (writes) => {
      faults -= 1
      if (faults >= 0) throw new StorageFault('SQLITE_FULL', 'database or disk is full')
      await parts.database.commit(writes)
    },
  )
  await waitUntil('it is done in the end', () => parts.woken.includes('webhooks'), 10_000)
  t.same(await waits(parts), { ahead: 0 })
  t.match(parts.lines, [
    { level: 40, msg: 'the clock was set back' },
    { level: 50, msg: 'waiting mail cannot be adjusted to the clock now' },
  ])
  t.equal(parts.lines.length, 2, 'the fault is logged once')
})

t.test('an advance of the clock and small steps change nothing', async (t) => {
  const parts = await open(t)
  await addEmail(parts, 'ahead@b.test', START)
  runSql(parts.file, `update queue set next_attempt_at = ${START + 100 * DAY}`)
  let now = START
  parts.watch(() => now)
  for (const step of [DAY, DAY - 59_999, DAY]) {
    now = START + step
    await new Promise((done) => setTimeout(done, 1_100))
  }
  t.same([parts.woken, parts.lines], [[], []])
  t.same(await waits(parts), { ahead: 100 * DAY })
})
