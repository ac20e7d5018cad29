/**
 * The statements that make the whole schema in an empty schema of a PostgreSQL database.
 *
 * Totals are counted by the schema in both engines, so that none of them can be forgotten: triggers of SQLite do it row by
 * row, and those of `totals/` for all rows of a statement.
 */
import { isForEngine, type Migrations } from '../db/migrate.js'
import { onlyForSpool } from '../schema/spool.js'
import { copyMarkTable } from './copy-mark.js'
import { nodeTables } from './node-rows.js'
import { timeInLogFunction } from './time-in-log.js'
import { cachedFileTotals } from './totals/cached-file-totals.js'
import { contactCounts } from './totals/contact-counts.js'
import { broadcastCounts, emailCounts } from './totals/email-counts.js'
import { emailMetrics, hitMetrics } from './totals/email-metrics.js'
import { greylistTotals, inboundTotals, tokenCounts } from './totals/inbound-totals.js'
import { linkMetrics } from './totals/link-metrics.js'
import type { Totals } from './totals/statement-triggers.js'
import { tableNumbers } from './totals/table-numbers.js'
import { translateToPostgres } from './translate-schema.js'

const totals: readonly Totals[] = [
  ...[emailCounts, broadcastCounts, emailMetrics, hitMetrics, linkMetrics, contactCounts],
  ...[inboundTotals, greylistTotals, tokenCounts, cachedFileTotals, tableNumbers],
]
const replaced = new Set(totals.flatMap(({ replaces }) => replaces))
const leftOut = new Set(onlyForSpool)

/** Kysely's tables of migrations, as it makes them itself. */
const migrationTables = [
  'create table kysely_migration (name varchar(255) primary key, timestamp varchar(255) not null)',
  'create table kysely_migration_lock (id varchar(255) primary key, is_locked integer not null default 0)',
  `insert into kysely_migration_lock (id) values ('migration_lock')`,
]

/**
 * The rows of daemons that work on the database, one for each of their writers: see `fence`. `losses` counts how often the
 * writer has found that commits were lost: see `LossWatch`. `folded` says that its totals are those of another: see
 * `TotalsFold`.
 */
const fence = `create table fence (
  node text collate "C" not null, place bigint not null, slot bigint generated always as identity unique,
  epoch bigint not null, batch bigint not null, holder text collate "C" not null, beat timestamptz not null,
  events_before bigint not null default 0, losses bigint not null default 0,
  folded boolean not null default false, primary key (node, place)) with (fillfactor = 50)`

/** A row for each turn that was taken: see `Write.turn`. A batch locks those that it names, and leaves them as they are. */
const turns = 'create table turns (name text collate "C" primary key)'

/**
 * Gives all statements in their order. The caller runs them in one transaction, with the schema in its `search_path`;
 * sessions that write later need that path too, because triggers name tables without their schema.
 *
 * What is not a migration belongs to the first one, as in a database of the first release: later migrations may change it.
 */
export function createSchema(migrations: Migrations): readonly string[] {
  const [first, ...later] = Object.entries(migrations)
  return [
    ...[...migrationTables, fence, ...nodeTables, turns, copyMarkTable, timeInLogFunction],
    ...migrateSchema(Object.fromEntries(first === undefined ? [] : [first])),
    ...totals.flatMap(({ statements }) => statements),
    ...migrateSchema(Object.fromEntries(later)),
  ]
}

/** Gives the statements of migrations that are not done. */
export function migrateSchema(pending: Migrations): readonly string[] {
  return Object.entries(pending).flatMap(([name, statements]) => [
    ...statements.filter(isNeeded).flatMap(translateToPostgres),
    noteMigration(name),
  ])
}

function isNeeded(statement: string): boolean {
  const [, trigger = ''] = /^\s*create trigger (\w+)/.exec(statement) ?? []
  return isForEngine(statement, 'postgres') && !leftOut.has(statement) && !replaced.has(trigger)
}

const noteMigration = (name: string): string => `insert into kysely_migration (name, timestamp)
  values ('${name}', to_char(now() at time zone 'utc', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"'))`
