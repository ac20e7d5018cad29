/**
 * Deletes a workspace in two steps: one commit closes it, then many small commits erase it.
 *
 * Closing removes all that could still be used: the workspace, its members (so its API keys belong to no
 * member), pending invitations, its sending domains and their DKIM keys, its webhooks, its exports, and
 * running imports. These rows are few: people make them by hand. From that commit on the workspace cannot be
 * found, its exports cannot be downloaded, and nothing is accepted, signed or delivered to webhooks for it. A row in
 * `erasures` makes the daemon resume after a crash (`base/storage/maintenance/erasure-runner`).
 *
 * Erasing removes every row with its id. The list of tables is complete by its type: a new table with a
 * `workspace_id` does not compile until it is listed. An interrupted erasure can be started again. A table
 * with an index that begins with `workspace_id` is erased in portions; any other is walked by primary key
 * in slices, because such an index would cost every message.
 */
import { type RawBuilder, sql } from 'kysely'
import { keysOf } from '../../platform/records.js'
import type { Store } from '../db/database.js'
import { type Awaitable, prepareRead, prepareWrite, queryBuilder } from '../db/prepared.js'
import { OPERATOR_WORKSPACE_KEY } from '../db/service-state.js'
import type { Write } from '../db/write.js'
import type { Tables } from '../tables/tables.js'

type WorkspaceTable = {
  [Name in keyof Tables]: 'workspace_id' extends keyof Tables[Name] ? Name : never
}[keyof Tables]

interface ErasePlan {
  /** Columns of the primary key, without the workspace. */
  readonly key: string | readonly string[]
  readonly by: 'index' | 'slices'
  /** Rows of one commit, for tables whose rows may have tens of megabytes. */
  readonly portion?: number
}

const LARGE_ROW_PORTION = 20

