/** The server that the configuration names. */
import type { Config } from '../../config/complete.js'
import { readPostgresEnvironment } from '../../config/postgres-environment.js'
import { nameHost, PostgresServers } from './connect.js'
import { type ConnectionSettings, readConnectionSettings } from './connection-settings.js'
import { hasTables } from './prepare-schema.js'

/** Whether the schema of the settings has no tables yet. */
export async function isEmptyServer(storage: Config['storage']): Promise<boolean> {
  const settings = connectionSettingsOf(storage)
  const connection = await new PostgresServers(settings).connect()
  try {
    return !(await hasTables(connection, settings.schema))
  } finally {
    await connection.close()
  }
}

/** Names the database for the log, without user and password. */
export function describeServer(storage: Config['storage']): string {
  const { hosts, database, schema } = connectionSettingsOf(storage)
  return `PostgreSQL at ${hosts.map(nameHost).join(' or ')}, database ${database}, schema ${schema}`
}

/** Throws `ConnectionSettingsError`. */
export function connectionSettingsOf(storage: Config['storage']): ConnectionSettings {
  const { url, password_file: passwordFile, ca_file: caFile, schema } = storage
  return readConnectionSettings({ url, passwordFile, caFile, schema }, readPostgresEnvironment())
}
