/**
 * `restore`: replaces the database with a backup and keeps the old one under another name.
 *
 * Invariant: at every moment the database's name means a complete database, old or new, and the WAL of
 * one never lies beside the other (SQLite would replay it into the wrong file). Refused while a daemon
 * holds the data folder, or while any process has the old database open.
 *
 * The old database keeps its spool files, by a second name each; those that are left under the first one after a crash
 * are removed by the start of the daemon, since the new database names none.
 */

import { chmodSync, copyFileSync, existsSync, linkSync, mkdirSync, renameSync, rmSync } from 'node:fs'
import { basename, dirname, join } from 'node:path'
import SQLite from 'better-sqlite3'
import { formatTimestamp } from '../../platform/clock.js'
import { openConnection } from '../db/connection.js'
import { DataFolderHeld, lockDataFolder } from '../db/data-lock.js'
import { listAppliedMigrations, type Migrations, migrate, refuseUnknownMigrations } from '../db/migrate.js'
import { migrations as ours } from '../db/migrations.js'
import { listSpoolFiles, registerSpooledBytes, spoolFile, spoolFolder } from '../db/spool-files.js'
import { LostBytes } from '../db/write.js'
import { foldCopy } from '../spool/fold.js'
import { syncFile } from './backup.js'
import { holdRestoredQueue } from './hold-queue.js'
import { findIntegrityProblems } from './verify.js'

const NOTE = 'restored from a backup: contacts that got their message after the backup get it again'

/** The backup is not a sound database of this program. */
export class UnusableBackup extends Error {
  override name = 'UnusableBackup'
}

interface RestoreOptions {
  readonly backup: string
  /** The backup is moved, not copied, because it was made for this. */
  readonly move?: boolean
  /** Keeps all entries of the queue until `queue release`. */
  readonly holdQueue?: boolean
  /** The database to replace. */
  readonly file: string
  readonly now: number
  readonly migrations?: Migrations
}

/** `previousFile` is the old database. Undefined if there was none. */
interface RestoreResult {
  readonly pausedBroadcasts: number
  /** Entries of the queue. */
  readonly held: number
  readonly previousFile: string | undefined
}

export async function restoreBackup(options: RestoreOptions): Promise<RestoreResult> {
  const { backup, file, now } = options
  const lock = lockDataFolder(dirname(file))
  const incoming = `${file}.restoring`
  try {
    rmSync(incoming, { force: true })
    if (existsSync(`${backup}-wal`)) {
      throw new UnusableBackup(`${backup} has a write-ahead log next to it: it is a database in use, not a backup`)
    }
    if (options.move === true) renameSync(backup, incoming)
    else copyFileSync(backup, incoming)
    chmodSync(incoming, 0o600)
    const changed = await prepareBackup(incoming, options)
    syncFile(incoming)
    const previousFile = existsSync(file)
      ? await linkPrevious(file, `${file}.before-${formatTimestamp(now).replaceAll(':', '')}`)
      : undefined
    renameSync(incoming, file)
    syncFile(dirname(file))
    if (previousFile !== undefined) rmSync(spoolFolder(file), { recursive: true, force: true })
    return { ...changed, previousFile }
  } finally {
    rmSync(incoming, { force: true })
    lock.release()
  }
}

/** Checks the copy, pauses its broadcasts and holds its queue. */
async function prepareBackup(
  copy: string,
  { backup, migrations = ours, now, holdQueue = false }: RestoreOptions,
): Promise<Pick<RestoreResult, 'pausedBroadcasts' | 'held'>> {
  try {
    return await withDatabase(copy, async (db) => {
      if (listAppliedMigrations(db).length === 0)
        throw new UnusableBackup(`${backup} is not a database of this program`)
      refuseUnknownMigrations(db, migrations, {
        name: backup,
        developmentRemedy: 'Restore it with the build that made it',
      })
      const [damage] = findIntegrityProblems(db)
      if (damage !== undefined) throw new UnusableBackup(`${backup} is damaged: ${damage.message}`)
      const [foreign] = await findForeignPrograms(db, migrations)
      if (foreign !== undefined) {
        throw new UnusableBackup(`${backup} has a trigger or view that this program did not make: ${foreign}`)
      }
      await foldBackup(db, backup)
      const held = holdQueue ? holdRestoredQueue(db, now) : 0
      return { pausedBroadcasts: pauseRestoredBroadcasts(db, now), held }
    })
  } catch (error) {
    throw error instanceof SQLite.SqliteError ? new UnusableBackup(`${backup}: ${error.message}`) : error
  }
}