const erasePlans = {
  // The queue comes first, so that no delivery is attempted for nothing.
  queue: { key: 'id', by: 'index' },
  hold_rules: { key: 'id', by: 'index' },
  imports: { key: 'id', by: 'index' },
  exports: { key: 'id', by: 'index' },
  export_chunks: { key: 'seq', by: 'index', portion: LARGE_ROW_PORTION },
  import_chunks: { key: 'seq', by: 'index', portion: LARGE_ROW_PORTION },
  api_keys: { key: 'id', by: 'index' },
  members: { key: 'id', by: 'index' },
  invitations: { key: 'id', by: 'index' },
  blocked_addresses: { key: 'local_part', by: 'index' },
  forward_rules: { key: 'id', by: 'index' },
  forward_targets: { key: 'address_key', by: 'index' },
  inbound_forwards: { key: ['inbound_id', 'target'], by: 'index' },
  domains: { key: 'id', by: 'index' },
  warm_ups: { key: ['subject', 'provider'], by: 'index' },
  domain_reports: { key: 'id', by: 'index', portion: LARGE_ROW_PORTION },
  mail_receivers: { key: ['domain', 'receiver'], by: 'index' },
  // They come after the reports, because the removal of these removes most of them.
  domain_report_rows: { key: 'report_id', by: 'slices', portion: LARGE_ROW_PORTION },
  dkim_keys: { key: 'id', by: 'slices' },
  recipients: { key: 'id', by: 'slices' },
  attempts: { key: 'seq', by: 'slices' },
  dkim_signatures: { key: 'email_id', by: 'slices' },
  recipient_copies: { key: 'recipient_id', by: 'slices', portion: LARGE_ROW_PORTION },
  unsubscribe_links: { key: 'recipient_id', by: 'slices' },
  html_edits: { key: 'email_id', by: 'slices' },
  links: { key: 'id', by: 'slices' },
  webhooks: { key: 'id', by: 'index' },
  webhook_cursors: { key: 'webhook_id', by: 'slices' },
  webhook_deliveries: { key: 'id', by: 'slices' },
  webhook_replays: { key: 'id', by: 'slices' },
  webhook_removals: { key: 'webhook_id', by: 'index' },
  broadcasts: { key: 'id', by: 'index' },
  broadcast_frames: { key: 'broadcast_id', by: 'slices', portion: LARGE_ROW_PORTION },
  broadcast_links: { key: 'broadcast_id', by: 'slices' },
  broadcast_messages: { key: 'email_id', by: 'slices' },
  broadcast_counts: { key: 'broadcast_id', by: 'slices' },
  raw_messages: { key: 'email_id', by: 'slices', portion: LARGE_ROW_PORTION },
  emails: { key: 'id', by: 'index' },
  email_counts: { key: 'status', by: 'index' },
  // They come after the emails, because the removal of these counts in them.
  email_metrics: { key: ['domain', 'tag', 'bucket'], by: 'index' },
  link_metrics: { key: ['domain', 'day', 'url'], by: 'index' },
  sms_codes: { key: 'id', by: 'index' },
  sms_parts: { key: 'sms_id', by: 'slices' },
  sms_holds: { key: ['prefix', 'held_at'], by: 'index' },
  doctor_findings: { key: ['node', 'check_name', 'subject'], by: 'index' },
  breaker_counts: { key: ['scope', 'subject', 'bucket'], by: 'index' },
  breaker_states: { key: ['scope', 'subject'], by: 'index' },
  usage: { key: 'kind', by: 'index' },
  events: { key: 'seq', by: 'index' },
  audit_log: { key: 'seq', by: 'index' },
  suppressions: { key: 'id', by: 'index' },
  audience_removals: { key: 'audience_id', by: 'index' },
  audiences: { key: 'id', by: 'index' },
  contacts: { key: 'id', by: 'index' },
  // They come after the contacts, because the removal of these updates them.
  contact_counts: { key: 'list', by: 'index' },
  inbound_totals: { key: 'bytes', by: 'index' },
  inbound_emails: { key: 'id', by: 'index' },
  inbound_raw: { key: 'inbound_id', by: 'slices', portion: LARGE_ROW_PORTION },
  idempotency: { key: 'key', by: 'index' },
  templates: { key: 'id', by: 'index' },
  cached_file_totals: { key: 'bytes', by: 'index' },
  cached_files: { key: 'key', by: 'index' },
  cached_file_chunks: { key: 'key', by: 'index', portion: LARGE_ROW_PORTION },
  bayes_learned: { key: 'seq', by: 'index' },
  bayes_messages: { key: 'verdict', by: 'index' },
  bayes_tokens: { key: 'token', by: 'index' },
  bayes_days: { key: 'day', by: 'index' },
  // They come after the tokens, because the removal of these updates them.
  bayes_counts: { key: 'tokens', by: 'index' },
} as const satisfies {
  readonly [Name in WorkspaceTable]: ErasePlan & { readonly key: keyof Tables[Name] | readonly (keyof Tables[Name])[] }
}

/** All tables whose rows belong to workspaces. */
export const workspaceTables = keysOf(erasePlans)

/**
 * Misses if the workspace is gone, or is the operator's, which is never closed. Users who belonged to no
 * other workspace are deleted with it, and what they have used.
 */
export function closeWorkspace(workspaceId: string, at: number): Write[] {
  const id = workspaceId
  const deleteRowsOf = (table: WorkspaceTable): Write =>
    write(sql`delete from ${sql.raw(table)} where workspace_id = ${id}`)
  const usage = sql`delete from usage where workspace_id in (select user_id from members where workspace_id = ${id}
    and not exists (select 1 from members as others where others.user_id = members.user_id and others.workspace_id <> ${id}))`
  const people = sql`delete from users where id in (select user_id from members where workspace_id = ${id}) and not exists
    (select 1 from members where members.user_id = users.id and members.workspace_id <> ${id})`
  const closed = sql`delete from workspaces where id = ${id} and not exists
    (select 1 from service_state where key = ${OPERATOR_WORKSPACE_KEY} and value = workspaces.id)`
  return [
    // It comes first: with it, reports about its domains stay for the small commits (`schema/domains.ts`).
    write(sql`insert into erasures (id, asked_at) values (${id}, ${at}) on conflict do nothing`),
    write(usage),
    write(people),
    ...(['members', 'domains', 'dkim_keys', 'webhooks', 'exports'] as const).map(deleteRowsOf),
    write(sql`delete from invitations where workspace_id = ${id} and status = 'pending'`),
    write(sql`delete from imports where workspace_id = ${id} and status = 'processing'`),
    write(sql`delete from broadcasts where workspace_id = ${id} and status <> 'draft' and finished_at is null`),
    { ...write(closed), rows: 1 },
  ]
}

