/**
 * Brings the schema of an open connection up to date, or refuses a newer one.
 *
 * Invariant: all pending migrations are done or none. They are one transaction, which is also the lock:
 * if two processes start at once, the second waits and finds nothing to do. A database with an unknown
 * migration is left untouched.
 */

import { Kysely, type Migration, Migrator, SqliteDialect, sql } from 'kysely'
import type { SQLite } from './sqlite.js'

const migrationTable = 'kysely_migration'

export type Migrations = Readonly<Record<string, Migration>>

/** The `up` of a migration that only runs statements, in their order. */
export function runStatements(statements: readonly string[]): Migration['up'] {
  return async (db) => {
    for (const statement of statements) await sql.raw(statement).execute(db)
  }
}

/** The database was made by a newer version of this program. */
export class NewerDatabase extends Error {
  override name = 'NewerDatabase'

  constructor(file: string, unknown: readonly string[]) {
    super(`${file} was made by a newer version: this one does not know its migration ${unknown.join(', ')}`)
  }
}

export function listAppliedMigrations(db: SQLite.Database): string[] {
  const present = db.prepare(`select 1 from sqlite_schema where type = 'table' and name = ?`).get(migrationTable)
  if (present === undefined) return []
  return db.prepare<[], string>(`select name from ${migrationTable} order by name`).pluck().all()
}

/** `name`: the file as the operator named it. */
export function refuseNewer(db: SQLite.Database, migrations: Migrations, name = db.name): void {
  const unknown = listAppliedMigrations(db).filter((name) => !(name in migrations))
  if (unknown.length > 0) throw new NewerDatabase(name, unknown)
}

/** Was the database made by an earlier version, and not opened by this one since? */
export function hasPendingMigrations(db: SQLite.Database, migrations: Migrations): boolean {
  return listAppliedMigrations(db).length < Object.keys(migrations).length
}

export async function migrate(db: SQLite.Database, migrations: Migrations): Promise<void> {
  refuseNewer(db, migrations)
  if (!hasPendingMigrations(db, migrations)) return
  db.exec('begin immediate')
  try {
    refuseNewer(db, migrations)
    await runPending(db, migrations)
    db.exec('commit')
  } catch (error) {
    if (db.inTransaction) db.exec('rollback')
    throw error
  }
}

async function runPending(db: SQLite.Database, migrations: Migrations): Promise<void> {
  const migrator = new Migrator({
    db: new Kysely<unknown>({ dialect: new SqliteDialect({ database: db }) }),
    provider: { getMigrations: async () => ({ ...migrations }) },
  })
  const { error } = await migrator.migrateToLatest()
  if (error !== undefined) throw error
}
