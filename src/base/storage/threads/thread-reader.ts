/** Opens the database for a thread that reads for long, over a separate connection. */
import type { DatabasePlace } from '../db/database.js'
import type { Read } from '../db/prepared.js'
import { readConnectionSettings } from '../postgres/connection-settings.js'
import { openPostgresReader } from '../postgres/open-postgres.js'
import { openReadConnection } from '../read-connection.js'

interface ThreadReader {
  /** Each call is a separate transaction, so that none keeps old rows from being cleared away. */
  readonly read: Read
  readonly close: () => Promise<void>
}

/** The database must have the schema of this version, as it has while the daemon runs. */
export function openThreadReader(place: DatabasePlace): ThreadReader {
  if (place.engine === 'postgres') {
    const { storage, environment } = place.source
    return openPostgresReader(readConnectionSettings(storage, environment))
  }
  const { read, close } = openReadConnection(place.file)
  return { read, close: async () => close() }
}
