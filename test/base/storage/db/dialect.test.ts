/** Each expression has the same results in both engines, over the same rows. */
import SQLite from 'better-sqlite3'
import { type RawBuilder, sql } from 'kysely'
import t, { type Test } from 'tap'
import {
  containsIgnoringCase,
  equalsIgnoringCase,
  firstPlace,
  greatestOf,
  hasNamedValue,
  hasText,
  integerOf,
  isInJsonList,
  isInJsonNumbers,
  isListedIn,
  isTrue,
  joinBytes,
  jsonFlag,
  jsonText,
  leastOf,
  lowerCaseOf,
  matchesPattern,
  millisecondsOf,
  patchJson,
  placeOf,
  textOf,
  textOfTuple,
  tuplesOf,
  urlOfClick,
} from '../../../../src/base/storage/db/dialect.js'
import { type Engine, useEngine } from '../../../../src/base/storage/db/engine.js'
import { queryBuilder } from '../../../../src/base/storage/db/prepared.js'
import type { Write } from '../../../../src/base/storage/db/write.js'
import { PostgresServers } from '../../../../src/base/storage/postgres/connect.js'
import { readConnectionSettings } from '../../../../src/base/storage/postgres/connection-settings.js'
import { translateToPostgres } from '../../../../src/base/storage/postgres/translate-schema.js'
import { toJson } from '../../../../src/base/storage/tables/columns.js'
import { temporaryFolder } from '../../../helpers/database/database.js'
import { PostgresServer, withoutPostgres } from '../../../helpers/programs/postgres.js'

const json = (fields: unknown): string => JSON.stringify(fields)

interface Sample {
  readonly id: string
  readonly time: number
  readonly text: string | null
  readonly data: string
  readonly list: string
  readonly tags: string
  readonly key: string
  readonly url: string
}

const sample = (id: string, time: number, text: string | null, fields: Partial<Sample> = {}): Sample => ({
  ...{ id, time, text, data: '{}', list: '[]', tags: '[]', key: 'ada@a.test', url: 'https://A.test', ...fields },
})

/** In the order of the bytes of their ids. */
const rows: readonly Sample[] = [
  sample('B', 3_000_000_000_000, 'ärger_ ÉTÉ', {
    ...{
      data: json({ z: [1, { a: null }], machine: true }),
      list: '["Ada@A.test"]',
      tags: '[{"name":"M","value":"v"}]',
    },
  }),
  sample('a', 1, 'Ärger% with SPAM', { data: json({ machine: false, url: 'https://A.test/"é"' }), key: 'é' }),
  sample('c', 3, null, { list: '["É"]', tags: '[{"name":"N","value":"v"},{"name":"M","value":""}]', key: 'x' }),
  sample('Ä', 3, 'spam\\', {
    data: json({ at: '2026-03-01T23:59:59.999Z' }),
    list: '["ada@a.test"]',
    url: 'https://a.test',
  }),
]

const columns = ['id', 'time', 'text', 'data', 'list', 'tags', 'key', 'url'] as const

const table = `create table samples (
    id text not null, time integer not null, text text, data text not null, list text not null, tags text not null,
    key text not null, url text not null, workspace_id text not null, bytes blob not null,
    primary key (id, url)) strict`

interface Case {
  /** What is selected of each row. */
  readonly select: () => RawBuilder<unknown>
  /** For each row. */
  readonly gives: readonly unknown[]
}

const long = 3_600_000_000_000

