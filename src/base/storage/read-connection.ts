/** A second reading connection to the open database, for use on one other thread. */
import { openConnection } from './db/connection.js'
import { createRead, type ReadHere } from './open.js'

interface ReadConnection {
  /** Each call is a separate transaction, so that none keeps the WAL from being copied back. */
  readonly read: ReadHere
  readonly close: () => void
}

/** The file must have the schema of this version, as it has while the daemon runs. */
export function openReadConnection(file: string): ReadConnection {
  const db = openConnection({ file })
  db.pragma('query_only = ON')
  return { read: createRead(db), close: () => db.close() }
}
