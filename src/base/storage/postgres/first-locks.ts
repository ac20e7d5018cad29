/**
 * Locks first in a batch what other writers need too, so that batches never wait for each other in a circle. The turns of
 * the batch (`Write.turn`) come first, and then the rows that other nodes change, each kind in the order of its keys.
 *
 * A request changes rows in an order of its own: one that settles a message begins with the recipient and ends with the
 * email, and one that cancels goes the other way. To sort the requests of a batch would order the rows of different
 * requests alone. So the rows of a closed list of tables are locked here by one statement for each table, which only a
 * batch needs that changes such rows. What belongs to an email, such as its recipients and links, is changed by
 * commits that change the email too, and is behind its lock. This also makes recounts right: a statement that counts the
 * recipients of an email sees those that another writer has settled a moment ago.
 *
 * Which rows those are is read from the statements: updates and deletes of these tables that name an id. Rows that one
 * commit changes by other conditions, as an erasure does, have no such lock; a deadlock ends one of the two batches, which
 * is sent again.
 */
import { toArray } from './many-rows.js'
import type { Statement } from './pipeline-run.js'

export interface LockingStatement extends Statement {
  /** See `Write.isNewRow`. */
  readonly isNewRow: boolean
  /** See `Write.turn`. */
  readonly turn: string | null
}

/** They stand in the order in which they are locked. All have an `id`. */
const sharedTables = ['api_keys', 'contacts', 'emails', 'sessions', 'webhooks'] as const
type SharedTable = (typeof sharedTables)[number]

/** Stands before the statement of a write that must change a number of rows. */
const CHECKED = 'with changed as ('
const ID = '"id" = $'

const lockRows = (table: SharedTable): string => `select count(*) from (select 1 from "${table}"
  where "id" = any($1::text[]) order by "id" for no key update) as locked`

/** The condition leaves the row as it is; it is locked nevertheless. */
const takeTurns = `insert into turns as taken (name) select name from unnest($1::text[]) as given(name) order by name
  on conflict (name) do update set name = taken.name where false`

/** Where a statement has the id of the row that it changes. Null if it changes none of a shared table. */
interface Place {
  readonly table: SharedTable
  readonly parameter: number
}

/** Texts of statements that are remembered. There are fewer, but for those that are built for one use. */
const MAX_KNOWN = 2_000
const known = new Map<string, Place | null>()

/** Gives the statements that lock for these. */
export function lockFirst(statements: readonly LockingStatement[]): readonly Statement[] {
  const turns = new Set<string>()
  const ids = new Map<SharedTable, Set<unknown>>()
  for (const { sql, parameters, turn, isNewRow } of statements) {
    if (turn !== null) turns.add(turn)
    const place = isNewRow ? null : findPlace(sql)
    if (place === null) continue
    const found = ids.get(place.table) ?? new Set()
    ids.set(place.table, found.add(parameters[place.parameter]))
  }
  return [
    ...(turns.size === 0 ? [] : [toStatement(takeTurns, turns)]),
    ...sharedTables.flatMap((table) => {
      const rows = ids.get(table)
      return rows === undefined ? [] : [toStatement(lockRows(table), rows)]
    }),
  ]
}

function findPlace(sql: string): Place | null {
  const before = known.get(sql)
  if (before !== undefined) return before
  if (known.size >= MAX_KNOWN) known.clear()
  const place = readPlace(sql.startsWith(CHECKED) ? sql.slice(CHECKED.length) : sql)
  known.set(sql, place)
  return place
}

function readPlace(sql: string): Place | null {
  const at = Math.max(sql.lastIndexOf(` ${ID}`), sql.lastIndexOf(`(${ID}`))
  const table = sharedTables.find((shared) =>
    [`update "${shared}" `, `delete from "${shared}" `].some((words) => sql.startsWith(words)),
  )
  if (at === -1 || table === undefined) return null
  return { table, parameter: Number.parseInt(sql.slice(at + 1 + ID.length), 10) - 1 }
}

/** A value that cannot be sent is refused where its own statement has it. */
function toStatement(sql: string, values: ReadonlySet<unknown>): Statement {
  return { sql, parameters: [toArray([...values].filter((value) => typeof value === 'string')) ?? '{}'] }
}
