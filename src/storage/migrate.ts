/**
 * Brings the schema of an open connection up to date, or refuses a newer one.
 *
 * Invariant: all pending migrations are done or none. They are one transaction, which is also the lock:
 * if two processes start at once, the second waits and finds nothing to do. A database with an unknown
 * migration is left untouched.
 */

import type SQLite from 'better-sqlite3'
import { Kysely, SqliteDialect, sql } from 'kysely'
import { type Migration, Migrator } from 'kysely/migration'
import { NewerDatabase } from './schema-errors.js'

const migrationTable = 'kysely_migration'

export type Migrations = Readonly<Record<string, Migration>>

/** Called before and after each migration; `milliseconds` null: it begins. */
type OnMigration = (name: string, milliseconds: number | null) => void

/** The `up` of a migration that only runs statements, in their order. */
export function runStatements(statements: readonly string[]): Migration['up'] {
  return async (db) => {
    for (const statement of statements) await sql.raw(statement).execute(db)
  }
}

export function listAppliedMigrations(db: SQLite.Database): string[] {
  const present = db.prepare(`select 1 from sqlite_schema where type = 'table' and name = ?`).get(migrationTable)
  if (present === undefined) return []
  return db.prepare<[], string>(`select name from ${migrationTable} order by name`).pluck().all()
}

/** Empty: nothing to do. */
export function listPendingMigrations(db: SQLite.Database, migrations: Migrations): string[] {
  const applied = new Set(listAppliedMigrations(db))
  return Object.keys(migrations).filter((name) => !applied.has(name))
}

interface NewerNames {
  /** The file as the operator named it. */
  readonly name?: string
  /** What the operator can do, for the message. */
  readonly remedy?: () => string
}

export function refuseNewer(
  db: SQLite.Database,
  migrations: Migrations,
  { name = db.name, remedy }: NewerNames = {},
): void {
  const unknown = listAppliedMigrations(db).filter((applied) => !(applied in migrations))
  if (unknown.length > 0) throw new NewerDatabase(name, unknown, remedy?.())
}

/** Was the database made by an earlier version, and not opened by this one since? */
export function hasPendingMigrations(db: SQLite.Database, migrations: Migrations): boolean {
  return listAppliedMigrations(db).length < Object.keys(migrations).length
}

export async function migrate(db: SQLite.Database, migrations: Migrations, onMigration?: OnMigration): Promise<void> {
  refuseNewer(db, migrations)
  if (!hasPendingMigrations(db, migrations)) return
  db.exec('begin immediate')
  try {
    refuseNewer(db, migrations)
    await runPending(db, onMigration === undefined ? migrations : watchMigrations(migrations, onMigration))
    db.exec('commit')
  } catch (error) {
    if (db.inTransaction) db.exec('rollback')
    throw error
  }
}

function watchMigrations(migrations: Migrations, onMigration: OnMigration): Migrations {
  const watch = ([name, { up }]: [string, Migration]): [string, Migration] => [
    name,
    {
      up: async (db) => {
        onMigration(name, null)
        const begun = performance.now()
        await up(db)
        onMigration(name, Math.round(performance.now() - begun))
      },
    },
  ]
  return Object.fromEntries(Object.entries(migrations).map(watch))
}

async function runPending(db: SQLite.Database, migrations: Migrations): Promise<void> {
  const migrator = new Migrator({
    db: new Kysely<unknown>({ dialect: new SqliteDialect({ database: db }) }),
    provider: { getMigrations: async () => ({ ...migrations }) },
  })
  const { error } = await migrator.migrateToLatest()
  if (error !== undefined) throw error
}
