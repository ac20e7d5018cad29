/** A database in a temporary folder, closed and removed when the test ends. */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Test } from 'tap'
import type { Database } from '../../../src/base/storage/db/database.js'
import { type OpenOptions, openDatabase } from '../../../src/base/storage/open.js'
import { isOnPostgres } from './test-engine.js'

export function temporaryFolder(t: Pick<Test, 'teardown'>): string {
  const folder = mkdtempSync(join(tmpdir(), 'posthorn-test-'))
  t.teardown(() => rmSync(folder, { recursive: true, force: true }))
  return folder
}

/** Opens or creates the database `file`; it is closed before its folder is removed. */
export async function openTestDatabase(t: Test, options: OpenOptions): Promise<Database> {
  const database = await openDatabase(options)
  t.teardown(() => database.close())
  return database
}

interface TemporaryDatabase {
  readonly database: Database
  readonly file: string
  /** Opens it again, after it was closed or as a process beside the one that has it open. */
  readonly openAgain: () => Promise<Pick<Database, 'read' | 'commit'>>
}

/** On the engine that `POSTHORN_TEST_STORAGE` names. On PostgreSQL there is no `file`. */
export async function temporaryDatabase(t: Test, options: Omit<OpenOptions, 'file'> = {}): Promise<TemporaryDatabase> {
  const file = join(temporaryFolder(t), 'posthorn.db')
  if (isOnPostgres()) {
    const { openTestPostgres, openTestStore, temporaryPostgres } = await import('./postgres-database.js')
    const url = await temporaryPostgres(t)
    return { database: await openTestPostgres(t, url), file, openAgain: () => openTestStore(t, url) }
  }
  const open = () => openTestDatabase(t, { ...options, file })
  return { database: await open(), file, openAgain: open }
}
