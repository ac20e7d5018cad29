/** The server that the configuration names. */
import type { Config } from '../../config/complete.js'
import { readPostgresEnvironment } from '../../config/postgres-environment.js'
import { type ConnectionSettings, readConnectionSettings } from './connection-settings.js'

/** Throws `ConnectionSettingsError`. */
export function connectionSettingsOf(storage: Config['storage']): ConnectionSettings {
  const { url, password_file: passwordFile, ca_file: caFile, schema } = storage
  return readConnectionSettings({ url, passwordFile, caFile, schema }, readPostgresEnvironment())
}
