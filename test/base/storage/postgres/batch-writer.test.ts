/**
 * Group commit in PostgreSQL: what resolves is stored, what rejects is not, whatever happens to the connection.
 *
 * Runs alone: it sets the engine of its process.
 */
import { spawn } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import t, { type Test } from 'tap'
import { systemClock } from '../../../../src/base/platform/clock.js'
import type { Database } from '../../../../src/base/storage/db/database.js'
import { ConstraintViolated, StorageFault, type Write, WriteConflict } from '../../../../src/base/storage/db/write.js'
import { openPostgres, openPostgresStore } from '../../../../src/base/storage/postgres/open-postgres.js'
import {
  crashServer,
  freezeServer,
  openTestPostgres,
  settingsOf,
  stopServer,
  temporaryPostgres,
  useOwnServer,
} from '../../../helpers/database/postgres-database.js'
import { buildEventWrite } from '../../../helpers/database/store-events.js'
import { withoutPostgres } from '../../../helpers/programs/postgres.js'
import { waitUntil } from '../../../helpers/wait-until.js'

t.teardown(stopServer)
useOwnServer()

const skip = withoutPostgres
const insert = (key: string): Write => ({
  sql: 'insert into service_state (key, value) values ($1, $2)',
  parameters: [key, 'x'],
})
const insertNew = (key: string): Write => ({
  sql: 'insert into "service_state" ("key", "value") values ($1, $2)',
  parameters: [key, 'x'],
  isNewRow: true,
})
const remove = (key: string, rows = 1): Write => ({
  sql: 'delete from service_state where key = $1',
  parameters: [key],
  rows,
})

async function listKeys({ read }: Pick<Database, 'read'>): Promise<readonly string[]> {
  const rows = await read<{ key: string }>(`select key from service_state where key like 'k%' order by key`, [])
  return rows.map(({ key }) => key)
}

/** Ends the connections of the daemon that writes, as a fault of the network would. */
const endWriter = async ({ read }: Pick<Database, 'read'>): Promise<void> => {
  await read(
    `select pg_terminate_backend(pid) from pg_stat_activity
      where query like '%update fence%' and pid <> pg_backend_pid() and datname = current_database()`,
    [],
  )
}

const kindOf = (outcome: PromiseSettledResult<unknown>): string =>
  outcome.status === 'fulfilled' ? 'stored' : String(outcome.reason.name)

t.test('requests of one turn share a commit, and each of them succeeds or fails alone', { skip }, async (t) => {
  const database = await openTestPostgres(t, await temporaryPostgres(t))
  const before = database.countCommits()
  await database.commit([insert('k0')])
  const outcomes = await Promise.allSettled([
    database.commit([insert('k1'), insert('k2')]),
    database.commit([insert('k3'), remove('absent')]),
    database.commit([insert('k4'), insert('k0')]),
    database.commit([insert('k5'), { sql: 'insert into no_such_table values (1)', parameters: [] }]),
    database.commit([insert('k6'), { ...insert('k7'), parameters: ['k7', 'a\0b'] }]),
    database.commit([remove('k1'), insert('k8')]),
    database.commit([]),
  ])
  t.same(outcomes.map(kindOf), [
    ...['stored', 'WriteConflict', 'ConstraintViolated', 'ServerError', 'UnsendableValue', 'stored', 'stored'],
  ])
  t.same(await listKeys(database), ['k0', 'k2', 'k8'])
  t.equal(database.countCommits() - before, 2)
})

t.test('many requests that fail leave those beside them alone', { skip }, async (t) => {
  const database = await openTestPostgres(t, await temporaryPostgres(t))
  const numbers = Array.from({ length: 60 }, (_, number) => number)
  const outcomes = await Promise.allSettled(
    numbers.map((number) => database.commit([insert(`k${number}`), ...(number % 3 === 0 ? [] : [remove('absent')])])),
  )
  t.same(
    outcomes.map(kindOf),
    numbers.map((number) => (number % 3 === 0 ? 'stored' : 'WriteConflict')),
  )
  t.equal((await listKeys(database)).length, 20)
})

t.test('a new row that cannot be inserted fails alone, among rows that are inserted together', { skip }, async (t) => {
  const database = await openTestPostgres(t, await temporaryPostgres(t))
  await database.commit([insert('k3')])
  const outcomes = await Promise.allSettled(
    Array.from({ length: 7 }, (_, number) => database.commit([insertNew(`k${number}`)])),
  )
  const all = ['stored', 'stored', 'stored', 'ConstraintViolated', 'stored', 'stored', 'stored']
  t.same(outcomes.map(kindOf), all)
  t.equal((await listKeys(database)).length, 7)
})

