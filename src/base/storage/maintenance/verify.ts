/**
 * `verify-data`: is the file sound, and are its rows consistent?
 *
 * Reads one snapshot on its own connection, so a running daemon does not disturb it. It takes long and blocks its
 * thread (it is for the command line); while it runs, the WAL grows and spool files are not swept.
 */
import { dirname } from 'node:path'
import SQLite from 'better-sqlite3'
import { openConnection } from '../db/connection.js'
import { lockDataFolder } from '../db/data-lock.js'
import { hasPendingMigrations, type Migrations, refuseUnknownMigrations } from '../db/migrate.js'
import { migrations as ours } from '../db/migrations.js'
import { spoolFolder } from '../db/spool-files.js'
import { toStorageError } from '../health/faults.js'
import { findSpoolProblems } from '../spool/check-spool.js'
import { holdSpool } from '../spool/hold-spool.js'
import { SERVICE_WORKSPACE } from '../tables/tables.js'
import { countChecks, notErasing } from './count-checks.js'
import { workspaceTables } from './erase.js'
import { countMetricsAgain, metricsChecks, rebuildMetrics } from './metrics-recount.js'

interface Problem {
  /** A stable word for machines. */
  readonly check: string
  readonly message: string
}

interface Check {
  readonly check: string
  /** What is wrong with the rows that `sql` selects. */
  readonly message: string
  /** Selects the ids of the offending rows. */
  readonly sql: string
}

const missingParent = (table: string, key: string, parent: string): string =>
  `select ${key} from ${table} where ${notErasing}
    and not exists (select 1 from ${parent} where ${parent}.id = ${table}.${key})`

const checks: readonly Check[] = [
  {
    check: 'queue-recipient',
    message: 'queue entries without an unsettled recipient',
    sql: `select id from queue where ${notErasing} and not exists (select 1 from recipients
      where recipients.id = queue.id and recipients.status in ('queued', 'scheduled'))`,
  },
  {
    check: 'queue-email',
    message: 'queue entries without their email',
    sql: missingParent('queue', 'email_id', 'emails'),
  },
  {
    check: 'recipient-queue',
    message: 'unsettled recipients without a queue entry',
    sql: `select id from recipients where ${notErasing} and status in ('queued', 'scheduled')
      and not exists (select 1 from queue where queue.id = recipients.id)`,
  },
  {
    check: 'email-raw',
    message: 'unsettled emails without their raw message',
    sql: `select id from emails where ${notErasing}
      and (status in ('scheduled', 'queued') or id in (select email_id from queue))
      and not exists (select 1 from raw_messages where email_id = emails.id)
      and not exists (select 1 from broadcast_messages join broadcast_frames using (broadcast_id)
        where email_id = emails.id and slots is not null)`,
  },
  {
    check: 'recipient-copy',
    message: 'unsettled recipients without their copy of the message',
    sql: `select queue.id from queue join emails on emails.id = queue.email_id
      where emails.has_copies = 1 and queue.workspace_id not in (select id from erasures)
      and exists (select 1 from recipients as other where other.email_id = queue.email_id and other.id < queue.id)
      and not exists (select 1 from recipient_copies where recipient_id = queue.id)`,
  },
  ...countChecks,
  ...metricsChecks,
  {
    check: 'contacts-audience',
    message: 'contacts without their audience',
    sql: `select id from contacts where ${notErasing} and audience_id is not null
      and not exists (select 1 from audiences where audiences.id = contacts.audience_id)
      and not exists (select 1 from audience_removals where audience_removals.audience_id = contacts.audience_id)`,
  },
  {
    check: 'domain-report-rows',
    message: 'reports about domains without their rows, or rows without their report',
    sql: `select id from domain_reports as report where ${notErasing}
        and not exists (select 1 from domain_report_rows as stored where stored.report_id = report.id)
      union all select report_id from domain_report_rows as stored where ${notErasing}
        and not exists (select 1 from domain_reports as report where report.id = stored.report_id)`,
  },
  {
    check: 'cached-file-chunks',
    message: 'cached files whose chunks are not all of them',
    sql: `select key from cached_files where size <> (
      select coalesce(sum(octet_length(bytes)), 0) from cached_file_chunks as chunk
      where chunk.workspace_id = cached_files.workspace_id and chunk.key = cached_files.key)`,
  },
  {
    check: 'export-chunks',
    message: 'exports whose chunks are not all of them',
    sql: `select id from exports where status <> 'failed' and bytes <> (
      select coalesce(sum(octet_length(chunk.bytes)), 0) from export_chunks as chunk
      where chunk.workspace_id = exports.workspace_id and chunk.export_id = exports.id
      and chunk.start_at < exports.bytes)`,
  },
  {
    check: 'bayes-counts',
    message: 'stored counts of learned tokens that differ from the rows',
    sql: `select workspace_id from (
        select workspace_id, count(*) as tokens from bayes_tokens group by workspace_id
        union all select workspace_id, -tokens from bayes_counts)
      group by workspace_id having sum(tokens) <> 0`,
  },
  ...(['recipients', 'raw_messages', 'dkim_signatures', 'recipient_copies', 'attempts'] as const).map((table) => ({
    check: `${table}-email`,
    message: `rows of ${table} without their email`,
    sql: missingParent(table, 'email_id', 'emails'),
  })),
  {
    check: 'inbound_raw-inbound',
    message: 'rows of inbound_raw without their inbound email',
    sql: missingParent('inbound_raw', 'inbound_id', 'inbound_emails'),
  },
  {
    check: 'inbound-raw',
    message: 'inbound emails to be processed without their raw message',
    sql: `select id from inbound_emails where ${notErasing} and status = 'received'
      and not exists (select 1 from inbound_raw where inbound_id = inbound_emails.id)`,
  },
  {
    check: 'blocked_addresses-domain',
    message: 'blocked addresses without their domain',
    sql: missingParent('blocked_addresses', 'domain_id', 'domains'),
  },
  {
    check: 'webhook_deliveries-webhook',
    message: 'deliveries without their webhook',
    sql: `${missingParent('webhook_deliveries', 'webhook_id', 'webhooks')}
      and not exists (select 1 from webhook_removals where webhook_removals.webhook_id = webhook_deliveries.webhook_id)`,
  },
  {
    check: 'webhook_replays-webhook',
    message: 'replays without their webhook',
    sql: missingParent('webhook_replays', 'webhook_id', 'webhooks'),
  },
  {
    check: 'webhook-delivery-time',
    message: 'deliveries that are pending without a next attempt, or have one and are not pending',
    sql: `select id from webhook_deliveries where (status = 'pending') <> (next_attempt_at is not null)`,
  },
  ...workspaceTables.map((table) => ({
    check: `${table}-workspace`,
    message: `rows of ${table} without their workspace`,
    // What an owner has used is counted under the id of the user.
    sql: `${missingParent(table, 'workspace_id', 'workspaces')} and workspace_id <> '${SERVICE_WORKSPACE}'
      and not exists (select 1 from users where users.id = ${table}.workspace_id)`,
  })),
]

