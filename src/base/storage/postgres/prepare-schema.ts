/**
 * Makes the tables in an empty schema of PostgreSQL, brings those of an earlier version up to date, or refuses those of a
 * version that this one does not know.
 *
 * Nodes are upgraded one after the other. So a migration is an expansion, with which nodes of the version before go on, or
 * a contraction, which waits until no such node lives; a node of the version before also begins on an expanded schema.
 *
 * Invariant: all pending migrations are done or none. They are one transaction. If two processes begin at once, one of
 * them fails, looks again, and finds nothing to do.
 */
import { version } from '../../platform/version.js'
import { isContraction, isExpansion, type Migrations } from '../db/migrate.js'
import { migrations as ours } from '../db/migrations.js'
import { NewerDatabase, OtherVersions } from '../db/schema-errors.js'
import { findUnfinishedCopy, refuseUnfinishedCopy } from './copy-mark.js'
import { createSchema, migrateSchema } from './create-schema.js'
import { LEASE_TIME } from './node-rows.js'
import type { PipelinedConnection } from './pipelined-connection.js'
import { ServerError } from './server-errors.js'

const appliedMigrations = `select name from kysely_migration order by name`
const findOtherVersions = `select nodes.name, nodes.version from nodes
  join fence on fence.node = nodes.name and fence.place = 0
  where nodes.version <> $1 and fence.holder <> '' and fence.beat > now() - $2 * interval '1 second' order by 1`
const findTables = `select to_regclass($1) is not null as present, to_regnamespace($2) is not null as has_schema`

/** Throws `NewerDatabase` or `UnfinishedCopy`. */
export async function prepareSchema(
  connection: PipelinedConnection,
  schema: string,
  migrations: Migrations = ours,
): Promise<void> {
  try {
    await bringUpToDate(connection, schema, migrations)
  } catch (error) {
    if (!(error instanceof ServerError)) throw error
    // Another process may have done it at the same time.
    const pending = await listPending(connection, schema, migrations).catch(() => null)
    if (pending === null || pending === 'no schema' || pending.length > 0) throw error
  }
}

export async function hasTables(connection: PipelinedConnection, schema: string): Promise<boolean> {
  const pending = await listPending(connection, schema, ours)
  return pending !== null && pending !== 'no schema'
}

async function bringUpToDate(connection: PipelinedConnection, schema: string, migrations: Migrations): Promise<void> {
  const pending = await listPending(connection, schema, migrations)
  if (pending === null || pending === 'no schema') {
    // Even if it exists, `if not exists` would need the right to make schemas.
    const statements = [...(pending === null ? [] : [`create schema "${schema}"`]), ...createSchema(migrations)]
    await connection.run(statements.map((sql) => ({ sql, parameters: [] })))
    return
  }
  const possible = pending.length === 0 ? [] : await leaveOutContractions(connection, pending)
  if (possible.length === 0) return
  const statements = migrateSchema(Object.fromEntries(possible))
  await connection.run(statements.map((sql) => ({ sql, parameters: [] })))
}

/** Nodes of another version that live may go on with an expanded schema, and with no other. */
async function leaveOutContractions(connection: PipelinedConnection, pending: Pending): Promise<Pending> {
  const [found] = await connection.run([{ sql: findOtherVersions, parameters: [version, LEASE_TIME] }])
  const others = found?.rows.map(({ name, version: other }) => `${name} (${other})`) ?? []
  if (others.length === 0) return pending
  const exclusive = pending.find(([name]) => !isExpansion(name) && !isContraction(name))
  if (exclusive !== undefined) throw new OtherVersions(exclusive[0], others)
  return pending.filter(([name]) => !isContraction(name))
}

type Pending = readonly (readonly [string, readonly string[]])[]

/** Migrations that are not done; null if there are no tables. */
async function listPending(
  connection: PipelinedConnection,
  schema: string,
  migrations: Migrations,
): Promise<Pending | 'no schema' | null> {
  const [found] = await connection.run([
    { sql: findTables, parameters: [`"${schema}".kysely_migration`, `"${schema}"`] },
  ])
  const { present, has_schema: hasSchema } = found?.rows[0] ?? {}
  if (present !== 1) return hasSchema === 1 ? null : 'no schema'
  const [listed, copies] = await connection.run([{ sql: appliedMigrations, parameters: [] }, findUnfinishedCopy])
  refuseUnfinishedCopy(copies, schema)
  const applied = new Set(listed?.rows.map(({ name }) => String(name)))
  const unknown = [...applied].filter((name) => !(name in migrations) && !isExpansion(name))
  if (unknown.length > 0) throw new NewerDatabase(`the schema ${schema}`, unknown)
  return Object.entries(migrations).filter(([name]) => !applied.has(name))
}
