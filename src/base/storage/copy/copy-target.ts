/**
 * The schema of PostgreSQL that a copy fills.
 *
 * Invariant: it is filled only if it was empty, or has nothing but an earlier copy of the same SQLite database. Until the
 * copy is finished it has the mark that keeps every program out (`postgres/copy-mark`), and its triggers are off: totals
 * are copied as rows.
 */
import { migrations } from '../db/migrations.js'
import { PostgresServers } from '../postgres/connect.js'
import type { ConnectionSettings } from '../postgres/connection-settings.js'
import { waitForCommands } from '../postgres/copy-mark.js'
import { createSchema } from '../postgres/create-schema.js'
import type { Statement, StatementResult } from '../postgres/pipeline-run.js'
import type { PipelinedConnection } from '../postgres/pipelined-connection.js'
import { ServerError } from '../postgres/server-errors.js'
import { checkRows, isMiss } from '../postgres/write-errors.js'
import type { CopiedValue, RowSum } from './copied-values.js'
import type { CopiedTable } from './copy-source.js'
import { insertRows } from './insert-rows.js'
import { readSum } from './read-sum.js'

/** The target cannot be filled. The message names the cure. */
export class UnusableTarget extends Error {
  override name = 'UnusableTarget'
}

/** Milliseconds without a byte from the server: an index of a long table may be read for a while. */
const MAX_SILENCE = 600_000
/** Milliseconds. The server needs a moment to notice that an earlier copy was killed. */
const MAX_LOCK = 3_000
const LOCK_NOT_AVAILABLE = '55P03'

const USED = 'has the data of a daemon or a command'

const ownTables = ['kysely_migration', 'kysely_migration_lock', 'fence', 'nodes', 'terms', 'turns', 'copying']

const takeLock = `select pg_advisory_lock(hashtextextended('posthorn copy ' || $1, 0))`
const findObjects = `select to_regnamespace($1) is not null as has_schema, to_regclass($2) is not null as has_mark,
  (select count(*) from pg_class where relnamespace = to_regnamespace($1)) as objects`
const findState = `select source, (select count(*) from fence) as daemons,
  (select string_agg(name, ',' order by name) from kysely_migration) as migrations from copying`
const findColumns = `select table_name, string_agg(column_name::text, ',' order by column_name collate "C") as columns
  from information_schema.columns join information_schema.tables using (table_schema, table_name)
  where table_schema = $1 and table_type = 'BASE TABLE' group by table_name`
const findIdentities = `select table_name, column_name, pg_get_serial_sequence(quote_ident($1) || '.' || table_name, column_name)
  as sequence from information_schema.columns where table_schema = $1 and is_identity = 'YES'`
const mark = 'insert into copying (id, source, started_at) values (1, $1, now())'
/** A daemon or a command may have begun since the state was found. */
const markAgain = checkRows(
  `update copying set started_at = now(), finished_at = null where source = $1 and not exists (select 1 from fence)`,
  1,
)
/** A daemon that has begun meanwhile is in the fence. */
const finish = `update copying set finished_at = now() where not exists (select 1 from fence)`

export class CopyTarget {
  private constructor(
    private readonly connection: PipelinedConnection,
    private readonly schema: string,
    private readonly tables: readonly CopiedTable[],
  ) {}

  /**
   * Makes the tables, or empties those of an earlier copy. `source` names the SQLite database.
   *
   * @throws UnusableTarget, NoServer
   */
  static async open(settings: ConnectionSettings, tables: readonly CopiedTable[], source: string): Promise<CopyTarget> {
    const limits = { statement: 0, lock: MAX_LOCK, silence: MAX_SILENCE, idleInTransaction: 0 }
    const connection = await new PostgresServers(settings).connect(limits)
    const target = new CopyTarget(connection, settings.schema, tables)
    try {
      await target.lock()
      await target.begin(source)
      return target
    } catch (error) {
      await connection.close()
      throw error
    }
  }

  /** Stores rows of a table in one transaction. */
  async write(table: CopiedTable, rows: readonly (readonly CopiedValue[])[]): Promise<void> {
    await this.connection.run(insertRows(table, rows))
  }

  /** Reads a table back. The server gathers its statistics before, which plans of the daemon need from the start. */
  async readSum(table: CopiedTable, onRows: (rows: number) => void): Promise<RowSum> {
    await this.query(`analyze "${table.name}"`, [])
    return readSum(this.connection, table, onRows)
  }

