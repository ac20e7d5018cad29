/** Reads over several connections, and during outages. */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { StorageFault } from '../../../../src/base/storage/db/write.js'
import { type ConnectionLimits, PostgresServers } from '../../../../src/base/storage/postgres/connect.js'
import { ConnectionPool } from '../../../../src/base/storage/postgres/connection-pool.js'
import { readConnectionSettings } from '../../../../src/base/storage/postgres/connection-settings.js'
import { PostgresServer, withoutPostgres } from '../../../helpers/programs/postgres.js'

const folder = mkdtempSync(join(tmpdir(), 'pool-'))
const server = withoutPostgres ? null : await PostgresServer.start({ folder })
t.teardown(async () => {
  await server?.stop('immediate')
  rmSync(folder, { recursive: true, force: true })
})

interface Opened {
  readonly pool: ConnectionPool
  /** How often a connection was asked for. */
  readonly asked: () => number
  /** Those that were told. */
  readonly faults: readonly StorageFault[]
}

const serversOf = (url = server?.urlOf() ?? '') =>
  new PostgresServers(readConnectionSettings({ url, passwordFile: '', caFile: '', schema: 'public' }, {}))

function openPool(t: Test, connections = 3, maxReads = 1_000, url?: string): Opened {
  const servers = serversOf(url)
  let asked = 0
  const connect = (limits: Partial<ConnectionLimits>) => {
    asked++
    return servers.connect(limits)
  }
  const faults: StorageFault[] = []
  const pool = new ConnectionPool({ connect, connections, maxReads, onFault: (fault) => void faults.push(fault) })
  t.teardown(() => pool.close())
  return { pool, asked: () => asked, faults }
}

const pause = (milliseconds: number) => new Promise((resolve) => setTimeout(resolve, milliseconds))

/** Gives the fault and how long it took. */
async function failRead(pool: ConnectionPool): Promise<{ readonly fault: unknown; readonly took: number }> {
  const begin = performance.now()
  const fault = await pool.read('select 1 as one', []).catch((error: unknown) => error)
  return { fault, took: performance.now() - begin }
}

t.test('reads go to connections that have none', { skip: withoutPostgres }, async (t) => {
  const { pool } = openPool(t)
  t.same(await pool.read('select $1::bigint as a', [5]), [{ a: 5 }])
  t.equal(pool.size, 1, 'one is enough for one read after the other')
  const readMany = () => Promise.all(Array.from({ length: 20 }, () => pool.read('select pg_backend_pid() as pid', [])))
  await readMany()
  await pause(100)
  t.equal(pool.size, 3)
  const slow = pool.read('select pg_sleep(0.5)', [])
  const pids = await readMany()
  t.equal(new Set(pids.map(([row]) => row?.['pid'])).size, 3)
  await slow
  t.same(
    await pool.readTogether([
      { sql: 'select 1 as a', parameters: [] },
      { sql: 'select 2 as b', parameters: [] },
    ]),
    [[{ a: 1 }], [{ b: 2 }]],
  )
})

t.test('reads that belong together see one state of the database', { skip: withoutPostgres }, async (t) => {
  const { pool } = openPool(t)
  const write = await serversOf().connect()
  t.teardown(() => write.close())
  const run = (sql: string) => write.run([{ sql, parameters: [] }])
  await run('create table stories (text text)')
  const story = { sql: 'select text from stories', parameters: [] }
  const told = pool.readTogether([story, { sql: 'select pg_sleep(0.5)', parameters: [] }, story])
  await pause(200)
  await run("insert into stories values ('told')")
  const [before, , after] = await told
  t.same([before, after], [[], []])
  t.same(await pool.read(story.sql, []), [{ text: 'told' }])
  await t.rejects(pool.read("insert into stories values ('wrong')", []), { code: '25006' }, 'and none can write')
})

t.test('errors of a statement are no outage', { skip: withoutPostgres }, async (t) => {
  const { pool, faults } = openPool(t)
  await t.rejects(pool.read('select nothing', []), { name: 'ServerError', code: '42703' })
  await t.rejects(pool.read('select $1::text', ['\0']), { name: 'UnsendableValue' })
  await t.rejects(pool.read('select 9007199254740993', []), RangeError)
  t.same(faults, [])
})

t.test('a connection that is lost is opened again, and its reads repeated', { skip: withoutPostgres }, async (t) => {
  const { pool } = openPool(t)
  const [row] = await pool.read('select pg_backend_pid() as pid', [])
  const reads = Array.from({ length: 10 }, () => pool.read('select pg_sleep(0.01)', []))
  await pause(20)
  const terminate = openPool(t).pool.read('select pg_terminate_backend($1)', [row?.['pid']])
  t.equal((await Promise.all(reads)).length, 10)
  await terminate
})

