/**
 * Any row of any table, from the schema itself: columns that are not given and must not be null get a value of their
 * type, the first allowed one where the schema has a check. A table that a later migration adds needs nothing here. The
 * database itself says who writes a row.
 */
import SQLite from 'better-sqlite3'
import { engineInUse, pickByEngine } from '../../../src/base/storage/db/engine.js'
import type { Read } from '../../../src/base/storage/db/prepared.js'
import type { Write } from '../../../src/base/storage/db/write.js'
import { schema } from '../../../src/base/storage/schema/schema.js'
import { SERVICE_WORKSPACE } from '../../../src/base/storage/tables/tables.js'

interface Column {
  readonly name: string
  readonly type: string
  readonly notnull: 0 | 1
  readonly pk: number
}

const listTables = {
  sqlite: `select name from sqlite_schema where type = 'table' and name not like 'sqlite_%' and name not like 'kysely_%'`,
  postgres: 'select table_name as name from information_schema.tables where table_schema = current_schema()',
}

export const tablesOf = async (read: Read): Promise<string[]> =>
  (await read<{ name: string }>(pickByEngine(listTables), [])).map(({ name }) => name)

/** The tables that have this text in any of their columns. The log of the service keeps that a workspace was deleted. */
export async function tablesWith(read: Read, text: string): Promise<string[]> {
  const found: string[] = []
  for (const table of await tablesOf(read)) {
    const rows = await read<object>(`select * from ${table}`, [])
    if (rows.some((row) => !isOfService(table, row) && Object.values(row).includes(text))) found.push(table)
  }
  return found
}

function isOfService(table: string, row: object): boolean {
  return table === 'audit_log' && 'workspace_id' in row && row.workspace_id === SERVICE_WORKSPACE
}

export const columnsOf = async (read: Read, table: string): Promise<Column[]> =>
  read<Column>('select name, type, "notnull", pk from pragma_table_info(?)', [table])

const writerColumns = new Set(['node', 'slot'])

export type RowOf = (table: string, given: Readonly<Record<string, unknown>>) => Promise<Write>

export function rowOf(read: Read): RowOf {
  let serial = 0
  if (engineInUse() === 'postgres') read = readOfSchema()
  return async (table, given) => {
    const allowed = await allowedWords(read, table)
    const columns = (await columnsOf(read, table)).filter(
      ({ name, notnull, pk, type }) =>
        name in given || (!writerColumns.has(name) && (notnull === 1 || (pk > 0 && type !== 'INTEGER'))),
    )
    const values = columns.map(({ name, type }) => {
      if (name in given) return given[name]
      serial += 1
      if (name === 'tags') return '[]' // triggers read it
      return allowed.get(name) ?? (type === 'BLOB' ? Buffer.from('raw') : type === 'INTEGER' ? 0 : `${name} ${serial}`)
    })
    const names = columns.map(({ name }) => name)
    return {
      sql: `insert into ${table} (${names.join(', ')}) values (${names.map(() => '?').join(', ')})`,
      parameters: values,
    }
  }
}

async function allowedWords(read: Read, table: string): Promise<Map<string, string>> {
  const [schema] = await read<{ sql: string }>('select sql from sqlite_schema where name = ?', [table])
  const checks = schema?.sql.matchAll(/check \((\w+) = '(\w+)'/g) ?? []
  return new Map([...checks].map((check) => [check[1] ?? '', check[2] ?? '']))
}

/** Reads an empty database of SQLite with the same tables, because an engine behind a network describes them otherwise. */
function readOfSchema(): Read {
  const db = new SQLite(':memory:')
  for (const statement of schema) db.exec(statement)
  return <Row>(sql: string, parameters: readonly unknown[]) => db.prepare<unknown[], Row>(sql).all(...parameters)
}
