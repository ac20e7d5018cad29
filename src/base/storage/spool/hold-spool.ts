/**
 * Keeps deleted bytes in the spool files as they are while another process reads them by an earlier state of the
 * database: a backup, a verification.
 *
 * The lock is a shared one on an SQLite file that stays empty, in the folder; a sweep takes it alone. The kernel
 * releases it when a process ends.
 */
import { closeSync, existsSync, mkdirSync, openSync } from 'node:fs'
import { join } from 'node:path'
import SQLite from 'better-sqlite3'
import { spoolFolder } from '../db/spool-files.js'
import { toStorageError } from '../health/faults.js'

const LOCK_NAME = 'hold.lock'
/** Milliseconds. A step of the sweep takes less. */
const HOLD_TIMEOUT = 10_000

/** Locks of this process. The set keeps a reference; otherwise V8 would close the database and release the lock. */
const heldLocks = new Set<SQLite.Database>()

/** No sweep takes place until you call the function that it returns. Throws a `StorageFault`. */
export function holdSpool(databaseFile: string): () => void {
  return lock(databaseFile, HOLD_TIMEOUT, 'begin; select 1 from sqlite_schema')
}

/**
 * Locks the files for one step of a sweep. Throws a `StorageFault` with `SQLITE_BUSY` if any process holds the files.
 */
export function lockSpool(databaseFile: string): () => void {
  return lock(databaseFile, 0, 'begin exclusive')
}

function lock(databaseFile: string, timeout: number, sql: string): () => void {
  const folder = spoolFolder(databaseFile)
  mkdirSync(folder, { recursive: true, mode: 0o700 })
  const file = join(folder, LOCK_NAME)
  // An existing file is never opened this way: closing it would release a lock that this process holds.
  if (!existsSync(file)) closeSync(openSync(file, 'a', 0o600))
  const db = new SQLite(file, { timeout })
  try {
    db.exec(sql)
  } catch (error) {
    db.close()
    throw toStorageError(error)
  }
  heldLocks.add(db)
  return () => {
    heldLocks.delete(db)
    db.close()
  }
}
