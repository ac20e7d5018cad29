/**
 * Erases a workspace: every row of every table that bears its id, then its own row.
 *
 * The list of tables is complete by its type: a new table with a `workspace_id` does
 * not compile until it stands here. Keys go first, so that nothing new comes in; the
 * workspace goes last, so that an erasure cut short is seen and can be asked for again.
 *
 * Works in small commits, so that mail flows on meanwhile. A table with an index led by
 * `workspace_id` gives its rows up in portions; any other is walked by its primary key
 * in slices (an index on it would cost every message).
 */
import type { Database } from './database.js'
import type { Tables } from './tables.js'

type WorkspaceTable = {
  [Name in keyof Tables]: 'workspace_id' extends keyof Tables[Name] ? Name : never
}[keyof Tables]

interface Place {
  readonly key: string
  readonly by: 'index' | 'slices'
}

const places = {
  api_keys: { key: 'id', by: 'index' },
  members: { key: 'id', by: 'index' },
  blocked_addresses: { key: 'local_part', by: 'index' },
  domains: { key: 'id', by: 'index' },
  dkim_keys: { key: 'id', by: 'slices' },
  queue: { key: 'id', by: 'index' },
  recipients: { key: 'id', by: 'slices' },
  attempts: { key: 'seq', by: 'slices' },
  dkim_signatures: { key: 'email_id', by: 'slices' },
  raw_messages: { key: 'email_id', by: 'slices' },
  emails: { key: 'id', by: 'index' },
  email_counts: { key: 'status', by: 'index' },
  usage: { key: 'kind', by: 'index' },
  events: { key: 'seq', by: 'index' },
  audit_log: { key: 'seq', by: 'index' },
  suppressions: { key: 'id', by: 'index' },
  audience_removals: { key: 'audience_id', by: 'index' },
  audiences: { key: 'id', by: 'index' },
  contacts: { key: 'id', by: 'index' },
  // After the contacts, whose removal it counts.
  contact_counts: { key: 'list', by: 'index' },
  inbound_emails: { key: 'id', by: 'index' },
  inbound_raw: { key: 'inbound_id', by: 'slices' },
  idempotency: { key: 'key', by: 'index' },
  templates: { key: 'id', by: 'index' },
  cached_file_totals: { key: 'bytes', by: 'index' },
  cached_files: { key: 'key', by: 'index' },
  cached_file_chunks: { key: 'key', by: 'index' },
  bayes_learned: { key: 'seq', by: 'index' },
  bayes_messages: { key: 'verdict', by: 'index' },
  bayes_tokens: { key: 'token', by: 'index' },
} as const satisfies { readonly [Name in WorkspaceTable]: Place & { readonly key: keyof Tables[Name] } }

/** Every table whose rows belong to workspaces. */
export const workspaceTables = Object.keys(places) as WorkspaceTable[]

/** Rows of one commit: a raw message may be 35 MB. */
const portion = 200

type Key = string | number

type ReadAndCommit = Pick<Database, 'read' | 'commit'>

export async function eraseWorkspace(database: ReadAndCommit, workspaceId: string): Promise<void> {
  for (const [table, { key, by }] of Object.entries<Place>(places)) {
    await (by === 'index' ? eraseByIndex : eraseBySlices)(database, table, key, workspaceId)
  }
  await database.commit([{ sql: 'delete from workspaces where id = ?', parameters: [workspaceId] }])
}

async function eraseByIndex(
  { read, commit }: ReadAndCommit,
  table: string,
  key: string,
  workspaceId: string,
): Promise<void> {
  const some = `select 1 from ${table} where workspace_id = ? limit 1`
  const sql = `delete from ${table} where workspace_id = ?
    and ${key} in (select ${key} from ${table} where workspace_id = ? limit ${portion})`
  while (read(some, [workspaceId]).length > 0) await commit([{ sql, parameters: [workspaceId, workspaceId] }])
}

async function eraseBySlices(
  { read, commit }: ReadAndCommit,
  table: string,
  key: string,
  workspaceId: string,
): Promise<void> {
  const first = `select min(${key}) as key from ${table}`
  const next = `select ${key} as key from ${table} where ${key} >= ? order by ${key} limit 1 offset ${portion}`
  const erase = `delete from ${table} where workspace_id = ? and ${key} >= ?`
  let from: Key | null | undefined = read<{ key: Key | null }>(first, [])[0]?.key
  while (from !== null && from !== undefined) {
    const to: Key | undefined = read<{ key: Key }>(next, [from])[0]?.key
    const slice = { sql: erase, parameters: [workspaceId, from] }
    const bounded = { sql: `${erase} and ${key} < ?`, parameters: [workspaceId, from, to] }
    await commit([to === undefined ? slice : bounded])
    from = to
  }
}