/**
 * Returns an empty list if no problem was found. Throws `NewerDatabase`, `DevelopmentDatabase`, or a `StorageFault`.
 */
export function verifyData(file: string, migrations: Migrations = ours): Problem[] {
  try {
    return findProblems(file, migrations)
  } catch (error) {
    if (!(error instanceof SQLite.SqliteError)) throw error
    if (!/^SQLITE_(CORRUPT|NOTADB)/.test(error.code)) throw toStorageError(error)
    return [{ check: 'integrity', message: error.message }]
  }
}

const earlierVersion: Problem = {
  check: 'version',
  message: 'the database is whole, and of an earlier version: start the daemon, which updates it, and check again',
}

function findProblems(file: string, migrations: Migrations): Problem[] {
  const db = openConnection({ file })
  try {
    refuseUnknownMigrations(db, migrations)
    const damage = findIntegrityProblems(db)
    if (damage.length > 0) return damage
    if (hasPendingMigrations(db, migrations)) return [earlierVersion]
    return compareRows(db, file)
  } finally {
    db.close()
  }
}

function compareRows(db: SQLite.Database, file: string): Problem[] {
  const releaseSpool = holdSpool(file)
  try {
    return db.transaction(() => {
      countMetricsAgain(db)
      db.pragma('query_only = ON')
      const inconsistencies = checks.flatMap((check) => findInconsistencies(db, check))
      return [...inconsistencies, ...findSpoolProblems(db, spoolFolder(file))]
    })()
  } finally {
    releaseSpool()
  }
}

/**
 * Corrects stored metrics that differ from their emails. Nothing else can be repaired. No daemon may run. Returns the
 * problems that are left.
 */
export function repairData(file: string): Problem[] {
  const lock = lockDataFolder(dirname(file))
  try {
    const unusable = verifyData(file).filter(({ check }) => check === 'integrity' || check === 'version')
    if (unusable.length > 0) return unusable
    const db = openConnection({ file })
    try {
      rebuildMetrics(db)
    } finally {
      db.close()
    }
    return verifyData(file)
  } finally {
    lock.release()
  }
}

export function findIntegrityProblems(db: SQLite.Database): Problem[] {
  const lines = db.prepare<[], string>('pragma integrity_check').pluck().all()
  return lines.filter((line) => line !== 'ok').map((message) => ({ check: 'integrity', message }))
}

function findInconsistencies(db: SQLite.Database, { check, message, sql }: Check): Problem[] {
  const count = db.prepare<[], number>(`select count(*) from (${sql})`).pluck().get() ?? 0
  if (count === 0) return []
  const examples = db.prepare<[], string>(`${sql} order by 1 limit 3`).pluck().all()
  return [{ check, message: `${count} ${message}: ${examples.join(', ')}${count > 3 ? ', …' : ''}` }]
}
