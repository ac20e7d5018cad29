/**
 * Triggers that count the rows of a whole statement at once, with tables of what it has changed: `added` of an insert,
 * `removed` of a delete, `old_rows` and `new_rows` of an update.
 *
 * Invariant: rows of totals are locked in the order of their keys, so that two statements never wait for each other.
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
    `create function ${name}() returns trigger language plpgsql as $$ declare part record; begin
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
  /** Keys whose sums are all 0 are left out, so that a statement locks no rows without need. */
  readonly skipsZero?: boolean
}

/** Adds to rows, and makes those that are missing. */
export function addToRows(parts: Parts): string {
  const { table, key, sums, identity = key, least = [], greatest = [] } = parts
  const columns = [...key, ...sums, ...least, ...greatest]
  const sets = [
    ...sums.map((name) => `${name} = ${table}.${name} + excluded.${name}`),
    ...least.map((name) => `${name} = least(${table}.${name}, excluded.${name})`),
    ...greatest.map((name) => `${name} = greatest(${table}.${name}, excluded.${name})`),
  ]
  return `insert into ${table} (${columns.join(', ')}) ${addUp(parts)}
    on conflict (${identity.join(', ')}) do update set ${sets.join(', ')};`
}

/** Adds to rows that are there. `then` are further statements for each of them, which is called `part`. */
export function addToPresentRows(parts: Parts, then = ''): string {
  const { table, sums, key } = parts
  return `for part in ${addUp({ ...parts, skipsZero: true })} loop
      update ${table} set ${sums.map((name) => `${name} = ${name} + part.${name}`).join(', ')} where ${isOfPart(key)};
      ${then}
    end loop;`
}

/** Finds the row of a part. */
export const isOfPart = (key: readonly string[]): string => key.map((name) => `${name} = part.${name}`).join(' and ')

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
