/**
 * Cuts off what an earlier run of the log has left behind its end, where deleted bytes would stay for long.
 *
 * SQLite cuts the log to `journal_size_limit` in the first commit after a restart of the log. The limit is 0 until then;
 * afterwards it is large again, because growing the file would cost each commit.
 */
import { closeSync, openSync, readSync } from 'node:fs'
import type SQLite from 'better-sqlite3'
import { MAX_LOG_BYTES } from '../db/connection.js'

/** True: the log was restarted since the purge began. To be called again while it is false. */
export type LogPurge = () => boolean

/** A value of its own each time: SQLite writes no page whose content stays the same. */
const COMMIT_ONE_PAGE = `insert or replace into service_state (key, value) values ('log_purge', hex(randomblob(8)))`

export function beginLogPurge(db: SQLite.Database, file: string): LogPurge {
  const before = readSalts(file)
  db.pragma('journal_size_limit = 0')
  return () => {
    if (readSalts(file) === before) {
      db.pragma('wal_checkpoint(PASSIVE)')
      db.exec(COMMIT_ONE_PAGE)
    }
    if (readSalts(file) === before) return false
    db.pragma(`journal_size_limit = ${MAX_LOG_BYTES}`)
    return true
  }
}

/** The salts of the log, which change when it is restarted; empty: it has no header yet. */
function readSalts(file: string): string {
  const log = openSync(`${file}-wal`, 'r')
  try {
    const salts = Buffer.alloc(8)
    return readSync(log, salts, 0, 8, 16) === 8 ? salts.toString('hex') : ''
  } finally {
    closeSync(log)
  }
}
