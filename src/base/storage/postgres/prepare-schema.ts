/**
 * Makes the tables in an empty schema of PostgreSQL, brings those of an earlier version up to date, or refuses those of a
 * version that this one does not know.
 *
 * Invariant: all pending migrations are done or none. They are one transaction. If two processes begin at once, one of
 * them fails, looks again, and finds nothing to do.
 */
import { migrations } from '../db/migrations.js'
import { NewerDatabase } from '../db/schema-errors.js'
import { findUnfinishedCopy, refuseUnfinishedCopy } from './copy-mark.js'
import { createSchema, migrateSchema } from './create-schema.js'
import type { PipelinedConnection } from './pipelined-connection.js'
import { ServerError } from './server-errors.js'

const appliedMigrations = `select name from kysely_migration order by name`
const findTables = `select to_regclass($1) is not null as present, to_regnamespace($2) is not null as has_schema`

/** Throws `NewerDatabase` or `UnfinishedCopy`. */
export async function prepareSchema(connection: PipelinedConnection, schema: string): Promise<void> {
  try {
    await bringUpToDate(connection, schema)
  } catch (error) {
    if (!(error instanceof ServerError)) throw error
    // Another process may have done it at the same time.
    const pending = await listPending(connection, schema).catch(() => null)
    if (pending === null || pending === 'no schema' || pending.length > 0) throw error
  }
}

export async function hasTables(connection: PipelinedConnection, schema: string): Promise<boolean> {
  const pending = await listPending(connection, schema)
  return pending !== null && pending !== 'no schema'
}

async function bringUpToDate(connection: PipelinedConnection, schema: string): Promise<void> {
  const pending = await listPending(connection, schema)
  if (pending === null || pending === 'no schema') {
    // Even if it exists, `if not exists` would need the right to make schemas.
    const statements = [...(pending === null ? [] : [`create schema "${schema}"`]), ...createSchema(migrations)]
    await connection.run(statements.map((sql) => ({ sql, parameters: [] })))
  } else if (pending.length > 0) {
    const statements = migrateSchema(Object.fromEntries(pending))
    await connection.run(statements.map((sql) => ({ sql, parameters: [] })))
  }
}

/** Migrations that are not done; null if there are no tables. */
async function listPending(
  connection: PipelinedConnection,
  schema: string,
): Promise<readonly (readonly [string, readonly string[]])[] | 'no schema' | null> {
  const [found] = await connection.run([
    { sql: findTables, parameters: [`"${schema}".kysely_migration`, `"${schema}"`] },
  ])
  const { present, has_schema: hasSchema } = found?.rows[0] ?? {}
  if (present !== 1) return hasSchema === 1 ? null : 'no schema'
  const [listed, copies] = await connection.run([{ sql: appliedMigrations, parameters: [] }, findUnfinishedCopy])
  refuseUnfinishedCopy(copies, schema)
  const applied = new Set(listed?.rows.map(({ name }) => String(name)))
  const unknown = [...applied].filter((name) => !(name in migrations))
  if (unknown.length > 0) throw new NewerDatabase(`the schema ${schema}`, unknown)
  return Object.entries(migrations).filter(([name]) => !applied.has(name))
}
