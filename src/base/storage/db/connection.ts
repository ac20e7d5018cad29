/**
 * One SQLite connection with the settings that every connection to our file needs.
 *
 * synchronous=FULL: in WAL mode a COMMIT returns after its fdatasync. The commit that finds the WAL over 8 MB copies it
 * back; the WAL is cut to 32 MB when it restarts, and grows beyond that only while a reader holds an old snapshot.
 *
 * secure_delete: what a statement deletes is overwritten with zeros, in rows, in overflow pages and in pages that
 * become free. The deleted bytes stay in the log until it restarts (`purgeLog`).
 *
 * trusted_schema, cell_size_check: a file that was restored may come from elsewhere; SQLite then trusts neither the
 * functions that its schema names nor the sizes that its pages state.
 *
 * cache_size: better-sqlite3 caches 16 MB of pages per connection by default. Most pages are written once and read from
 * the system's cache, so 4 MB suffice, and memory stays small however long the queue is.
 */

import SQLite from 'better-sqlite3'
import { registerSpooledBytes, spoolFolder } from './spool-files.js'

export interface ConnectionOptions {
  readonly file: string
  /** Limit of the file's size, in pages of 4 KB. A test fills the disk with it. */
  readonly maxPages?: number | undefined
  /** How long it waits for another process's transaction, in milliseconds. */
  readonly busyTimeout?: number | undefined
}

const CACHE_KB = 4096
/** The log is cut to this size when it restarts. */
export const MAX_LOG_BYTES = 33_554_432

/** The file must be there: a path that vanished must not become an empty database. */
export function openConnection({ file, maxPages, busyTimeout = 10_000 }: ConnectionOptions): SQLite.Database {
  const db = new SQLite(file, { fileMustExist: true, timeout: busyTimeout })
  try {
    db.pragma('synchronous = FULL')
    db.pragma('wal_autocheckpoint = 2000')
    db.pragma(`journal_size_limit = ${MAX_LOG_BYTES}`)
    db.pragma('secure_delete = ON')
    db.pragma('temp_store = MEMORY')
    db.pragma('trusted_schema = OFF')
    db.pragma('cell_size_check = ON')
    db.pragma(`cache_size = -${CACHE_KB}`)
    registerSpooledBytes(db, spoolFolder(file))
    if (maxPages !== undefined) db.pragma(`max_page_count = ${maxPages}`)
    return db
  } catch (error) {
    db.close()
    throw error
  }
}
