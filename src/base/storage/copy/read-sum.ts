/** Reads a table of PostgreSQL back, page by page in the order of its key, and sums up its rows. The server digests them. */
import type { Statement } from '../postgres/pipeline-run.js'
import type { PipelinedConnection } from '../postgres/pipelined-connection.js'
import type { Row } from '../postgres/wire-values.js'
import { digestExpression, RowSum } from './copied-values.js'
import type { CopiedTable } from './copy-source.js'

/** Rows of a page. Rows with bytes may be of many megabytes, and the server reads all of them. */
const PAGE_ROWS = 2_000
const PAGE_ROWS_OF_BYTES = 50

export async function readSum(
  connection: Pick<PipelinedConnection, 'run'>,
  table: CopiedTable,
  onRows: (rows: number) => void,
): Promise<RowSum> {
  const sum = new RowSum()
  let last: Row | undefined
  do {
    const [page] = await connection.run([toPage(table, last)])
    const rows = page?.rows ?? []
    for (const { digest } of rows) if (Buffer.isBuffer(digest)) sum.add(digest)
    last = rows.at(-1)
    onRows(sum.count)
  } while (last !== undefined)
  return sum
}

function toPage({ name, columns, key }: CopiedTable, last: Row | undefined): Statement {
  const hasBytes = columns.some(({ type }) => type === 'BLOB')
  const names = key.map((column) => `"${column}"`).join(', ')
  const where = last === undefined ? '' : `where (${names}) > (${key.map((_, at) => `$${at + 1}`).join(', ')})`
  return {
    sql: `select ${names}, ${digestExpression(columns)} as digest from "${name}" ${where}
      order by ${names} limit ${hasBytes ? PAGE_ROWS_OF_BYTES : PAGE_ROWS}`,
    parameters: last === undefined ? [] : key.map((column) => last[column]),
  }
}
