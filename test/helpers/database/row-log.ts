/**
 * Notes each row of some tables that a SQLite database adds, changes and removes, and does the same in PostgreSQL: several
 * rows of one kind that follow each other become one statement there.
 */
import type { Read } from '../../../src/base/storage/db/prepared.js'
import type { PostgresSchema } from './postgres-schema.js'
import { columnsOf } from './rows.js'
import { runSql } from './run-sql.js'

interface Logged {
  /** `hits` for what was inserted there. */
  readonly name: string
  readonly kind: 'insert' | 'update' | 'delete'
  readonly id: string
  /** The row as JSON. */
  readonly row: string
}

const logged = ['emails', 'events', 'links'] as const

/** An engine numbers rows by itself, and says who writes. */
const givenByEngine = new Set(['seq', 'slot'])

const columnsIn = async (read: Read, table: string): Promise<readonly string[]> =>
  (await columnsOf(read, table)).map(({ name }) => name).filter((name) => !givenByEngine.has(name))

/** Begins with what is written from now on. */
export async function startRowLog(file: string, read: Read): Promise<void> {
  runSql(file, 'create table row_log (place integer primary key, name text, kind text, id text, row text)')
  for (const table of logged) {
    const columns = await columnsIn(read, table)
    for (const kind of ['insert', 'update', 'delete'] as const) {
      const row = kind === 'delete' ? 'old' : 'new'
      const isHit = table === 'events' && kind === 'insert' ? `new.type in ('email.opened', 'email.clicked')` : 'false'
      const object = columns.map((name) => `'${name}', ${row}.${name}`).join(', ')
      runSql(
        file,
        `create trigger log_${table}_${kind} after ${kind} on ${table} begin
          insert into row_log (name, kind, id, row) values
            (case when ${isHit} then 'hits' else '${table}' end, '${kind}', ${row}.id, json_object(${object})); end`,
      )
    }
  }
}

/** Statements have up to `size` rows. */
export async function replayRowLog(read: Read, postgres: PostgresSchema, size: number): Promise<void> {
  const rows = await read<Logged>('select name, kind, id, row from row_log order by place', [])
  for (const group of groupRows(rows, size)) await replay(read, postgres, group)
}

function groupRows(rows: readonly Logged[], size: number): readonly (readonly Logged[])[] {
  const groups: Logged[][] = []
  for (const row of rows) {
    const group = groups.at(-1)
    const first = group?.[0]
    const fits = first?.name === row.name && first.kind === row.kind && !group?.some(({ id }) => id === row.id)
    if (group !== undefined && fits && group.length < size) group.push(row)
    else groups.push([row])
  }
  return groups
}

async function replay(read: Read, postgres: PostgresSchema, group: readonly Logged[]): Promise<void> {
  const [{ name, kind } = { name: '', kind: 'insert' }] = group
  if (kind === 'delete') {
    await postgres.run(`delete from ${name} where id = any(?)`, [group.map(({ id }) => id)])
    return
  }
  const table = name === 'hits' ? 'events' : name
  const columns = await columnsIn(read, table)
  const names = columns.join(', ')
  const given = `json_populate_recordset(null::${table}, ?) as given`
  await postgres.run(
    kind === 'insert'
      ? `insert into ${name} (${names}) select ${names} from ${given}`
      : `update ${name} set ${columns.map((one) => `${one} = given.${one}`).join(', ')} from ${given}
          where ${name}.id = given.id`,
    [`[${group.map(({ row }) => row).join(', ')}]`],
  )
}
