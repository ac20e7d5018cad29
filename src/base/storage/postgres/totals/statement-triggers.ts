/**
 * Triggers that count the rows of a whole statement at once, with tables of what it has changed: `added` of an insert,
 * `removed` of a delete, `old_rows` and `new_rows` of an update.
 *
 * Each writer has rows of its own, which have its slot, so writers never wait for each other. Readers add up the rows of
 * all slots; one of them alone says nothing.
 *
 * Invariant: rows of totals are locked in the order of their keys, so that two commands, which have the same slot, never
 * wait for each other in a circle.
 */

/** Stands in for triggers of the schema that count row by row. */
export interface Totals {
  /** The names of those triggers. */
  readonly replaces: readonly string[]
  readonly statements: readonly string[]
}

interface StatementTrigger {
  readonly name: string
  readonly event: keyof typeof tablesOf
  readonly table: string
  /** Statements of PL/pgSQL. */
  readonly body: string
  /** Nothing is done if it is false. */
  readonly condition?: string
}

const tablesOf = {
  insert: 'new table as added',
  delete: 'old table as removed',
  update: 'old table as old_rows new table as new_rows',
} as const

export function createStatementTrigger({ name, event, table, body, condition }: StatementTrigger): readonly string[] {
  const acts = condition === undefined ? body : `if ${condition} then ${body} end if;`
  return [
    `create function ${name}() returns trigger language plpgsql as $$ declare result record; begin
      ${acts}
      return null;
    end $$`,
    `create trigger ${name} after ${event} on ${table} referencing ${tablesOf[event]}
      for each statement execute function ${name}()`,
  ]
}

/**
 * Joins the row with an id, called `email`. The limit makes PostgreSQL find each row by its key: a plan that is made while
 * the table is nearly empty would read all of it otherwise, and is kept when the table has grown.
 */
export const joinEmail = (table: 'emails' | 'inbound_emails', id: string): string =>
  `cross join lateral (select * from ${table} where id = ${id} limit 1) as email`

/** Numbers that are added to rows of a table of totals. */
export interface Parts {
  readonly table: string
  /** What is counted; the key of a row is this and its slot. */
  readonly key: readonly string[]
  /** The columns that are added up. */
  readonly sums: readonly string[]
  /** A query that gives the key and these columns, several times for one key if need be. */
  readonly query: string
  /** The columns by which PostgreSQL finds the row, if they are others than those of the key. */
  readonly identity?: readonly string[]
  /** Columns that have the least and the greatest value. */
  readonly least?: readonly string[]
  readonly greatest?: readonly string[]
  /** Keys whose sums are all 0 are left out, so that a statement writes no rows without need. */
  readonly skipsZero?: boolean
}

/** Adds to the rows of this writer, and makes those that are missing. */
export function addToRows(parts: Parts): string {
  return `${addGiven(parts, addUp(parts))};`
}

/**
 * Adds what belongs to rows that are there, of any writer: otherwise what they count is gone, and no row may say that
 * again. The row of this writer is made if it is missing, so its numbers may be negative.
 */
export function addToPresentRows(parts: Parts): string {
  return `${addToPresent(parts)};`
}

/** Does the same, and then `body` for each row as it is now, which is called `result`. */
export function addToEachPresentRow(parts: Parts, body: string): string {
  return `for result in ${addToPresent(parts)} returning * loop ${body} end loop;`
}

function addToPresent(parts: Parts): string {
  const { table, key, identity = key } = parts
  const columns = columnsOf(parts)
  // The limit has the same purpose as that of `joinEmail`.
  return addGiven(
    parts,
    `select ${columns.map((name) => `part.${name}`).join(', ')} from (${addUp({ ...parts, skipsZero: true })}) as part
      cross join lateral (select 1 from ${table} as counted
        where ${identity.map((name) => `counted.${name} = part.${name}`).join(' and ')} limit 1) as present
      order by ${key.map((name) => `part.${name}`).join(', ')}`,
  )
}

const columnsOf = ({ key, sums, least = [], greatest = [] }: Parts): readonly string[] => [
  ...[...key, ...sums],
  ...[...least, ...greatest],
]

/** The schema fills the slot in. */
function addGiven(parts: Parts, given: string): string {
  const { table, key, sums, identity = key, least = [], greatest = [] } = parts
  const sets = [
    ...sums.map((name) => `${name} = ${table}.${name} + excluded.${name}`),
    ...least.map((name) => `${name} = least(${table}.${name}, excluded.${name})`),
    ...greatest.map((name) => `${name} = greatest(${table}.${name}, excluded.${name})`),
  ]
  return `insert into ${table} (${columnsOf(parts).join(', ')}) ${given}
    on conflict (${identity.join(', ')}, slot) do update set ${sets.join(', ')}`
}

function addUp({ key, sums, least = [], greatest = [], query, skipsZero = false }: Parts): string {
  const values = [
    ...sums.map((name) => `sum(${name})::bigint as ${name}`),
    ...least.map((name) => `min(${name}) as ${name}`),
    ...greatest.map((name) => `max(${name}) as ${name}`),
  ]
  return `select ${[...key, ...values].join(', ')} from (${query}) as parts
    group by ${key.join(', ')} ${skipsZero ? `having ${sums.map((name) => `sum(${name}) <> 0`).join(' or ')}` : ''}
    order by ${key.join(', ')}`
}
