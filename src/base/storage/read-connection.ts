/** A second reading connection to the open database, for use on one other thread. */
import { openConnection } from './db/connection.js'
import type { Read } from './db/prepared.js'
import { createRead } from './open.js'

interface ReadConnection {
  /** Each call is a separate transaction, so that none keeps the WAL from being copied back. */
  readonly read: Read
  readonly close: () => void
}

/** The file must have the schema of this version, as it has while the daemon runs. */
export function openReadConnection(file: string): ReadConnection {
  const db = openConnection({ file })
  db.pragma('query_only = ON')
  return { read: createRead(db), close: () => db.close() }
}