const cases: Readonly<Record<string, Case>> = {
  greatestOf: { select: () => greatestOf(sql.ref('time'), integerOf(2), 1), gives: [3_000_000_000_000, 2, 3, 3] },
  leastOf: { select: () => leastOf(integerOf(long), sql.ref('time')), gives: rows.map(({ time }) => time) },
  'integerOf beyond 32 bits': { select: () => sql`${integerOf(long)} + 1`, gives: rows.map(() => long + 1) },
  'integerOf null': { select: () => sql`${integerOf(null)} is null`, gives: [1, 1, 1, 1] },
  'textOf null': { select: () => sql`${textOf(null)} is null or text = ${textOf(null)}`, gives: [1, 1, 1, 1] },
  textOf: { select: () => sql`${textOf('x')} is null`, gives: [0, 0, 0, 0] },
  isTrue: { select: () => sql`case when ${isTrue(sql`time = 3`)} then 'yes' end`, gives: [null, null, 'yes', 'yes'] },
  lowerCaseOf: { select: () => lowerCaseOf('ÄÉ AZ'), gives: rows.map(() => 'ÄÉ az') },
  'lowerCaseOf a column': {
    select: () => lowerCaseOf(sql.ref('text')),
    gives: ['ärger_ ÉtÉ', 'Ärger% with spam', null, 'spam\\'],
  },
  equalsIgnoringCase: { select: () => equalsIgnoringCase('text', 'SPAM\\'), gives: [0, 0, null, 1] },
  'equalsIgnoringCase beyond ASCII': { select: () => equalsIgnoringCase('text', 'ÄRGER_ ÉTÉ'), gives: [0, 0, null, 0] },
  matchesPattern: { select: () => matchesPattern('text', '%spam%'), gives: [0, 1, null, 1] },
  'matchesPattern with escapes': { select: () => matchesPattern('text', '%R\\% with _p%'), gives: [0, 1, null, 0] },
  'matchesPattern with a backslash': { select: () => matchesPattern('text', 'SPAM\\\\'), gives: [0, 0, null, 1] },
  'matchesPattern beyond ASCII': { select: () => matchesPattern('text', 'ä%'), gives: [1, 0, null, 0] },
  'matchesPattern null': { select: () => matchesPattern('text', null), gives: [null, null, null, null] },
  containsIgnoringCase: { select: () => containsIgnoringCase('text', 'spam'), gives: [0, 1, null, 1] },
  'containsIgnoringCase beyond ASCII': { select: () => containsIgnoringCase('text', 'été'), gives: [0, 0, null, 0] },
  'containsIgnoringCase with signs': {
    select: () => containsIgnoringCase('text', textOf('R_ É')),
    gives: [1, 0, null, 0],
  },
  millisecondsOf: {
    select: () => millisecondsOf(jsonText('data', 'at')),
    gives: [null, null, null, Date.parse('2026-03-01T23:59:59.999Z')],
  },
  joinBytes: {
    select: () => joinBytes('é: ', sql<Buffer>`bytes`, 2),
    gives: rows.map(() => Buffer.from([...Buffer.from('é: '), 0, 255])),
  },
  jsonText: { select: () => jsonText('data', 'url'), gives: [null, 'https://A.test/"é"', null, null] },
  jsonFlag: { select: () => jsonFlag('data', 'machine'), gives: [1, 0, null, null] },
  patchJson: {
    select: () => patchJson('data', sql.lit('{"machine":true,"b":"\\"é"}')),
    gives: [
      json({ z: [1, { a: null }], machine: true, b: '"é' }),
      json({ machine: true, url: 'https://A.test/"é"', b: '"é' }),
      json({ machine: true, b: '"é' }),
      json({ at: '2026-03-01T23:59:59.999Z', machine: true, b: '"é' }),
    ],
  },
  'patchJson without fields': { select: () => patchJson('data', sql.lit('{}')), gives: rows.map(({ data }) => data) },
  isInJsonList: { select: () => isInJsonList('id', toJson(['Ä', 'a', 'b', 'a'])), gives: [0, 1, 0, 1] },
  'isInJsonList of nothing': { select: () => isInJsonList('id', toJson([])), gives: [0, 0, 0, 0] },
  isInJsonNumbers: { select: () => isInJsonNumbers('time', toJson([3, 3_000_000_000_000])), gives: [1, 0, 1, 1] },
  hasNamedValue: { select: () => hasNamedValue('tags', 'M', ''), gives: [0, 0, 1, 0] },
  'hasNamedValue of any value': { select: () => hasNamedValue('tags', 'M', null), gives: [1, 0, 1, 0] },
  'hasNamedValue of another value': { select: () => hasNamedValue('tags', 'm', null), gives: [0, 0, 0, 0] },
  hasText: { select: () => hasText('list', 'ada@a.test'), gives: [0, 0, 0, 1] },
  isListedIn: {
    select: () =>
      isListedIn({ table: 'samples', column: 'list' }, { key: 'known.key', workspaceId: 'known.workspace_id' }),
    gives: [1, 0, 0, 1],
  },
  urlOfClick: { select: () => urlOfClick(), gives: [null, 'https://A.test/"é"', null, null] },
}