function write(statement: RawBuilder<unknown>): Write {
  const { sql: text, parameters } = statement.compile(queryBuilder)
  return { sql: text, parameters }
}

/** Closed workspaces whose erasure is not known to be complete. */
export const listClosedWorkspaces = prepareRead<Record<never, never>>()(({ db }) =>
  db.selectFrom('erasures').select(['id', 'asked_at']).orderBy('asked_at').orderBy('id'),
)

/** All rows of the workspace are gone, and no new ones can come. */
export const endErasure = prepareWrite<{ id: string }>(({ db, slot }) =>
  db.deleteFrom('erasures').where('id', '=', slot('id')),
)

/** Rows of one commit. */
const ROW_PORTION = 200

type Key = string | number

/** Rejects with the reason of `signal` if it is aborted. */
export async function eraseWorkspace(database: Store, workspaceId: string, signal?: AbortSignal): Promise<void> {
  const commit: Store['commit'] = (writes) => {
    signal?.throwIfAborted()
    return database.commit(writes)
  }
  const watched = { read: database.read, commit }
  for (const [table, place] of Object.entries<ErasePlan>(erasePlans)) {
    await (place.by === 'index' ? eraseByIndex : eraseBySlices)(watched, table, place, workspaceId)
  }
  await database.commit([write(sql`delete from workspaces where id = ${workspaceId}`)])
}

async function eraseByIndex(
  { read, commit }: Store,
  table: string,
  { key, portion = ROW_PORTION }: ErasePlan,
  workspaceId: string,
): Promise<void> {
  const [rows, most] = [sql.raw(table), sql.lit(portion)]
  const some = sql`select 1 from ${rows} where workspace_id = ${workspaceId} limit 1`
  // As a pair, the rows are found by the primary key; with `workspace_id = ?` each portion would walk over all remaining rows.
  const columns = sql.join(['workspace_id', ...[key].flat()].map((name) => sql.raw(name)))
  const erase = sql`delete from ${rows} where (${columns}) in
    (select ${columns} from ${rows} where workspace_id = ${workspaceId} limit ${most})`
  while ((await readRows(read, some)).length > 0) await commit([write(erase)])
}

async function eraseBySlices(
  { read, commit }: Store,
  table: string,
  { key: name, portion = ROW_PORTION }: ErasePlan,
  workspaceId: string,
): Promise<void> {
  const [rows, key, most] = [sql.raw(table), sql.raw(String(name)), sql.lit(portion)]
  const first = sql<{ key: Key | null }>`select min(${key}) as key from ${rows}`
  let from: Key | null | undefined = (await readRows(read, first))[0]?.key
  while (from !== null && from !== undefined) {
    const next = sql<{
      key: Key
    }>`select ${key} as key from ${rows} where ${key} >= ${from} order by ${key} limit 1 offset ${most}`
    const to: Key | undefined = (await readRows(read, next))[0]?.key
    const erase = sql`delete from ${rows} where workspace_id = ${workspaceId} and ${key} >= ${from}`
    await commit([write(to === undefined ? erase : sql`${erase} and ${key} < ${to}`)])
    from = to
  }
}

function readRows<Row>(read: Store['read'], query: RawBuilder<Row>): Awaitable<Row[]> {
  const { sql: text, parameters } = query.compile(queryBuilder)
  return read(text, parameters)
}