t.test('a read that ends its connections is not repeated for ever', { skip: withoutPostgres }, async (t) => {
  const { pool, asked } = openPool(t)
  await t.rejects(pool.read('select pg_terminate_backend(pg_backend_pid())', []), {
    name: 'StorageFault',
    code: 'CONNECTION_LOST',
    message: /PostgreSQL is away: .*\(57P01\)/,
  })
  t.ok(asked() < 6, `${asked()} connections`)
})

t.test('the number of reads is bounded', { skip: withoutPostgres }, async (t) => {
  const { pool } = openPool(t, 1, 5)
  const reads = await Promise.allSettled(Array.from({ length: 8 }, () => pool.read('select pg_sleep(0.01)', [])))
  t.equal(reads.filter(({ status }) => status === 'fulfilled').length, 5)
  const refused = reads.find((read) => read.status === 'rejected')
  t.match(refused?.reason, { name: 'StorageFault', code: 'BUSY' })
})

t.test('a read that takes long is none of an outage', { skip: withoutPostgres }, async (t) => {
  const { pool } = openPool(t)
  t.equal((await pool.read('select pg_sleep(3)', [])).length, 1)
})

t.test('while the server is away, reads are refused within two seconds', { skip: withoutPostgres }, async (t) => {
  if (server === null) return
  const { pool, asked, faults } = openPool(t)
  const load = Array.from({ length: 300 }, () =>
    pool.read('select pg_sleep(0.01)', []).then(
      () => 'read',
      (error: unknown) => error,
    ),
  )
  await pause(100)
  await server.stop('immediate')
  const outcomes = await Promise.all(load)
  t.ok(outcomes.every((outcome) => outcome === 'read' || outcome instanceof StorageFault))
  const before = asked()
  const refusals = await Promise.all(Array.from({ length: 20 }, () => failRead(pool)))
  for (const { fault, took } of refusals) {
    t.match(fault, { name: /StorageFault|NoServer/, code: 'ECONNREFUSED' })
    t.ok(took < 2_000, `${took}`)
  }
  t.match(faults.at(-1), { code: 'ECONNREFUSED' }, 'the daemon is told')
  t.ok(asked() - before < 60, `${asked() - before} attempts`)
  await server.restart()
  t.same(await readSoon(pool), [{ one: 1 }], 'and come back by themselves')
})

t.test('a server that hangs is away too', { skip: withoutPostgres }, async (t) => {
  if (server === null) return
  const { pool } = openPool(t)
  await pool.read('select 1', [])
  const begin = performance.now()
  server.freeze()
  const refusals = await Promise.all([failRead(pool), failRead(pool), failRead(pool)])
  for (const { fault, took } of refusals) {
    t.ok(fault instanceof StorageFault)
    t.ok(took < 2_100, `${took}`)
  }
  t.ok(performance.now() - begin < 2_200)
  server.thaw()
  t.same(await readSoon(pool), [{ one: 1 }])
})

t.test('a server that hangs is left for the one that has taken over', { skip: withoutPostgres }, async (t) => {
  if (server === null) return
  const standby = await server.startStandby({ folder: join(folder, 'standby') })
  t.teardown(() => standby.stop('immediate'))
  const { pool } = openPool(t, 1, 10, `postgres://postgres@127.0.0.1:${server.port},127.0.0.1:${standby.port}/postgres`)
  await pool.read('select pg_sleep(1)', [])
  server.freeze()
  t.teardown(() => server.thaw())
  await standby.promote()
  // The old server stays silent: only the new one can answer.
  t.same(await readSoon(pool), [{ one: 1 }])
})

/** Reads until the server is there again. */
async function readSoon(pool: ConnectionPool): Promise<unknown> {
  for (let attempt = 0; attempt < 20; attempt++) {
    const rows = await pool.read('select 1 as one', []).catch(() => null)
    if (rows !== null) return rows
    await pause(200)
  }
  return null
}

t.test('a pool that is closed answers what it has, and takes no more', { skip: withoutPostgres }, async (t) => {
  const { pool } = openPool(t)
  await pool.read('select 1', [])
  const read = pool.read('select pg_sleep(0.1)', [])
  await pause(50)
  await pool.close()
  t.equal((await read).length, 1)
  await t.rejects(pool.read('select 1', []), StorageFault)
})
