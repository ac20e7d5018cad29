/** Pipelines over a true server: order, results, errors, limits, and what is lost with a connection. */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { MessageBytes } from '../../../../src/base/storage/db/message-bytes.js'
import { type ConnectionLimits, PostgresServers } from '../../../../src/base/storage/postgres/connect.js'
import { readConnectionSettings } from '../../../../src/base/storage/postgres/connection-settings.js'
import type { PipelinedConnection } from '../../../../src/base/storage/postgres/pipelined-connection.js'
import { ConnectionLost, UnsendableValue } from '../../../../src/base/storage/postgres/server-errors.js'
import { PostgresServer, withoutPostgres } from '../../../helpers/programs/postgres.js'

const folder = mkdtempSync(join(tmpdir(), 'pipeline-'))
const server = withoutPostgres ? null : await PostgresServer.start({ folder, isDurable: true })
t.teardown(async () => {
  await server?.stop('immediate')
  rmSync(folder, { recursive: true, force: true })
})

const say = (sql: string, ...parameters: readonly unknown[]) => ({ sql, parameters })

async function open(t: Test, limits: Partial<ConnectionLimits> = {}): Promise<PipelinedConnection> {
  const settings = { url: server?.urlOf() ?? '', passwordFile: '', caFile: '', schema: 'public' }
  const connection = await new PostgresServers(readConnectionSettings(settings, {})).connect(limits)
  t.teardown(() => connection.close())
  return connection
}

/** One connection and an empty table `note` (key, text). */
async function openWithTable(t: Test, limits: Partial<ConnectionLimits> = {}): Promise<PipelinedConnection> {
  const connection = await open(t, limits)
  await connection.run([
    say('drop table if exists note'),
    say('create table note (key bigint primary key, text text collate "C")'),
  ])
  return connection
}

async function pidOf(connection: PipelinedConnection): Promise<number> {
  const [result] = await connection.run([say('select pg_backend_pid() as pid')])
  return Number(result?.rows[0]?.['pid'])
}

async function countNotes(connection: PipelinedConnection): Promise<unknown> {
  const [result] = await connection.run([say('select count(*) as count from note')])
  return result?.rows[0]?.['count']
}

const insert = (key: number, text = 'x') => say('insert into note values ($1, $2)', key, text)

t.test('a run gives rows and counts for each statement', { skip: withoutPostgres }, async (t) => {
  const connection = await openWithTable(t)
  const results = await connection.run([
    insert(1, 'one'),
    say(`insert into note values (2, 'two'), (3, 'three')`),
    say('update note set text = text || $1 where key > $2 returning key', '!', 1),
    say('select key, text from note order by key'),
    say('delete from note where key = 7'),
    say(''),
  ])
  t.same(
    results.map(({ changes }) => changes),
    [1, 2, 2, 0, 0, 0],
  )
  t.same(results[2]?.rows, [{ key: 2 }, { key: 3 }])
  t.same(results[3]?.rows, [
    { key: 1, text: 'one' },
    { key: 2, text: 'two!' },
    { key: 3, text: 'three!' },
  ])
  t.same(await connection.run([]), [], 'nothing to run')
})

t.test('values keep their types', { skip: withoutPostgres }, async (t) => {
  const connection = await open(t)
  const bytes = Buffer.from([0, 1, 92, 255])
  const large = Buffer.alloc(10_000, 3)
  const read = async (sql: string, ...values: readonly unknown[]) =>
    (await connection.run([say(sql, ...values)]))[0]?.rows[0]
  t.same(
    await read(
      `select 1::smallint as a, 2::integer as b, 9007199254740991::bigint as c, 1.25::numeric as d, -0.5::float8 as e,
        true as f, false as g, null::bigint as h, ''::text as i, '{"a":1}'::text as j`,
    ),
    { a: 1, b: 2, c: Number.MAX_SAFE_INTEGER, d: 1.25, e: -0.5, f: 1, g: 0, h: null, i: '', j: '{"a":1}' },
  )
  t.same(
    await read(
      'select $1::bytea as a, $2::bytea as b, $3::bytea as c, $4::bytea as d, $5::bytea as e',
      bytes,
      new Uint8Array(bytes),
      MessageBytes.moved([bytes, large, Buffer.alloc(0), bytes]),
      Buffer.alloc(0),
      null,
    ),
    { a: bytes, b: bytes, c: Buffer.concat([bytes, large, bytes]), d: Buffer.alloc(0), e: null },
  )
  const others = 'select $1::text as a, $2::bigint as b, $3::boolean as c, $4::bigint as d, $5::float8 as e'
  t.same(await read(others, 'ä€😀', -5, true, true, 1e-7), { a: 'ä€😀', b: -5, c: 1, d: 1, e: 1e-7 })
  await t.rejects(read('select 9007199254740993::bigint as a'), RangeError, 'a number that JavaScript does not have')
  t.same(await read('select 1 as a'), { a: 1 }, 'the connection goes on')
})

