/**
 * `restore`: puts a backup in the place of the database, and keeps the old one aside.
 *
 * Invariant: at every moment the database's name means either the old or the new one,
 * complete, and no WAL of the one lies beside the other (SQLite would replay it into
 * the wrong file). Refused while a daemon holds the data folder, and while any process
 * has the old database open.
 */
import { chmodSync, copyFileSync, existsSync, linkSync, renameSync, rmSync } from 'node:fs'
import { dirname } from 'node:path'
import SQLite from 'better-sqlite3'
import { timestamp } from '../../platform/clock.js'
import { connect } from '../connection.js'
import { DataFolderHeld, lockDataFolder } from '../data-lock.js'
import { appliedMigrations, type Migrations, refuseNewer } from '../migrate.js'
import { migrations as ours } from '../migrations.js'
import { syncFile } from './backup.js'
import { integrityProblems } from './verify.js'

/** The backup is no sound database of this program. */
export class UnusableBackup extends Error {
  override name = 'UnusableBackup'
}

export interface RestoreOptions {
  readonly backup: string
  /** The database that it becomes. */
  readonly file: string
  readonly now: number
  readonly migrations?: Migrations
}

/** Where the old database was put; undefined when there was none. */
export interface Restored {
  readonly aside: string | undefined
}

export function restore({ backup, file, now, migrations = ours }: RestoreOptions): Restored {
  const lock = lockDataFolder(dirname(file))
  const coming = `${file}.restoring`
  try {
    rmSync(coming, { force: true })
    copyFileSync(backup, coming)
    chmodSync(coming, 0o600)
    checkBackup(coming, backup, migrations)
    syncFile(coming)
    const aside = existsSync(file) ? putAside(file, `${file}.before-${timestamp(now).replaceAll(':', '')}`) : undefined
    renameSync(coming, file)
    syncFile(dirname(file))
    return { aside }
  } finally {
    rmSync(coming, { force: true })
    lock.release()
  }
}

function checkBackup(copy: string, backup: string, migrations: Migrations): void {
  if (existsSync(`${backup}-wal`)) {
    throw new UnusableBackup(`${backup} has a write-ahead log beside it: it is a database in use, not a backup`)
  }
  try {
    withDatabase(copy, (db) => {
      if (appliedMigrations(db).length === 0) throw new UnusableBackup(`${backup} is no database of this program`)
      refuseNewer(db, migrations, backup)
      const [damage] = integrityProblems(db)
      if (damage !== undefined) throw new UnusableBackup(`${backup} is damaged: ${damage.message}`)
    })
  } catch (error) {
    throw error instanceof SQLite.SqliteError ? new UnusableBackup(`${backup}: ${error.message}`) : error
  }
}

function withDatabase(file: string, act: (db: SQLite.Database) => void): void {
  const db = connect({ file, busyTimeout: 1000 })
  try {
    act(db)
  } finally {
    db.close()
  }
}

/** A second name for the old database; the first one is about to mean the new. */
function putAside(file: string, aside: string): string {
  foldWal(file, aside)
  linkSync(file, aside)
  return aside
}

/**
 * Leaves no WAL beside the old database. Fails when somebody has it open, be it another
 * command. Of a database beyond reading, the WAL goes aside as it is; it is given its
 * second name first, because SQLite removes a WAL that it cannot use.
 */
function foldWal(file: string, aside: string): void {
  const keptWal = `${aside}-wal`
  if (existsSync(`${file}-wal`)) linkSync(`${file}-wal`, keptWal)
  try {
    withDatabase(file, (db) => db.pragma('journal_mode = DELETE'))
    rmSync(keptWal, { force: true })
  } catch (error) {
    if (error instanceof SQLite.SqliteError && error.code.startsWith('SQLITE_BUSY')) {
      rmSync(keptWal, { force: true })
      throw new DataFolderHeld(`another process has ${file} open: end it first`)
    }
    for (const name of [`${file}-wal`, `${file}-shm`]) rmSync(name, { force: true })
  }
}
