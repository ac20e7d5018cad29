/**
 * The mark that a copy from SQLite leaves in its schema.
 *
 * Invariant: while the mark says that a copy is unfinished, no program opens the database, and a command that has it open
 * writes nothing. The mark of a finished copy goes when a daemon starts or a command writes, so data that has a mark is a
 * mere copy, and may be copied anew.
 */
import { UnfinishedCopy } from '../db/schema-errors.js'
import type { Statement, StatementResult } from './pipeline-run.js'

export const copyMarkTable = `create table copying (
  id bigint primary key check (id = 1), source text collate "C" not null, started_at timestamptz not null,
  finished_at timestamptz)`

export const findUnfinishedCopy: Statement = {
  sql: `select to_char(started_at, 'YYYY-MM-DD"T"HH24:MI:SS"Z"') as since from copying where finished_at is null`,
  parameters: [],
}

/** Throws `UnfinishedCopy` if that was found. */
export function refuseUnfinishedCopy(found: StatementResult | undefined, schema: string): void {
  const [copy] = found?.rows ?? []
  if (copy !== undefined) throw new UnfinishedCopy(schema, String(copy['since']))
}

/** Fails as a miss while a copy is unfinished. */
export const requireNoCopy: Statement = {
  sql: 'select 1 / (count(*) = 0)::integer from copying where finished_at is null',
  parameters: [],
}

/**
 * Commits of commands follow one another, and a copy begins between two of them: from before this statement to the end.
 * Commands write in one slot, in which events become visible in the order of their numbers.
 */
export const waitForCommands: Statement = {
  sql: 'select id from kysely_migration_lock for update',
  parameters: [],
}

export const forgetCopy: Statement = { sql: 'delete from copying where finished_at is not null', parameters: [] }
