/** A table of PostgreSQL is read back page by page, and its sum is that of the same rows in SQLite. */
import fc from 'fast-check'
import t from 'tap'
import {
  type CopiedColumn,
  type CopiedValue,
  digestRow,
  RowSum,
  toCopiedValue,
} from '../../../../src/base/storage/copy/copied-values.js'
import { insertRows } from '../../../../src/base/storage/copy/insert-rows.js'
import { readSum } from '../../../../src/base/storage/copy/read-sum.js'
import { PostgresServers } from '../../../../src/base/storage/postgres/connect.js'
import { settingsOf, stopServer, temporaryPostgres } from '../../../helpers/database/postgres-database.js'
import { withoutPostgres } from '../../../helpers/programs/postgres.js'

t.teardown(stopServer)

const columns: readonly CopiedColumn[] = [
  { name: 'group', type: 'TEXT' },
  { name: 'place', type: 'INTEGER' },
  { name: 'text', type: 'TEXT' },
  { name: 'bytes', type: 'BLOB' },
]
const withBytes = { name: 'any_rows', columns, key: ['group', 'place'], rows: 0 }
const withoutBytes = { ...withBytes, columns: columns.slice(0, 3) }
const makeTable = `create table any_rows ("group" text collate "C", place bigint, text text collate "C", bytes bytea,
  primary key ("group", place))`

const anyText = fc.oneof(fc.string({ unit: 'binary' }), fc.constantFrom('', 'a\0b', '\ud800', 'ß😀', ','))
const anyRest = fc.tuple(fc.option(anyText), fc.option(fc.uint8Array()))

t.test('on a server', { skip: withoutPostgres }, async (t) => {
  const connection = await new PostgresServers(settingsOf(await temporaryPostgres(t))).connect()
  t.teardown(() => connection.close())
  const run = (sql: string) => connection.run([{ sql, parameters: [] }])
  await run(makeTable)

  t.test('any rows have the same sum in both engines', async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(anyRest, { maxLength: 70 }), async (rests) => {
        const rows = rests.map(([text, bytes], place): CopiedValue[] =>
          [`g${place % 3}`, place - 5, text, bytes === null ? null : Buffer.from(bytes)].map((value, at) =>
            toCopiedValue(columns[at] ?? { name: '', type: 'TEXT' }, value),
          ),
        )
        const sum = new RowSum()
        for (const row of rows) sum.add(digestRow(row))
        await run('truncate any_rows')
        await connection.run(insertRows(withBytes, rows))
        return (await readSum(connection, withBytes, () => undefined)).isSame(sum)
      }),
      { numRuns: 30 },
    )
  })

  t.test('pages end anywhere, and each row is in one of them', async (t) => {
    await run('truncate any_rows')
    await run(`insert into any_rows select 'g' || n % 7, n, 'text', null from generate_series(1, 4500) as n`)
    const sum = new RowSum()
    for (let n = 1; n <= 4500; n++) sum.add(digestRow([`g${n % 7}`, n, 'text']))
    const counts: number[] = []
    const found = await readSum(connection, withoutBytes, (rows) => counts.push(rows))
    t.equal(found.toText(), sum.toText())
    t.same(counts, [2000, 4000, 4500, 4500])
    await run(`update any_rows set text = 'texts' where place = 2001`)
    t.notOk((await readSum(connection, withoutBytes, () => undefined)).isSame(sum))
  })
})
