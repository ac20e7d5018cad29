/** Opens the database that the configuration names, for a command. */
import { mkdirSync } from 'node:fs'
import type { Config } from '../../../base/config/complete.js'
import type { OpenStore } from '../../../base/storage/db/database.js'
import { databaseFile, openStore } from '../../../base/storage/open.js'

/** Readers of a command, which reads one thing after the other mostly. */
const CONNECTIONS = 2

export async function openConfiguredStore({ service, storage }: Config): Promise<OpenStore> {
  mkdirSync(service.data_dir, { recursive: true, mode: 0o700 })
  if (storage.url === '') return openStore({ file: databaseFile(service.data_dir), refuseEarlier: true })
  const { connectionSettingsOf } = await import('../../../base/storage/postgres/configured-server.js')
  const { openPostgresStore } = await import('../../../base/storage/postgres/open-postgres.js')
  return openPostgresStore({ settings: connectionSettingsOf(storage), connections: CONNECTIONS })
}
