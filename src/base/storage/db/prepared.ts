/**
 * A *prepared* statement is built with Kysely once, when it is first used, for the engine in use, and bound many times:
 * compiling a query costs more than running it. Named slots stand for the values:
 *
 *     const hold = prepareWrite<{ id: string; held: 0 | 1 }>(({ db, slot }) =>
 *       db.updateTable('queue').set({ held: slot('held') }).where('id', '=', slot('id')), 1)
 *     commit([hold({ id, held: 1 })])
 *
 * A slot stands for exactly one bound parameter; it may be used several times. Text is bound as `mail/storable-text`
 * makes it.
 */
import {
  type Compilable,
  DummyDriver,
  type InferResult,
  Kysely,
  PostgresQueryCompiler,
  type QueryCompiler,
  SqliteAdapter,
  SqliteIntrospector,
  SqliteQueryCompiler,
} from 'kysely'
import { toStorableText } from '../../mail/storable-text.js'
import type { Tables } from '../tables/tables.js'
import { type Engine, engineInUse, pickByEngine } from './engine.js'
import type { Write } from './write.js'

/**
 * Writes constants into the statement, and leaves slots alone as parameters. PostgreSQL plans a prepared statement for any
 * values, and for a limit that it does not know it expects a tenth of all rows.
 */
class ConstantsAsWords extends PostgresQueryCompiler {
  protected override appendValue(value: unknown): void {
    if (typeof value === 'number' || typeof value === 'string') this.appendImmediateValue(value)
    else super.appendValue(value)
  }
}

/** Makes a Kysely that compiles statements for the engine in use and cannot run them. */
function createBuilder(postgres: QueryCompiler): Kysely<Tables> {
  const compilers = { sqlite: new SqliteQueryCompiler(), postgres }
  return new Kysely<Tables>({
    dialect: {
      createAdapter: () => new SqliteAdapter(),
      createDriver: () => new DummyDriver(),
      createIntrospector: (db) => new SqliteIntrospector(db),
      createQueryCompiler: () => ({ compileQuery: (...query) => pickByEngine(compilers).compileQuery(...query) }),
    },
  })
}

/** For statements that are built for one use. */
export const queryBuilder = createBuilder(new PostgresQueryCompiler())

const preparedBuilder = createBuilder(new ConstantsAsWords())

/** Reads do this too, so that they find what writes have stored. */
function toStorable(value: unknown): unknown {
  return typeof value === 'string' ? toStorableText(value) : value
}

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

interface CompiledStatement<Values> {
  readonly sql: string
  readonly bind: (values: Values) => unknown[]
}

/** Compiles the statement for the engine in use, once for each engine. */
type Compile<Values> = () => CompiledStatement<Values>

/** Every prepared statement of the modules that are loaded, each of which gives its text for the engine in use. */
export const preparedStatements: (() => string)[] = []

function prepare<Values extends object>(build: (builder: StatementBuilder<Values>) => Compilable): Compile<Values> {
  const compiled: Partial<Record<Engine, CompiledStatement<Values>>> = {}
  const compile: Compile<Values> = () => (compiled[engineInUse()] ??= compileNow(build))
  preparedStatements.push(() => compile().sql)
  return compile
}

function compileNow<Values extends object>(
  build: (builder: StatementBuilder<Values>) => Compilable,
): CompiledStatement<Values> {
  const slot = <Name extends keyof Values & string>(name: Name): Values[Name] =>
    new Slot(name) as unknown as Values[Name]
  const slots = <Name extends keyof Values & string>(names: readonly Name[]): Pick<Values, Name> =>
    Object.fromEntries(names.map((name) => [name, slot(name)])) as Pick<Values, Name>
  const { sql, parameters } = build({ db: preparedBuilder, slot, slots }).compile()
  return {
    sql,
    bind: (values) =>
      parameters.map((parameter) =>
        parameter instanceof Slot ? toStorable((values as Record<string, unknown>)[parameter.name]) : parameter,
      ),
  }
}

/** A write with slots. `rows` says how many rows it must change. If it is absent, it may change any number. */
export function prepareWrite<Values extends object>(
  build: (builder: StatementBuilder<Values>) => Compilable,
  rows?: number,
): (values: Values) => Write {
  const compile = prepare(build)
  return (values) => {
    const { sql, bind } = compile()
    const parameters = bind(values)
    return rows === undefined ? { sql, parameters } : { sql, parameters, rows }
  }
}

/** An insert of one new row: see `Write.isNewRow`. `orderOf` gives `Write.order`. */
export function prepareInsert<Row extends object>(
  build: (builder: StatementBuilder<Row>) => Compilable,
  orderOf: (row: Row) => number = () => 0,
): (row: Row) => Write {
  const write = prepareWrite(build)
  return (row) => ({ ...write(row), isNewRow: true, order: orderOf(row) })
}

/** A value, or a promise of it. Await it in any case. */
export type Awaitable<T> = T | Promise<T>

/**
 * Runs a read: see `Store.read`. SQLite gives the rows of a short read at once, on this thread; an engine behind a
 * network gives a promise. Awaiting rows that are there costs less than a microsecond.
 */