  /** `lastNumbers` has the last number that each table has given to a row. */
  async finish(lastNumbers: ReadonlyMap<string, number>): Promise<void> {
    const identities = await this.query(findIdentities, [this.schema])
    const results = await this.connection.run([
      ...identities.rows.map(({ table_name: table, column_name: column, sequence }) =>
        continueNumbers(String(table), String(column), [sequence, lastNumbers.get(String(table)) ?? 0]),
      ),
      ...this.tables.map(({ name }) => toStatement(`alter table "${name}" enable trigger user`)),
      // From here on commits are acknowledged as the server is configured, and with this one all before it.
      toStatement('reset synchronous_commit'),
      toStatement(finish),
    ])
    if (results.at(-1)?.changes !== 1) throw new UnusableTarget(`a daemon has begun to use ${this.name}: ${this.cure}`)
  }

  async close(): Promise<void> {
    await this.connection.close()
  }

  private async lock(): Promise<void> {
    try {
      await this.query(takeLock, [this.schema])
    } catch (error) {
      if (!(error instanceof ServerError) || error.code !== LOCK_NOT_AVAILABLE) throw error
      throw new UnusableTarget(`another copy writes to ${this.name}: wait for its end`)
    }
  }

  private async begin(source: string): Promise<void> {
    const { schema } = this
    const [found] = (await this.query(findObjects, [schema, `"${schema}".copying`])).rows
    const isNew = Number(found?.['objects']) === 0
    if (!isNew && found?.['has_mark'] !== 1) throw this.refuse('has tables that no copy has written')
    if (!isNew) await this.refuseUsed(source)
    const created = [...(found?.['has_schema'] === 1 ? [] : [`create schema "${schema}"`]), ...createSchema(migrations)]
    await this.runUnused([
      toStatement(`set synchronous_commit = off`),
      ...(isNew ? created.map(toStatement) : [waitForCommands]),
      { sql: isNew ? mark : markAgain, parameters: [source] },
      ...this.tables.map(({ name }) => toStatement(`alter table "${name}" disable trigger user`)),
      toStatement(`truncate ${this.tables.map(({ name }) => `"${name}"`).join(', ')}`),
    ])
    await this.compareTables()
  }

  private async runUnused(statements: readonly Statement[]): Promise<void> {
    try {
      await this.connection.run(statements)
    } catch (error) {
      if (error instanceof ServerError && isMiss(error)) throw this.refuse(USED)
      throw error
    }
  }

  private async refuseUsed(source: string): Promise<void> {
    const [state] = (await this.query(findState, [])).rows
    if (state === undefined || state['daemons'] !== 0) throw this.refuse(USED)
    if (state['source'] !== source) throw this.refuse(`has a copy of ${String(state['source'])}, not of ${source}`)
    if (state['migrations'] !== Object.keys(migrations).join(',')) throw this.refuse('has a copy of another version')
  }

  /** A table that one of the engines has alone would be lost or empty. */
  private async compareTables(): Promise<void> {
    const { rows } = await this.query(findColumns, [this.schema])
    const there = rows.map(({ table_name: name, columns }) => `${String(name)}: ${String(columns)}`)
    const here = this.tables.map(
      ({ name, columns }) =>
        `${name}: ${columns
          .map((column) => column.name)
          .toSorted()
          .join(',')}`,
    )
    const differing = [...new Set([...there, ...here])].filter(
      (table) =>
        !(there.includes(table) && here.includes(table)) && !ownTables.some((own) => table.startsWith(`${own}:`)),
    )
    if (differing.length > 0) throw this.refuse(`has other tables or columns than SQLite (${differing.join('; ')})`)
  }

  private refuse(fault: string): UnusableTarget {
    return new UnusableTarget(`${this.name} ${fault}: ${this.cure}`)
  }

  private get name(): string {
    return `the schema ${this.schema}`
  }

  private get cure(): string {
    return `name another one with --schema, or remove it with "drop schema ${this.schema} cascade"`
  }

  private async query(sql: string, parameters: readonly unknown[]): Promise<StatementResult> {
    const [result] = await this.connection.run([{ sql, parameters }])
    return result ?? { rows: [], changes: 0 }
  }
}

function toStatement(sql: string): Statement {
  return { sql, parameters: [] }
}

/** The next row gets a number that none has had. */
function continueNumbers(table: string, column: string, parameters: readonly unknown[]): Statement {
  const sql = `select setval($1::text::regclass, greatest(last, 1), last > 0)
    from (select greatest($2::bigint, (select max("${column}") from "${table}")) as last) as numbers`
  return { sql, parameters }
}
