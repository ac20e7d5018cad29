/** Opens the database that the configuration names, for a command. */
import { mkdirSync } from 'node:fs'
import type { Config } from '../../../base/config/complete.js'
import { readPostgresEnvironment } from '../../../base/config/postgres-environment.js'
import { databaseFile, type OpenStore, openStore } from '../../../base/storage/open.js'

/** Readers of a command, which reads one thing after the other mostly. */
const CONNECTIONS = 2

export async function openConfiguredStore({ service, storage }: Config): Promise<OpenStore> {
  mkdirSync(service.data_dir, { recursive: true, mode: 0o700 })
  if (storage.url === '') return openStore({ file: databaseFile(service.data_dir), refuseEarlier: true })
  const { readConnectionSettings } = await import('../../../base/storage/postgres/connection-settings.js')
  const { openPostgresStore } = await import('../../../base/storage/postgres/open-postgres.js')
  const { url, password_file: passwordFile, ca_file: caFile, schema } = storage
  const settings = readConnectionSettings({ url, passwordFile, caFile, schema }, readPostgresEnvironment())
  return openPostgresStore({ settings, connections: CONNECTIONS })
}
