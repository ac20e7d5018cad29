/** Insertions of several rows each: fewer statements cost less, and few texts let the server keep all of them prepared. */
import type { Statement } from '../postgres/pipeline-run.js'
import type { CopiedValue } from './copied-values.js'
import type { CopiedTable } from './copy-source.js'

/** Rows of one statement, largest first. */
const GROUPS = [64, 8, 1] as const

type Rows = readonly (readonly CopiedValue[])[]

export function insertRows(table: CopiedTable, rows: Rows): readonly Statement[] {
  const statements: Statement[] = []
  for (let at = 0; at < rows.length; ) {
    const size = GROUPS.find((group) => group <= rows.length - at) ?? 1
    statements.push({ sql: insertOf(table, size), parameters: rows.slice(at, at + size).flat() })
    at += size
  }
  return statements
}

function insertOf({ name, columns }: CopiedTable, rows: number): string {
  const values = Array.from({ length: rows }, (_, row) => {
    const slots = columns.map((_column, at) => `$${row * columns.length + at + 1}`)
    return `(${slots.join(', ')})`
  })
  return `insert into "${name}" (${columns.map((column) => `"${column.name}"`).join(', ')}) values ${values.join(', ')}`
}
