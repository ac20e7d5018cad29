/**
 * The SQLite database that is copied, as one state of it.
 *
 * Invariant: nothing is written to it. It holds the lock of writers until it is closed, so that no command changes what is
 * being copied.
 */
import type SQLite from 'better-sqlite3'
import { openConnection } from '../db/connection.js'
import { hasPendingMigrations, refuseUnknownMigrations } from '../db/migrate.js'
import { migrations } from '../db/migrations.js'
import { EarlierDatabase } from '../db/schema-errors.js'
import { spooledTables } from '../db/spool-files.js'
import { toStorageError } from '../health/faults.js'
import { BYTES_IN_SPOOL_OR_ROW } from '../spool/stored-bytes.js'
import { type ColumnType, type CopiedColumn, type CopiedValue, toCopiedValue } from './copied-values.js'

export interface CopiedTable {
  readonly name: string
  readonly columns: readonly CopiedColumn[]
  /** The names of the columns of the primary key. */
  readonly key: readonly string[]
  readonly rows: number
}

const listTables = `select name from sqlite_schema where type = 'table' and name not like 'sqlite_%'
  and name not like 'kysely_%' and name <> 'spool_holes' order by name`
const listColumns = 'select name, type, pk from pragma_table_info(?)'

interface ListedColumn {
  readonly name: string
  readonly type: ColumnType
  readonly pk: number
}

export class CopySource {
  /** All tables but those that say where spool files have holes, and which migrations were made. */
  readonly tables: readonly CopiedTable[]

  private constructor(private readonly db: SQLite.Database) {
    this.tables = db
      .prepare<[], string>(listTables)
      .pluck()
      .all()
      .map((name) => this.describe(name))
  }

  /** The file must be there. Throws `EarlierDatabase`, `NewerDatabase`, `DevelopmentDatabase` or a `StorageFault`. */
  static open(file: string): CopySource {
    try {
      return openSource(file, (db) => new CopySource(db))
    } catch (error) {
      throw toStorageError(error)
    }
  }

  /** Reads the rows one by one. Throws `LostBytes` where a message is damaged. */
  *readRows({ name, columns }: CopiedTable): Generator<readonly CopiedValue[]> {
    const sql = `select ${columns.map((column) => selected(name, column)).join(', ')} from "${name}"`
    const rows = this.db.prepare<[], unknown[]>(sql).raw().iterate()
    for (const row of rows) yield columns.map((column, at) => toCopiedValue(column, row[at]))
  }

  /** The last number that a table has given to a row, which may be gone. 0 if it numbers no rows in this way. */
  lastNumber(table: string): number {
    return this.db.prepare<[string], number>('select seq from sqlite_sequence where name = ?').pluck().get(table) ?? 0
  }

  close(): void {
    this.db.close()
  }

  private describe(name: string): CopiedTable {
    const columns = this.db.prepare<[string], ListedColumn>(listColumns).all(name)
    const key = columns.filter(({ pk }) => pk > 0).toSorted((one, other) => one.pk - other.pk)
    const rows = this.db.prepare<[], number>(`select count(*) from "${name}"`).pluck().get() ?? 0
    return {
      name,
      columns: columns.map(({ name: column, type }) => ({ name: column, type })),
      rows,
      key: key.map((column) => column.name),
    }
  }
}

function openSource<Source>(file: string, make: (db: SQLite.Database) => Source): Source {
  const db = openConnection({ file })
  try {
    refuseUnknownMigrations(db, migrations)
    if (hasPendingMigrations(db, migrations)) throw new EarlierDatabase(file)
    db.exec('begin immediate')
    return make(db)
  } catch (error) {
    db.close()
    throw error
  }
}

/** Bytes in spool files come as those of the row, which names no place any more. */
function selected(table: string, { name }: CopiedColumn): string {
  if (!spooledTables.some((spooled) => spooled === table)) return `"${name}"`
  if (name === 'raw') return BYTES_IN_SPOOL_OR_ROW
  return name.startsWith('spool_') ? 'null' : `"${name}"`
}
