/**
 * One SQLite connection with the settings that every connection to our file needs.
 *
 * synchronous=FULL: in WAL mode a COMMIT returns after its fdatasync. The WAL is
 * copied back by whichever commit finds it over 8 MB, and cut to 32 MB when it starts
 * anew; it grows beyond that only while a reader holds an old snapshot.
 *
 * better-sqlite3 comes with 16 MB of cached pages for each connection. Most pages are
 * written once and read from the system's cache, so a few suffice, and the memory of the
 * process stays small however long the queue is.
 */
import SQLite from 'better-sqlite3'

export interface ConnectionOptions {
  readonly file: string
  /** A ceiling on the size of the file, in pages of 4 KB: a disk that fills up, at will. */
  readonly maxPages?: number | undefined
  /** How long to wait for another process's transaction, in milliseconds. */
  readonly busyTimeout?: number | undefined
}

const CACHE_KB = 4096

/** The file must be there: a path that vanished must not become an empty database. */
export function openConnection({ file, maxPages, busyTimeout = 10_000 }: ConnectionOptions): SQLite.Database {
  const db = new SQLite(file, { fileMustExist: true, timeout: busyTimeout })
  try {
    db.pragma('synchronous = FULL')
    db.pragma('wal_autocheckpoint = 2000')
    db.pragma('journal_size_limit = 33554432')
    db.pragma('temp_store = MEMORY')
    db.pragma(`cache_size = -${CACHE_KB}`)
    if (maxPages !== undefined) db.pragma(`max_page_count = ${maxPages}`)
    return db
  } catch (error) {
    db.close()
    throw error
  }
}