/** A database that an earlier restore has renamed has spool files; a backup names none. */
async function foldBackup(db: SQLite.Database, backup: string): Promise<void> {
  const folder = spoolFolder(backup)
  registerSpooledBytes(db, folder)
  await foldCopy(db).catch((error: unknown) => {
    if (!(error instanceof LostBytes)) throw error
    throw new UnusableBackup(`${backup} lacks messages that were in ${folder}: ${error.message}`)
  })
}

async function withDatabase<T>(file: string, act: (db: SQLite.Database) => T | Promise<T>): Promise<T> {
  const db = openConnection({ file, busyTimeout: 1000 })
  try {
    return await act(db)
  } finally {
    db.close()
  }
}

/** Gives the old database a second name, since the first one is about to mean the new database. */
async function linkPrevious(file: string, aside: string): Promise<string> {
  await checkpointWal(file, aside)
  linkSpool(spoolFolder(file), spoolFolder(aside))
  linkSync(file, aside)
  return aside
}

function linkSpool(folder: string, aside: string): void {
  const files = listSpoolFiles(folder).map((number) => spoolFile(folder, number))
  if (files.length === 0) return
  mkdirSync(aside, { mode: 0o700 })
  for (const file of files) linkSync(file, join(aside, basename(file)))
  syncFile(aside)
}

/**
 * Writes the WAL of the old database back. Fails if any process has it open. If the database is unreadable, its WAL is
 * kept with the renamed file; it gets its second name first, because SQLite removes a WAL that it cannot use.
 */
async function checkpointWal(file: string, aside: string): Promise<void> {
  const keptWal = `${aside}-wal`
  if (existsSync(`${file}-wal`)) linkSync(`${file}-wal`, keptWal)
  try {
    await withDatabase(file, (db) => db.pragma('journal_mode = DELETE'))
    rmSync(keptWal, { force: true })
  } catch (error) {
    if (error instanceof SQLite.SqliteError && error.code.startsWith('SQLITE_BUSY')) {
      rmSync(keptWal, { force: true })
      throw new DataFolderHeld(`another process has ${file} open: end it first`)
    }
    for (const name of [`${file}-wal`, `${file}-shm`]) rmSync(name, { force: true })
  }
}

/**
 * Returns the names of triggers and views of a database that our migrations do not make.
 *
 * They are programs: a trigger of a file from elsewhere would run with each write of the daemon. The expected ones come
 * from an empty database with the same migrations.
 */
async function findForeignPrograms(db: SQLite.Database, migrations: Migrations): Promise<readonly string[]> {
  const applied = new Set(listAppliedMigrations(db))
  const known = Object.fromEntries(Object.entries(migrations).filter(([name]) => applied.has(name)))
  const own = new SQLite(':memory:')
  try {
    await migrate(own, known)
    const expected = new Set(listPrograms(own).map(({ form }) => form))
    return listPrograms(db).flatMap(({ name, form }) => (expected.has(form) ? [] : [name]))
  } finally {
    own.close()
  }
}

interface Program {
  readonly name: string
  /** Its statement without quotes and spaces. Versions of SQLite write these differently after a rename. */
  readonly form: string
}

function listPrograms(db: SQLite.Database): readonly Program[] {
  return db
    .prepare<[], { name: string; sql: string }>(
      `select name, sql from sqlite_schema where type in ('trigger', 'view') order by name`,
    )
    .all()
    .map(({ name, sql }) => ({ name, form: sql.replace(/["\s]/g, '') }))
}

/**
 * Pauses the broadcasts of a restored backup. What they have sent since the backup is not in it, so they would send it
 * again. Broadcasts that became due since then are paused at their first contact.
 *
 * Returns how many were paused. `db` may be of any version.
 */
function pauseRestoredBroadcasts(db: SQLite.Database, now: number): number {
  const table = db.prepare(`select 1 from sqlite_schema where type = 'table' and name = 'broadcasts'`).get()
  if (table === undefined) return 0
  const begin = db.prepare(
    `update broadcasts set status = 'sending', started_at = :now, ceiling = coalesce((select max(c.id) from contacts as c
       where c.workspace_id = broadcasts.workspace_id and c.audience_id = broadcasts.audience_id), '')
     where status = 'scheduled' and scheduled_for <= :now`,
  )
  const pause = db.prepare(
    `update broadcasts set status = 'paused', waits_until = null, note = :note, version = version + 1, updated_at = :now
     where status = 'sending'`,
  )
  return db.transaction(() => {
    begin.run({ now })
    return pause.run({ now, note: NOTE }).changes
  })()
}
