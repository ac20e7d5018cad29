/**
 * Opens the database and creates it if it does not exist. The daemon and any number of commands may do so
 * at the same time.
 *
 * Invariant: a `Database` has the schema of this version. Settings that only an empty file accepts
 * (auto_vacuum) are made before the first table.
 */
import { closeSync, existsSync, openSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import type { Worker } from 'node:worker_threads'
import SQLite from 'better-sqlite3'
import { errorCodeOf } from '../platform/errors.js'
import { type ConnectionOptions, openConnection } from './db/connection.js'
import type { Database, OpenStore } from './db/database.js'
import { useEngine } from './db/engine.js'
import { delayForTests } from './db/late-reads.js'
import {
  hasPendingMigrations,
  listAppliedMigrations,
  listPendingMigrations,
  type Migrations,
  migrate,
  refuseUnknownMigrations,
} from './db/migrate.js'
import { migrations as ours } from './db/migrations.js'
import { loneNode } from './db/node-state.js'
import type { Read, ReadTogether } from './db/prepared.js'
import { EarlierDatabase } from './db/schema-errors.js'
import { StatementCache } from './db/statement-cache.js'
import { toStorageError } from './health/faults.js'
import { measureFiles } from './health/measure-files.js'
import { ReadThreads } from './read-threads.js'
import { describeWayBack } from './upgrade/upgrade-copies.js'
import { Writer } from './writer/writer.js'
import type { WriterThreadOptions } from './writer/writer-protocol.js'

export interface OpenOptions extends ConnectionOptions {
  readonly migrations?: Migrations
  /**
   * Throws `EarlierDatabase` instead of migrating a database of an earlier version: a daemon of that version may still
   * run.
   */
  readonly refuseEarlier?: boolean
  /** See `WriterOptions`. */
  readonly restartAfter?: number
  readonly startThread?: (options: WriterThreadOptions) => Worker
  /**
   * Store large messages in spool files. For the one process that also sweeps them, the daemon; not where a standby
   * follows, which has the log of the database alone.
   */
  readonly spool?: boolean
}

/** The database file of a data folder. */
export function databaseFile(dataDir: string): string {
  return join(dataDir, 'posthorn.db')
}

export async function openDatabase(options: OpenOptions): Promise<Database> {
  useEngine('sqlite')
  const reader = await openReader(options)
  try {
    const writer = await Writer.open(options)
    const threads = new ReadThreads(options.file)
    const readHere = createRead(reader)
    return {
      place: { engine: 'sqlite', file: options.file },
      node: loneNode,
      read: Object.assign(delayForTests(readHere), { elsewhere: threads.read.bind(threads) }),
      commit: (writes, options) => writer.commit(writes, options),
      measure: () => measureFiles(options.file, readHere),
      files: {
        reclaimPages: (pages) => writer.reclaimPages(pages),
        purgeLog: (options) => writer.purgeLog(options),
        sweepSpool: (holes) => writer.sweepSpool(holes),
      },
      onForeignCommit: (listener) => writer.onForeignCommit(listener),
      countCommits: () => writer.countCommits(),
      onBatch: (listener) => writer.onBatch(listener),
      onFault: () => undefined,
      readBusyTime: () => writer.readBusyTime(),
      close: async () => {
        await writer.close()
        await threads.stop()
        reader.close()
      },
    }
  } catch (error) {
    reader.close()
    throw error
  }
}

/**
 * Opens the database for a command. The writer, which is a thread, starts with the first commit. Most commands only
 * read.
 */
export async function openStore(options: OpenOptions): Promise<OpenStore> {
  useEngine('sqlite')
  const reader = await openReader(options)
  const readHere = createRead(reader)
  let writer: Promise<Writer> | null = null
  return {
    read: delayForTests(readHere),
    measure: () => measureFiles(options.file, readHere),
    commit: async (...asked) => {
      writer ??= Writer.open(options)
      await (await writer).commit(...asked)
    },
    close: async () => {
      await writer?.then(
        (started) => started.close(),
        // The commit has reported it.
        () => undefined,
      )
      reader.close()
    },
  }
}

/** Creates the file and brings its schema up to date. */
async function openReader(options: OpenOptions): Promise<SQLite.Database> {
  try {
    return await openSchema(options)
  } catch (error) {
    throw toStorageError(error)
  }
}

async function openSchema(options: OpenOptions): Promise<SQLite.Database> {
  const { file, busyTimeout, migrations = ours, refuseEarlier = false } = options
  createFile(file)
  const db = openConnection({ file, busyTimeout })
  try {
    refuseUnknownMigrations(db, migrations, { remedy: () => describeWayBack(file, migrations) })
    if (refuseEarlier && isEarlier(db, migrations)) throw new EarlierDatabase(file)
    // If the file is not empty, this would be a write at every start of every command.
    if (db.pragma('page_count', { simple: true }) === 0) db.pragma('auto_vacuum = INCREMENTAL')
    await useWal(db)
    await migrate(db, migrations)
    db.pragma('query_only = ON')
    return db
  } catch (error) {
    db.close()
    throw error
  }
}

/** An empty database is of no version. */
function isEarlier(db: SQLite.Database, migrations: Migrations): boolean {
  return listAppliedMigrations(db).length > 0 && listPendingMigrations(db, migrations).length > 0
}

/**
 * Only reads. A daemon may be running or not. The file must be there; it is neither created nor migrated. Null if it is
 * of an earlier version, which the start of the daemon migrates.
 */
export function openReadOnly(file: string): { readonly read: Read; readonly close: () => void } | null {
  useEngine('sqlite')
  try {
    const db = openConnection({ file })
    refuseUnknownMigrations(db, ours)
    if (hasPendingMigrations(db, ours)) {
      db.close()
      return null
    }
    db.pragma('query_only = ON')
    return { read: delayForTests(createRead(db)), close: () => db.close() }
  } catch (error) {
    throw toStorageError(error)
  }
}

/**
 * Its mode is 0600, which the WAL inherits. An existing file is not opened: closing it would release SQLite's locks.
 */
function createFile(file: string): void {
  if (existsSync(file)) return
  try {
    closeSync(openSync(file, 'wx', 0o600))
  } catch (error) {
    if (errorCodeOf(error) !== 'EEXIST') throw error
  }
}

/** Two processes may open an empty file at once, and SQLite does not wait for this change. */
async function useWal(db: SQLite.Database): Promise<void> {
  for (let attempt = 1; ; attempt += 1) {
    try {
      db.pragma('journal_mode = WAL')
      return
    } catch (error) {
      const busy = error instanceof SQLite.SqliteError && error.code.startsWith('SQLITE_BUSY')
      if (!busy || attempt === 100) throw error
      await pause(50)
    }
  }
}

/** Reads on this thread: the rows are there at once. */
export interface ReadHere {
  <Row>(sql: string, parameters: readonly unknown[]): Row[]
  readonly together: ReadTogether
}

export function createRead(db: SQLite.Database): ReadHere {
  const statements = new StatementCache(db)
  const read = <Row>(sql: string, parameters: readonly unknown[]): Row[] => {
    try {
      return statements.prepare(sql).all(parameters) as Row[]
    } catch (error) {
      throw toStorageError(error)
    }
  }
  const together: ReadTogether = (queries) => queries.map(({ sql, parameters }) => read(sql, parameters))
  return Object.assign(read, { together: db.transaction(together) })
}
