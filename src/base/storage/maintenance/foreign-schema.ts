/**
 * Finds triggers and views of a database that our migrations do not make.
 *
 * They are programs: a trigger of a file from elsewhere would run with each write of the daemon. The
 * expected ones come from an empty database with the same migrations.
 */

import SQLite from 'better-sqlite3'
import { listAppliedMigrations, type Migrations, migrate } from '../db/migrate.js'

/** Their names. */
export async function findForeignPrograms(db: SQLite.Database, migrations: Migrations): Promise<readonly string[]> {
  const applied = new Set(listAppliedMigrations(db))
  const known = Object.fromEntries(Object.entries(migrations).filter(([name]) => applied.has(name)))
  const own = new SQLite(':memory:')
  try {
    await migrate(own, known)
    const expected = new Set(listPrograms(own).map(({ form }) => form))
    return listPrograms(db).flatMap(({ name, form }) => (expected.has(form) ? [] : [name]))
  } finally {
    own.close()
  }
}

interface Program {
  readonly name: string
  /** Its statement without quotes and spaces, which versions of SQLite write differently after a rename. */
  readonly form: string
}

function listPrograms(db: SQLite.Database): readonly Program[] {
  return db
    .prepare<[], { name: string; sql: string }>(
      `select name, sql from sqlite_schema where type in ('trigger', 'view') order by name`,
    )
    .all()
    .map(({ name, sql }) => ({ name, form: sql.replace(/["\s]/g, '') }))
}
