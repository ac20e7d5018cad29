/**
 * Keeps the write-ahead log of a database that others open and close.
 *
 * The last connection that closes writes the log back and removes it. A standby that has followed the log would then
 * start again from a snapshot, so the daemon holds it from before the check for an upgrade until it has opened the
 * database.
 */
import { existsSync } from 'node:fs'
import { openConnection } from '../db/connection.js'

/**
 * Returns the function that releases it. A file that is absent or no database is not held: the next to open it reports
 * that.
 */
export function holdLog(file: string): () => void {
  if (!existsSync(file)) return () => undefined
  const db = openConnection({ file })
  try {
    // It reads a page, because only then is the log open.
    db.pragma('schema_version')
  } catch {
    db.close()
    return () => undefined
  }
  return () => db.close()
}
