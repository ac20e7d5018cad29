/**
 * A *prepared* statement is built with Kysely once, when its module loads, and bound many times: compiling a query
 * costs more than running it. Named slots stand for the values:
 *
 *     const hold = prepareWrite<{ id: string; held: 0 | 1 }>(({ db, slot }) =>
 *       db.updateTable('queue').set({ held: slot('held') }).where('id', '=', slot('id')), 1)
 *     commit([hold({ id, held: 1 })])
 *
 * A slot stands for exactly one bound parameter; it may be used several times.
 */
import {
  type Compilable,
  DummyDriver,
  type InferResult,
  Kysely,
  type RawBuilder,
  SqliteAdapter,
  SqliteIntrospector,
  SqliteQueryCompiler,
  sql,
} from 'kysely'
import type { Tables } from '../tables/tables.js'
import type { Write } from './write.js'

/** A Kysely that compiles statements and cannot run them. */
export const queryBuilder = new Kysely<Tables>({
  dialect: {
    createAdapter: () => new SqliteAdapter(),
    createDriver: () => new DummyDriver(),
    createIntrospector: (db) => new SqliteIntrospector(db),
    createQueryCompiler: () => new SqliteQueryCompiler(),
  },
})

class Slot {
  constructor(readonly name: string) {}
}

export interface StatementBuilder<Values> {
  readonly db: Kysely<Tables>
  /** Stands for a value, and has its type, so that Kysely checks the column. */
  readonly slot: <Name extends keyof Values & string>(name: Name) => Values[Name]
  /** A slot for each of these columns, under its own name. */
  readonly slots: <Name extends keyof Values & string>(names: readonly Name[]) => Pick<Values, Name>
}

interface PreparedStatement<Values> {
  readonly sql: string
  readonly bind: (values: Values) => unknown[]
}

function prepare<Values extends object>(
  build: (builder: StatementBuilder<Values>) => Compilable,
): PreparedStatement<Values> {
  const slot = <Name extends keyof Values & string>(name: Name): Values[Name] =>
    new Slot(name) as unknown as Values[Name]
  const slots = <Name extends keyof Values & string>(names: readonly Name[]): Pick<Values, Name> =>
    Object.fromEntries(names.map((name) => [name, slot(name)])) as Pick<Values, Name>
  const { sql, parameters } = build({ db: queryBuilder, slot, slots }).compile()
  return {
    sql,
    bind: (values) =>
      parameters.map((parameter) =>
        parameter instanceof Slot ? (values as Record<string, unknown>)[parameter.name] : parameter,
      ),
  }
}

/** A write with slots. `rows` says how many rows it must change. If it is absent, it may change any number. */
export function prepareWrite<Values extends object>(
  build: (builder: StatementBuilder<Values>) => Compilable,
  rows?: number,
): (values: Values) => Write {
  const { sql, bind } = prepare(build)
  return (values) => {
    const parameters = bind(values)
    return rows === undefined ? { sql, parameters } : { sql, parameters, rows }
  }
}

/** Runs a read on the reading connection: see `Database.read`. */
export interface Read {
  <Row>(sql: string, parameters: readonly unknown[]): Row[]
  /** Reads the same on a thread, for rows of megabytes. If it is absent, there is no thread, as in commands. */
  readonly elsewhere?: ReadElsewhere
}

export type ReadElsewhere = <Row>(sql: string, parameters: readonly unknown[]) => Promise<Row[]>

/** `Rows` is an array. */
export interface PreparedRead<Values, Rows> {
  (read: Read, values: Values): Rows
  /**
   * Reads on a thread, so that rows of megabytes do not block this one. It reads here if there is no thread, or the
   * thread fails.
   */
  readonly large: (read: Read, values: Values) => Promise<Rows>
}

/** Builds a read whose rows have the type that Kysely infers. */
type ReadFactory<Values> = <Query extends Compilable<unknown>>(
  build: (builder: StatementBuilder<Values>) => Query,
) => PreparedRead<Values, InferResult<Query>>

/** A read with slots. Called twice, because TypeScript cannot infer one type parameter while another is given. */
export function prepareRead<Values extends object>(): ReadFactory<Values> {
  return <Query extends Compilable<unknown>>(build: (builder: StatementBuilder<Values>) => Query) => {
    const { sql, bind } = prepare<Values>(build)
    const withType = (rows: unknown[]): InferResult<Query> => rows as InferResult<Query>
    const readHere = (read: Read, values: Values): InferResult<Query> => withType(read(sql, bind(values)))
    const large = async (read: Read, values: Values): Promise<InferResult<Query>> => {
      const rows = await read.elsewhere?.<unknown>(sql, bind(values)).catch(() => undefined)
      return rows === undefined ? readHere(read, values) : withType(rows)
    }
    return Object.assign(readHere, { large })
  }
}

/** Runs a read that is built for one use, such as a list with filters. */
export function runQuery<Row>(read: Read, query: Compilable<Row>): Row[] {
  const { sql, parameters } = query.compile()
  return read(sql, parameters)
}

/** SQLite's internal row number: the last column of every index of a table that is not `without rowid`. */
export function rowidOf(table: string): RawBuilder<number> {
  return sql<number>`${sql.id(table, 'rowid')}`
}

/** A write that is built for one use, such as an update of the given columns only. It must change `rows` rows. */
export function toWrite(query: Compilable, rows: number): Write {
  const { sql, parameters } = query.compile()
  return { sql, parameters, rows }
}
