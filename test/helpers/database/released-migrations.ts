/** What released migrations make: `scripts/schemas --release` notes it, and later versions must make the same. */
import { createHash } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { migrations } from '../../../src/base/storage/db/migrations.js'
import { createSchema, migrateSchema } from '../../../src/base/storage/postgres/create-schema.js'

export const RELEASED_FILE = 'test/fixtures/schemas/released.json'

interface Digests {
  readonly sqlite: string
  readonly postgres: string
}

/** By the name of a migration: the first release that had it, and digests of its statements in both engines. */
type ReleasedMigrations = Readonly<Record<string, Digests & { readonly release: string }>>

export function readReleased(): ReleasedMigrations {
  return JSON.parse(readFileSync(RELEASED_FILE, 'utf8')) as ReleasedMigrations
}

const [baseline = ''] = Object.keys(migrations)

export function digestsOf(name: string): Digests {
  const own = { [name]: migrations[name] ?? [] }
  // What PostgreSQL has beside the tables of SQLite came with the first migration.
  const inPostgres = name === baseline ? createSchema(own) : migrateSchema(own)
  return { sqlite: digest(own[name] ?? []), postgres: digest(inPostgres) }
}

function digest(statements: readonly string[]): string {
  return createHash('sha256').update(JSON.stringify(statements)).digest('hex')
}

/** The statements that make the schema up to that migration in an empty one. */
export function schemaOfPostgres(last: string): readonly string[] {
  return createSchema(Object.fromEntries(Object.entries(migrations).filter(([name]) => name <= last)))
}

/** A sentence for each migration and engine that makes something else than when it was released. */
export function findChanged(released: ReleasedMigrations): readonly string[] {
  return Object.entries(released).flatMap(([name, then]) => {
    if (migrations[name] === undefined) return [`${name} was released with ${then.release} and is gone: ${cure}`]
    const now = digestsOf(name)
    return (['sqlite', 'postgres'] as const)
      .filter((engine) => now[engine] !== then[engine])
      .map((engine) => `${name} was released with ${then.release}, and makes something else in ${engine} now: ${cure}`)
  })
}

const cure =
  'installations have what it made, so undo the change (src/base/storage/schema/ and src/base/storage/postgres/ for the first one) and write it as a new migration (CONTRIBUTING.md, "Add a migration")'