type Run = (statement: RawBuilder<unknown>) => Promise<readonly Readonly<Record<string, unknown>>[]>

function compile(statement: RawBuilder<unknown>): Write {
  const { sql: text, parameters } = statement.compile(queryBuilder)
  return { sql: text, parameters }
}

function runInSqlite(t: Test): Run {
  const db = new SQLite(':memory:')
  t.teardown(() => db.close())
  db.exec(table)
  return async (statement) => {
    const { sql: text, parameters } = compile(statement)
    const prepared = db.prepare<unknown[], Record<string, unknown>>(text)
    if (prepared.reader) return prepared.all(...parameters)
    prepared.run(...parameters)
    return []
  }
}

async function runInPostgres(t: Test): Promise<Run> {
  const server = await PostgresServer.start({ folder: temporaryFolder(t) })
  const settings = { url: server.urlOf(), passwordFile: '', caFile: '', schema: 'public' }
  const connection = await new PostgresServers(readConnectionSettings(settings, {})).connect()
  t.teardown(async () => {
    await connection.close()
    await server.stop('immediate')
  })
  for (const text of translateToPostgres(table)) await connection.run([{ sql: text, parameters: [] }])
  return async (statement) => (await connection.run([compile(statement)]))[0]?.rows ?? []
}

async function fill(run: Run): Promise<void> {
  for (const row of rows) {
    const values = sql.join(columns.map((name) => row[name]))
    await run(sql`insert into samples (${sql.raw(columns.join(', '))}, workspace_id, bytes)
      values (${values}, 'w', ${Buffer.from([65, 0, 255])})`)
  }
}

async function testEngine(t: Test, engine: Engine, run: Run): Promise<void> {
  useEngine(engine)
  t.teardown(() => useEngine('sqlite'))
  await fill(run)

  for (const [name, { select, gives }] of Object.entries(cases)) {
    const found = await run(sql`select ${select()} as value from samples as known order by id`)
    t.same(
      found.map(({ value }) => value),
      gives,
      name,
    )
  }

  const tuples = tuplesOf(
    toJson([
      ['a', 'é"'],
      ['B', ''],
    ]),
  )
  const read = await run(sql`select ${textOfTuple(0)} as one, ${textOfTuple(1)} as two from ${tuples}`)
  t.same(
    read,
    [
      { one: 'a', two: 'é"' },
      { one: 'B', two: '' },
    ],
    'tuplesOf',
  )

  t.same(await walk(run), ['a', ...['c', 'Ä'], 'B'], 'placeOf: a walk passes each row once, by its time')
}

async function walk(run: Run): Promise<readonly unknown[]> {
  const passed: unknown[] = []
  const place = () => placeOf('samples', 'id')
  let [time, last]: readonly unknown[] = [0, firstPlace()]
  for (;;) {
    const [next] = await run(sql`select id, time, ${place()} as place from samples
      where (time, ${place()}) > (${time}, ${last}) order by time, ${place()} limit 1`)
    if (next === undefined) return passed
    passed.push(next['id'])
    time = next['time']
    last = next['place']
  }
}

t.test('in SQLite', (t) => testEngine(t, 'sqlite', runInSqlite(t)))

t.test('in PostgreSQL', { skip: withoutPostgres }, async (t) => testEngine(t, 'postgres', await runInPostgres(t)))