export interface Read {
  <Row>(sql: string, parameters: readonly unknown[]): Awaitable<Row[]>
  /** Reads the same on a thread, for what takes long. If it is absent, there is no thread, as in commands. */
  readonly elsewhere?: ReadElsewhere
  /** Reads one state of the database, in one round trip. If it is absent, as in doubles of tests, each read is separate. */
  readonly together?: ReadTogether
}

export type ReadTogether = (
  queries: readonly { readonly sql: string; readonly parameters: readonly unknown[] }[],
) => Awaitable<readonly (readonly unknown[])[]>

export type ReadElsewhere = (sql: string, parameters: readonly unknown[]) => Promise<unknown[]>

/** A read with its values, as data, for `readTogether`. */
interface Query<Rows> {
  readonly sql: string
  readonly parameters: readonly unknown[]
  /** Gives what was read its type. */
  readonly toRows: (rows: unknown) => Rows
}

/** `Rows` is an array. */
export interface PreparedRead<Values, Rows> {
  (read: Read, values: Values): Awaitable<Rows>
  /**
   * Reads on a thread, so that rows of megabytes do not block this one. It reads here if there is no thread, or the
   * thread fails.
   */
  readonly large: (read: Read, values: Values) => Promise<Rows>
  readonly with: (values: Values) => Query<Rows>
}

/** Builds a read whose rows have the type that Kysely infers. */
type ReadFactory<Values> = <Query extends Compilable<unknown>>(
  build: (builder: StatementBuilder<Values>) => Query,
) => PreparedRead<Values, InferResult<Query>>

/** A read with slots. Called twice, because TypeScript cannot infer one type parameter while another is given. */
export function prepareRead<Values extends object>(): ReadFactory<Values> {
  return <Query extends Compilable<unknown>>(build: (builder: StatementBuilder<Values>) => Query) => {
    return toPreparedRead<Values, InferResult<Query>>(prepare<Values>(build), toRowsOf<Query>())
  }
}

/**
 * A read that may take long, because it searches, counts or adds up rows without a bound. It runs on a thread, and is
 * ended after a time limit. Use `prepareRead` for what an index answers at once, and for steps of `ROW_STEP` rows: asking
 * a thread costs more than that.
 */
export function prepareLongRead<Values extends object>(): ReadFactory<Values> {
  return <Query extends Compilable<unknown>>(build: (builder: StatementBuilder<Values>) => Query) => {
    const prepared = toPreparedRead<Values, InferResult<Query>>(prepare<Values>(build), toRowsOf<Query>())
    const readLong = (read: Read, values: Values) => runLong(read, prepared.with(values))
    return Object.assign(readLong, { large: prepared.large, with: prepared.with })
  }
}

function toRowsOf<Query extends Compilable<unknown>>(): (rows: unknown) => InferResult<Query> {
  return (rows) => rows as InferResult<Query>
}

function toPreparedRead<Values, Rows>(
  compile: Compile<Values>,
  toRows: (rows: unknown) => Rows,
): PreparedRead<Values, Rows> {
  const toQuery = (values: Values): Query<Rows> => {
    const { sql, bind } = compile()
    return { sql, parameters: bind(values), toRows }
  }
  const readHere = (read: Read, values: Values): Awaitable<Rows> => {
    const { sql, bind } = compile()
    const rows = read<unknown>(sql, bind(values))
    return rows instanceof Promise ? rows.then(toRows) : toRows(rows)
  }
  const large = async (read: Read, values: Values): Promise<Rows> => {
    const { sql, parameters } = toQuery(values)
    const rows = await read.elsewhere?.(sql, parameters).catch(() => undefined)
    return rows === undefined ? readHere(read, values) : toRows(rows)
  }
  return Object.assign(readHere, { large, with: toQuery })
}

function runLong<Rows>(read: Read, { sql, parameters, toRows }: Query<Rows>): Awaitable<Rows> {
  const rows = read.elsewhere === undefined ? read<unknown>(sql, parameters) : read.elsewhere(sql, parameters)
  return rows instanceof Promise ? rows.then(toRows) : toRows(rows)
}

type RowsOf<Queries extends readonly Query<unknown>[]> = {
  -readonly [Index in keyof Queries]: Queries[Index] extends Query<infer Rows> ? Rows : never
}

/**
 * Runs reads that do not depend on each other's rows. All see the same state of the database, and an engine behind a network
 * takes one round trip for them.
 */
export async function readTogether<const Queries extends readonly Query<unknown>[]>(
  read: Read,
  queries: Queries,
): Promise<RowsOf<Queries>> {
  const rows =
    read.together === undefined
      ? await Promise.all(queries.map(({ sql, parameters }) => read<unknown>(sql, parameters)))
      : await read.together(queries)
  return queries.map(({ toRows }, index) => toRows(rows[index])) as RowsOf<Queries>
}

/** Runs a read that is built for one use, such as a list with filters. */
export function runQuery<Row>(read: Read, query: Compilable<Row>): Awaitable<Row[]> {
  const { sql, parameters } = query.compile()
  return read(sql, parameters.map(toStorable))
}

/** A write that is built for one use, such as an update of the given columns only. It must change `rows` rows. */
export function toWrite(query: Compilable, rows: number): Write {
  const { sql, parameters } = query.compile()
  return { sql, parameters: parameters.map(toStorable), rows }
}
