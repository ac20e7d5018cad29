/**
 * Lets one daemon at a time use the data folder; `restore` counts as one.
 *
 * The lock is an exclusive transaction on an SQLite file that stays empty. The kernel releases it when the process
 * ends, so there are no stale locks. Other commands run while the daemon runs and do not take it.
 */
import { closeSync, existsSync, openSync } from 'node:fs'
import { join } from 'node:path'
import SQLite from 'better-sqlite3'

/** Another process holds the folder. The message is for the operator. */
export class DataFolderHeld extends Error {
  override name = 'DataFolderHeld'
}

interface DataLock {
  readonly release: () => void
}

/** Locks of this process. The set keeps a reference; otherwise V8 would close the database and release the lock. */
const heldLocks = new Set<SQLite.Database>()

/** Milliseconds. Another process may be checking (`isDataFolderHeld`), which takes less than one. */
const CHECK_TIMEOUT = 250

export function lockDataFolder(folder: string): DataLock {
  const held = `a running daemon (or a restore) holds the data folder ${folder}: stop it first`
  return takeLock(join(folder, 'daemon.lock'), { timeout: CHECK_TIMEOUT, held })
}

/** `held` is the message if another process holds it for longer than `timeout` milliseconds. */
export function takeLock(
  file: string,
  { timeout, held }: { readonly timeout: number; readonly held: string },
): DataLock {
  // An existing lock file is never opened this way: closing it would release a lock that this process holds.
  if (!existsSync(file)) closeSync(openSync(file, 'a', 0o600))
  const db = new SQLite(file, { timeout })
  try {
    db.pragma('locking_mode = EXCLUSIVE')
    db.exec('begin exclusive')
  } catch (error) {
    db.close()
    if (!(error instanceof SQLite.SqliteError && error.code.startsWith('SQLITE_BUSY'))) throw error
    throw new DataFolderHeld(held)
  }
  heldLocks.add(db)
  return {
    release: () => {
      heldLocks.delete(db)
      db.close()
    },
  }
}

/** Whether a daemon or a restore holds the folder now. Read-only. */
export function isDataFolderHeld(folder: string): boolean {
  const file = join(folder, 'daemon.lock')
  if (!existsSync(file)) return false
  const db = new SQLite(file, { readonly: true, timeout: 0 })
  try {
    db.prepare('select 1 from sqlite_schema').get()
    return false
  } catch (error) {
    if (error instanceof SQLite.SqliteError && error.code.startsWith('SQLITE_BUSY')) return true
    throw error
  } finally {
    db.close()
  }
}
