/**
 * The database of a test daemon, on the engine that `POSTHORN_TEST_STORAGE` names: a file in its data folder, or a database of
 * PostgreSQL whose address is noted in its folder.
 */
import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Test } from 'tap'
import type { Config } from '../../../src/base/config/complete.js'
import type { Database, OpenStore, Store } from '../../../src/base/storage/db/database.js'
import { databaseFile, openStore } from '../../../src/base/storage/open.js'
import { copySeed, type SeedAccounts, seedDatabase } from './seed-data.js'
import { isOnPostgres } from './test-engine.js'

/** The address of the database on PostgreSQL. Null on SQLite, which needs none. A folder that had one before keeps it. */
export async function findStorageUrl(t: Pick<Test, 'teardown'>, folder: string): Promise<string | null> {
  if (!isOnPostgres()) return null
  const note = join(folder, 'storage-url')
  if (existsSync(note)) return readFileSync(note, 'utf8')
  const { temporaryPostgres } = await import('./postgres-database.js')
  const url = await temporaryPostgres(t)
  writeFileSync(note, url)
  return url
}

/** Prepares the data folder and the database as `seed-data` describes. */
export async function prepareSeed(config: Config): Promise<SeedAccounts> {
  if (config.storage.url === '') return copySeed(databaseFile(config.service.data_dir))
  const store = await openAsCommand(config)
  try {
    await copySeed(databaseFile(config.service.data_dir))
    return await seedDatabase(store)
  } finally {
    await store.close()
  }
}

/** The daemon's database, for statements that tests write out. */
export async function withPlainStatements(database: Database): Promise<Database> {
  if (database.place.engine === 'sqlite') return database
  const { withPlainParameters } = await import('./postgres-database.js')
  return { ...database, ...withPlainParameters(database) }
}

/** Works on the daemon's database over a separate connection, as another process does. */
export async function withOwnDatabase<T>(
  app: { readonly config: Config },
  work: (database: Store) => Promise<T>,
): Promise<T> {
  const store = await openAsCommand(app.config)
  try {
    return await work(store)
  } finally {
    await store.close()
  }
}

async function openAsCommand({ storage, service }: Config): Promise<OpenStore> {
  if (storage.url === '') return openStore({ file: databaseFile(service.data_dir) })
  const { openPlainStore } = await import('./postgres-database.js')
  return openPlainStore(storage.url)
}
