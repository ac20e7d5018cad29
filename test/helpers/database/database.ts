/** A database in a temporary folder, closed and removed when the test ends. */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Test } from 'tap'
import type { Database } from '../../../src/base/storage/db/database.js'
import { type OpenOptions, openDatabase } from '../../../src/base/storage/open.js'

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
}

/** On the engine that `POSTHORN_TEST_STORAGE` names. On PostgreSQL there is no `file`. */
export async function temporaryDatabase(t: Test, options: Omit<OpenOptions, 'file'> = {}): Promise<TemporaryDatabase> {
  const file = join(temporaryFolder(t), 'posthorn.db')
  if (process.env['POSTHORN_TEST_STORAGE'] === 'postgres') {
    const { openTestPostgres, temporaryPostgres } = await import('./postgres-database.js')
    return { database: await openTestPostgres(t, await temporaryPostgres(t)), file }
  }
  return { database: await openTestDatabase(t, { ...options, file }), file }
}