t.test('a row that is too large for an index fails alone, by itself and among new rows', { skip }, async (t) => {
  const database = await openTestPostgres(t, await temporaryPostgres(t))
  const tooLarge = (): string => `k${randomBytes(9_000).toString('hex')}`
  const outcomes = await Promise.allSettled([
    database.commit([insert('k0')]),
    database.commit([insert(tooLarge())]),
    database.commit([insertNew('k1')]),
    database.commit([insertNew(tooLarge())]),
    database.commit([insertNew('k2')]),
  ])
  t.same(outcomes.map(kindOf), ['stored', 'ServerError', 'stored', 'ServerError', 'stored'])
  t.match(outcomes[1], { reason: { code: '54000' } })
  t.same(await listKeys(database), ['k0', 'k1', 'k2'])
})

t.test('requests fail if what is for all of them cannot be done', { skip }, async (t) => {
  const database = await openTestPostgres(t, await temporaryPostgres(t))
  await database.commit([{ sql: 'alter table turns rename to gone', parameters: [] }])
  await t.rejects(database.commit([{ ...insert('k1'), turn: 'a' }]), { code: '42P01' })
  await database.commit([insert('k2')])
  t.same(await listKeys(database), ['k2'])
})

t.test('events that are stored together are in the order of time', { skip }, async (t) => {
  const database = await openTestPostgres(t, await temporaryPostgres(t))
  const at = [600_000, 5_000, 700_000, 1_000, 650_000, 700_001]
  await Promise.all(at.map((time) => database.commit([buildEventWrite({ type: 'email.queued', at: time })])))
  const stored = await database.read<{ created_at: number }>('select created_at from events order by seq', [])
  t.same(
    stored.map(({ created_at }) => created_at),
    [...at].sort((one, other) => one - other),
  )
})

t.test('a probe hears of an outage although it is under way', { skip }, async (t) => {
  const database = await openTestPostgres(t, await temporaryPostgres(t))
  await database.commit([insert('k0')])
  const { start } = await crashServer()
  await t.rejects(database.commit([insert('k1')], { isProbe: true }), StorageFault)
  await start()
  await waitUntil('it goes on', () =>
    database.commit([insert('k2')]).then(
      () => true,
      () => false,
    ),
  )
})

t.test('a write may change any number of rows, or must change exactly as many as it says', { skip }, async (t) => {
  const database = await openTestPostgres(t, await temporaryPostgres(t))
  await database.commit([insert('k1'), insert('k2')])
  const all = { sql: `update service_state set value = 'y' where key like 'k%'`, parameters: [] }
  await database.commit([all, { ...all, rows: 2 }])
  await t.rejects(database.commit([{ ...all, rows: 1 }]), WriteConflict)
  await t.rejects(database.commit([insert('k1')]), ConstraintViolated)
  await database.commit([{ ...all, sql: `${all.sql} and false`, rows: 0 }])
})

t.test('commits of which the answer was lost have the outcome that the database has', { skip }, async (t) => {
  const database = await openTestPostgres(t, await temporaryPostgres(t))
  const outcomes: Promise<[string, string]>[] = []
  const end = Date.now() + 1_500
  for (let number = 0; Date.now() < end; number += 1) {
    const key = `k${number}`
    outcomes.push(
      database.commit([insert(key)]).then(
        () => [key, 'stored'],
        (error: Error) => [key, error.name],
      ),
    )
    if (number % 100 === 99) await endWriter(database)
    await sleep(1)
  }
  const settled = await Promise.all(outcomes)
  await waitUntil('it writes again', async () =>
    database.commit([]).then(
      () => true,
      () => false,
    ),
  )
  t.same(
    await listKeys(database),
    settled.flatMap(([key, outcome]) => (outcome === 'stored' ? [key] : [])).sort(),
    'nothing acknowledged is lost, and nothing refused is stored',
  )
  t.same([...new Set(settled.map(([, outcome]) => outcome))], ['stored'], 'those that wait are sent again')
})

t.test('while the server is away commits are refused, and they go on by themselves', { skip }, async (t) => {
  const database = await openTestPostgres(t, await temporaryPostgres(t))
  await database.commit([insert('k1')])
  const faults: StorageFault[] = []
  database.onFault((fault) => void faults.push(fault))
  const server = await crashServer()
  const underWay = database.commit([insert('k2')])
  const late = sleep(50).then(() => database.commit([insert('k3')]))
  await t.rejects(late, StorageFault, 'a client hears of it')
  await t.rejects(database.commit([insert('k4')]), StorageFault)
  t.ok(
    faults.some(({ code }) => code === 'connection'),
    'a daemon hears of it that has nothing to write',
  )
  await server.start()
  await t.rejects(underWay, StorageFault, 'it waits for what became of it')
  await waitUntil('it writes again', async () =>
    database.commit([insert('k5')]).then(
      () => true,
      () => false,
    ),
  )
  const keys = await waitUntil('it reads again', () => listKeys(database).catch(() => null))
  t.same(keys, ['k1', 'k5'])
})

