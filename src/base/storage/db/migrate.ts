/**
 * Brings the schema of an open connection up to date, or refuses one that this version does not know.
 *
 * Invariant: all pending migrations are done or none. They are one transaction, which is also the lock:
 * if two processes start at once, the second waits and finds nothing to do. A database with an unknown
 * migration is left untouched.
 */

import type SQLite from 'better-sqlite3'
import { Kysely, SqliteDialect } from 'kysely'
import { type Migration, Migrator } from 'kysely/migration'
import { DevelopmentDatabase, NewerDatabase } from './schema-errors.js'

const migrationTable = 'kysely_migration'

/**
 * The statements of each migration by its name, in their order. They are data, so that they can be sent to a thread.
 */
export type Migrations = Readonly<Record<string, readonly string[]>>

/** A program of the version before works on a schema that such a migration has changed. */
export function isExpansion(name: string): boolean {
  return /^\d{4}-expand-/.test(name)
}

/** It removes what no program needs any more once all are of this version. */
export function isContraction(name: string): boolean {
  return /^\d{4}-contract-/.test(name)
}

/** Marks a statement that only one engine runs: its first line is `-- sqlite` or `-- postgres`. */
export function isForEngine(statement: string, engine: 'sqlite' | 'postgres'): boolean {
  const [, marked = engine] = /^-- (sqlite|postgres)\n/.exec(statement) ?? []
  return marked === engine
}

/** Called before and after each migration. `milliseconds` is null when it begins. */
type OnMigration = (name: string, milliseconds: number | null) => void

export function listAppliedMigrations(db: SQLite.Database): string[] {
  const present = db.prepare(`select 1 from sqlite_schema where type = 'table' and name = ?`).get(migrationTable)
  if (present === undefined) return []
  return db.prepare<[], string>(`select name from ${migrationTable} order by name`).pluck().all()
}

/** Empty if nothing to do. */
export function listPendingMigrations(db: SQLite.Database, migrations: Migrations): string[] {
  const applied = new Set(listAppliedMigrations(db))
  return Object.keys(migrations).filter((name) => !applied.has(name))
}

interface Described {
  /** The file as the operator named it. */
  readonly name?: string
  /** What the operator can do about a database of a newer version. The message says it. */
  readonly remedy?: () => string
  /** The same, about one of a development build. */
  readonly developmentRemedy?: string
}

const startAnew =
  'Move its data folder away and run "posthorn setup" for a new one, or go on with the build that made it'

/**
 * Throws `NewerDatabase`, or `DevelopmentDatabase`: every release begins with the same first migration, so a database that
 * lacks it and has others was made before the first release.
 */
export function refuseUnknownMigrations(
  db: SQLite.Database,
  migrations: Migrations,
  { name = db.name, remedy, developmentRemedy = startAnew }: Described = {},
): void {
  const applied = listAppliedMigrations(db)
  const [baseline = ''] = Object.keys(migrations)
  if (applied.length > 0 && !applied.includes(baseline)) {
    throw new DevelopmentDatabase(name, applied, developmentRemedy)
  }
  const unknown = applied.filter((one) => !(one in migrations))
  if (unknown.length > 0) throw new NewerDatabase(name, unknown, remedy?.())
}

/** Was the database made by an earlier version, and not opened by this one since? */
export function hasPendingMigrations(db: SQLite.Database, migrations: Migrations): boolean {
  return listAppliedMigrations(db).length < Object.keys(migrations).length
}

export async function migrate(db: SQLite.Database, migrations: Migrations, onMigration?: OnMigration): Promise<void> {
  refuseUnknownMigrations(db, migrations)
  if (!hasPendingMigrations(db, migrations)) return
  db.exec('begin immediate')
  try {
    refuseUnknownMigrations(db, migrations)
    await runPending(db, migrations, onMigration)
    db.exec('commit')
  } catch (error) {
    if (db.inTransaction) db.exec('rollback')
    throw error
  }
}

async function runPending(db: SQLite.Database, migrations: Migrations, onMigration?: OnMigration): Promise<void> {
  const runnable = Object.entries(migrations).map(([name, statements]): [string, Migration] => [
    name,
    { up: () => runMigration(db, name, statements, onMigration) },
  ])
  const migrator = new Migrator({
    db: new Kysely<unknown>({ dialect: new SqliteDialect({ database: db }) }),
    provider: { getMigrations: async () => Object.fromEntries(runnable) },
  })
  const { error } = await migrator.migrateToLatest()
  if (error !== undefined) throw error
}

async function runMigration(
  db: SQLite.Database,
  name: string,
  statements: readonly string[],
  onMigration?: OnMigration,
): Promise<void> {
  onMigration?.(name, null)
  const begun = performance.now()
  for (const statement of statements) if (isForEngine(statement, 'sqlite')) db.exec(statement)
  onMigration?.(name, Math.round(performance.now() - begun))
}