t.test('what PostgreSQL cannot store is refused before anything is sent', { skip: withoutPostgres }, async (t) => {
  const connection = await openWithTable(t)
  const refused: readonly (readonly [value: unknown, message: RegExp])[] = [
    ['a\0b', /^parameter \$2 of statement 1 has a NUL character, .*insert into note/],
    ['a\ud800b', /half of a surrogate pair/],
    [Number.NaN, /is NaN: pass a finite number/],
    [undefined, /of the type undefined/],
    [{}, /of the type object/],
  ]
  for (const [value, message] of refused) {
    const run = connection.run([insert(1), say('insert into note values ($1, $2)', 2, value)])
    await t.rejects(run, { name: 'UnsendableValue', message })
  }
  await t.rejects(connection.run([say('select 1', ...Array(70_000).fill(1))]), UnsendableValue)
  t.equal(await countNotes(connection), 0)
})

t.test('an error in the middle undoes the run, and says where', { skip: withoutPostgres }, async (t) => {
  const connection = await openWithTable(t)
  const before = connection.run([insert(1)])
  const failed = connection.run([insert(2), insert(1), insert(3), say('select 7 as never_parsed')])
  const after = connection.run([insert(4), say('select 7 as never_parsed')])
  await before
  await t.rejects(failed, { name: 'ServerError', code: '23505', statement: 1, constraint: 'note_pkey', table: 'note' })
  await t.rejects(failed, /duplicate key .*\(23505\) in statement 1, "insert into note/)
  t.same((await after)[1]?.rows, [{ never_parsed: 7 }], 'a run behind it that needs a statement which was skipped')
  t.equal(await countNotes(connection), 2)
  await t.rejects(connection.run([say('select nothing')]), { code: '42703', statement: 0 })
  await t.rejects(connection.run([say('select $1::bigint as a', 'word')]), { code: '22P02' })
  t.same((await connection.run([say('select $1::bigint as a', 5)]))[0]?.rows, [{ a: 5 }], 'its parsing was no error')
})

t.test('an error of the commit names no statement', { skip: withoutPostgres }, async (t) => {
  const connection = await openWithTable(t)
  await connection.run([
    say('alter table note add foreign key (key) references note (key) deferrable initially deferred'),
  ])
  await connection.run([say('alter table note add parent bigint references note (key) deferrable initially deferred')])
  const run = connection.run([say('insert into note values (1, null, 5)')])
  await t.rejects(run, { code: '23503', statement: 1, message: /at the commit$/ })
  t.equal(await countNotes(connection), 0)
})

t.test('runs that are sent at once are answered in order', { skip: withoutPostgres }, async (t) => {
  const connection = await openWithTable(t)
  const order: number[] = []
  const runs = Array.from({ length: 50 }, async (_, index) => {
    const statements = index % 7 === 3 ? [insert(index), say('select 1 / 0')] : [insert(index)]
    await connection.run(statements).catch(() => undefined)
    order.push(index)
  })
  t.equal(connection.unanswered, 50)
  await Promise.all(runs)
  t.same(
    order,
    [...order].sort((one, other) => one - other),
  )
  t.equal(await countNotes(connection), 43)
  t.equal(connection.unanswered, 0)
})

t.test('ten thousand statements in one run', { skip: withoutPostgres }, async (t) => {
  const connection = await openWithTable(t)
  const results = await connection.run(Array.from({ length: 10_000 }, (_, key) => insert(key, `text ${key}`)))
  t.equal(results.length, 10_000)
  t.ok(results.every(({ changes }) => changes === 1))
  t.equal(await countNotes(connection), 10_000)
})

t.test('values of ten megabytes', { skip: withoutPostgres }, async (t) => {
  const connection = await open(t)
  const bytes = Buffer.alloc(10_000_000, 'every byte')
  const text = '€uro '.repeat(2_000_000)
  const pieces = MessageBytes.moved([bytes.subarray(0, 100), bytes.subarray(100, 5_000_000), bytes.subarray(5_000_000)])
  const [result] = await connection.run([say('select $1::bytea as bytes, $2::text as text', pieces, text)])
  t.ok(bytes.equals(result?.rows[0]?.['bytes'] as Buffer))
  t.ok(result?.rows[0]?.['text'] === text)
})

t.test('prepared statements are bounded', { skip: withoutPostgres }, async (t) => {
  const connection = await open(t, { statements: 10 })
  const held = async () =>
    (await connection.run([say('select name, statement from pg_prepared_statements')]))[0]?.rows ?? []
  const select = (number: number) => say(`select ${number} as number`)
  await connection.run(Array.from({ length: 30 }, (_, number) => select(number)))
  t.ok(connection.statements <= 10)
  for (let number = 0; number < 40; number++) await connection.run([select(number % 20), select(100)])
  await connection.run([select(100)])
  const rows = await held()
  t.ok(rows.length <= 11, `${rows.length} are held`)
  t.ok(
    rows.some(({ statement }) => statement === 'select 100 as number'),
    'one that is in use stays',
  )
  const results = await connection.run(Array.from({ length: 50 }, (_, number) => select(number % 25)))
  t.same(
    results.map(({ rows: [row] }) => row?.['number']),
    Array.from({ length: 50 }, (_, number) => number % 25),
  )
})

t.test('a statement whose rows have changed is prepared anew', { skip: withoutPostgres }, async (t) => {
  const connection = await openWithTable(t)
  const read = () => connection.run([say('select * from note')])
  await read()
  await connection.run([say('alter table note add more bigint')])
  await t.rejects(read(), { code: '0A000' })
  await connection.run([say('insert into note values (1, $1, 2)', 'a')])
  t.same((await read())[0]?.rows, [{ key: 1, text: 'a', more: 2 }])
})

t.test('the server ends a statement that takes too long', { skip: withoutPostgres }, async (t) => {
  const connection = await openWithTable(t, { statement: 100 })
  await t.rejects(connection.run([insert(1), say('select pg_sleep(10)')]), { code: '57014', statement: 1 })
  t.equal(await countNotes(connection), 0)
})

t.test('a server that stops answering loses its runs', { skip: withoutPostgres }, async (t) => {
  const connection = await openWithTable(t, { silence: 300 })
  const pid = await pidOf(connection)
  process.kill(pid, 'SIGSTOP')
  t.teardown(() => process.kill(pid, 'SIGCONT'))
  const begin = performance.now()
  const runs = await Promise.allSettled([connection.run([insert(1)]), connection.run([insert(2)])])
  t.ok(performance.now() - begin < 2_000)
  for (const run of runs) t.ok(run.status === 'rejected' && run.reason instanceof ConnectionLost && run.reason.wasSent)
  t.match(await connection.ended, /said nothing for 0.3 s/)
  await t.rejects(connection.run([insert(3)]), { name: 'ConnectionLost', wasSent: false })
})

t.test('a long silence without runs is none', { skip: withoutPostgres }, async (t) => {
  const connection = await open(t, { silence: 100 })
  await connection.run([say('select 1')])
  await new Promise((resolve) => setTimeout(resolve, 300))
  await connection.run([say('select 1')])
  const slow = await connection.run([say('select pg_sleep(0.05)'), say('select pg_sleep(0.04)')])
  t.equal(slow.length, 2)
})

/** Keeps many runs under way, and gives what became of each. */
async function runUnderLoad(connection: PipelinedConnection, disturb: () => unknown): Promise<readonly string[]> {
  const outcomes: Promise<string>[] = []
  const nameOf = (error: unknown): string => (error instanceof ConnectionLost ? `lost ${error.wasSent}` : String(error))
  for (let turn = 0; turn < 100; turn++) {
    if (turn === 50) disturb()
    for (let index = 0; index < 20; index++) {
      const run = connection.run([insert(turn * 100 + index), say('select pg_sleep(0.0005)')])
      outcomes.push(run.then(() => 'made', nameOf))
    }
    await new Promise((resolve) => setTimeout(resolve, 2))
  }
  return Promise.all(outcomes)
}

t.test('runs are lost with the process that serves them', { skip: withoutPostgres }, async (t) => {
  const connection = await openWithTable(t)
  const pid = await pidOf(connection)
  const outcomes = await runUnderLoad(connection, () => process.kill(pid, 'SIGKILL'))
  t.same([...new Set(outcomes)].sort(), ['lost false', 'lost true', 'made'])
  const made = outcomes.filter((outcome) => outcome === 'made').length
  const sent = outcomes.filter((outcome) => outcome !== 'lost false').length
  await new Promise((resolve) => setTimeout(resolve, 1_000))
  const count = Number(await countNotes(await open(t)))
  t.ok(made <= count && count <= sent, `${made} were acknowledged, ${count} are there, ${sent} were sent`)
})

t.test(
  'a server that is stopped under load loses nothing that it acknowledged',
  { skip: withoutPostgres },
  async (t) => {
    const connection = await openWithTable(t)
    const outcomes = await runUnderLoad(connection, () => server?.stop('immediate'))
    await server?.restart()
    const made = outcomes.filter((outcome) => outcome === 'made').length
    t.ok(made > 0 && made < outcomes.length)
    t.ok(Number(await countNotes(await open(t))) >= made)
    await connection.close()
  },
)

t.test('a server that closes a connection says why', { skip: withoutPostgres }, async (t) => {
  const [connection, other] = [await openWithTable(t), await open(t)]
  const pid = await pidOf(connection)
  const run = connection.run([insert(1), say('select pg_sleep(10)')])
  await other.run([say('select pg_sleep(0.1)'), say('select pg_terminate_backend($1)', pid)])
  await t.rejects(run, { name: 'ConnectionLost', message: /outcome is unknown: .*administrator command \(57P01\)/ })
})

t.test('closing waits for the answers', { skip: withoutPostgres }, async (t) => {
  const connection = await openWithTable(t)
  const run = connection.run([insert(1), say('select pg_sleep(0.1)')])
  await connection.close()
  t.equal((await run).length, 2)
  t.ok(connection.isLost)
  await t.rejects(connection.run([insert(2)]), /nothing was sent: it was closed/)
})