t.test('a server that falls silent is away, too', { skip }, async (t) => {
  const database = await openTestPostgres(t, await temporaryPostgres(t))
  await database.commit([insert('k1')])
  const server = await freezeServer()
  t.teardown(() => server.thaw())
  const underWay = database.commit([insert('k2')]).then(
    () => ['k2'],
    () => [],
  )
  const late = sleep(50).then(() => database.commit([insert('k3')]))
  await t.rejects(late, /the server does not answer/, 'a client hears of it before the connection is given up')
  await t.rejects(database.commit([insert('k4')]), StorageFault)
  server.thaw()
  const kept = await underWay
  await waitUntil('it writes again', async () =>
    database.commit([insert('k5')]).then(
      () => true,
      () => false,
    ),
  )
  t.same(await listKeys(database), ['k1', ...kept, 'k5'], 'the answer is what became of it')
})

t.test('commits wait a while behind one that the server does not end, and are refused then', { skip }, async (t) => {
  const database = await openTestPostgres(t, await temporaryPostgres(t))
  await database.commit([insert('k1')])
  const slow = database.commit([{ sql: 'select pg_sleep(7)', parameters: [] }, insert('k2')])
  await sleep(50)
  let isDone = false
  slow.then(() => {
    isDone = true
  }, t.error)
  await t.rejects(database.commit([insert('k3')]), StorageFault)
  t.notOk(isDone, 'it is refused while the other goes on')
  await slow
  await database.commit([insert('k4')])
  t.same(await listKeys(database), ['k1', 'k2', 'k4'])
})

t.test('the time in which the process was stopped is no delay of the server', { skip }, async (t) => {
  const database = await openTestPostgres(t, await temporaryPostgres(t))
  await database.commit([insert('k1')])
  const underWay = database.commit([{ sql: 'select pg_sleep(6)', parameters: [] }, insert('k2')])
  await sleep(100)
  const waiting = database.commit([insert('k3')])
  const { pid } = process
  spawn('sh', ['-c', `kill -STOP ${pid}; sleep 5.5; kill -CONT ${pid}`])
  await Promise.all([underWay, waiting])
  t.same(await listKeys(database), ['k1', 'k2', 'k3'])
})

t.test('the end of the daemon waits for no server', { skip }, async (t) => {
  const database = await openTestPostgres(t, await temporaryPostgres(t))
  const server = await crashServer()
  const lost = database.commit([insert('k1')]).catch((error: unknown) => error instanceof StorageFault)
  await sleep(500)
  await database.close()
  t.equal(await lost, true)
  await server.start()
})

t.test('two daemons of one name never work on one database', { skip }, async (t) => {
  const url = await temporaryPostgres(t)
  const first = await openTestPostgres(t, url, { mayBeTaken: true })
  await first.commit([insert('k1')])
  const second = () =>
    openPostgres({
      ...{ settings: settingsOf(url), connections: 1, maxWait: 0 },
      holder: 'second',
      node: 'one',
      clock: systemClock,
      log: { info: () => undefined, warn: () => undefined, error: () => undefined },
      onTaken: () => t.fail('the second one was taken over'),
    })
  await t.rejects(second(), { name: 'DatabaseTaken' })
  const store = await openPostgresStore({ settings: settingsOf(url), connections: 1 })
  await store.commit([{ sql: `update fence set beat = now() - interval '1 minute'`, parameters: [] }])
  await store.close()
  const other = await second()
  t.teardown(() => other.close())
  await t.rejects(first.commit([insert('k2')]), { name: 'StorageFault', code: 'taken' })
  await t.rejects(first.commit([insert('k3')]), { name: 'StorageFault', code: 'taken' }, 'from then on')
  await other.commit([insert('k4')])
  t.same(await listKeys(other), ['k1', 'k4'], 'nothing of the old epoch is written')
})

t.test('a daemon that ends lets the next one begin at once', { skip }, async (t) => {
  const url = await temporaryPostgres(t)
  const first = await openTestPostgres(t, url)
  await first.commit([insert('k1')])
  await first.close()
  const second = await openTestPostgres(t, url)
  t.same(await listKeys(second), ['k1'])
})

t.test('the daemon notices commits of commands, and not its own', { skip }, async (t: Test) => {
  const url = await temporaryPostgres(t)
  const database = await openTestPostgres(t, url)
  let noticed = 0
  database.onForeignCommit(() => {
    noticed += 1
  })
  await waitUntil('the first look', () => noticed === 1)
  await database.commit([insert('k1')])
  await sleep(700)
  t.equal(noticed, 1)
  const store = await openPostgresStore({ settings: settingsOf(url), connections: 1 })
  t.teardown(() => store.close())
  await store.commit([insert('k2')])
  await waitUntil('it is noticed', () => noticed > 1)
})
