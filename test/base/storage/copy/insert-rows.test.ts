/** Insertions of several rows each. */
import t from 'tap'
import type { CopiedTable } from '../../../../src/base/storage/copy/copy-source.js'
import { insertRows } from '../../../../src/base/storage/copy/insert-rows.js'

const table: CopiedTable = {
  name: 'usage',
  columns: [
    { name: 'kind', type: 'TEXT' },
    { name: 'count', type: 'INTEGER' },
  ],
  key: ['kind'],
  rows: 0,
}

const rowsOf = (count: number) => Array.from({ length: count }, (_, at) => [`k${at}`, at])

t.test('rows go in groups of few sizes, each row once and in its order', async (t) => {
  t.same(insertRows(table, []), [])
  t.same(insertRows(table, rowsOf(1)), [
    { sql: 'insert into "usage" ("kind", "count") values ($1, $2)', parameters: ['k0', 0] },
  ])
  const statements = insertRows(table, rowsOf(512 + 64 + 8 + 8 + 3))
  t.same(
    statements.map(({ parameters }) => parameters.length / 2),
    [...Array.from({ length: 9 }, () => 64), 8, 8, 1, 1, 1],
  )
  t.equal(new Set(statements.map(({ sql }) => sql)).size, 3)
  t.same(
    statements.flatMap(({ parameters }) => parameters),
    rowsOf(595).flat(),
  )
  t.match(statements.at(9)?.sql, /values \(\$1, \$2\), \(\$3, \$4\), .*\(\$15, \$16\)$/)
})
