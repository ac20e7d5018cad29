/** Random writes to the tables whose triggers change other tables, apart from emails (`arbitrary-history.ts`). */
import fc from 'fast-check'
import type { Read } from '../../../src/base/storage/db/prepared.js'
import { type RowOf, rowOf } from './rows.js'

interface Target {
  readonly key: string
  /** The values of row `n` that matter. Its key is made of the table's name otherwise. */
  readonly given: (n: number) => Readonly<Record<string, unknown>>
  readonly changes: readonly string[]
}

const workspaceOf = (n: number): string => `ws_${n % 2}`

const target = (given: Target['given'], changes: readonly string[], key = 'id'): Target => ({ key, given, changes })
const ofWorkspace: Target['given'] = (n) => ({ workspace_id: workspaceOf(n) })
const ofUser: Target['given'] = (n) => ({ user_id: `users-${n % 4}` })

const targets: Readonly<Record<string, Target>> = {
  contacts: target(
    (n) => ({
      workspace_id: workspaceOf(n),
      audience_id: n % 3 === 0 ? null : `a${n % 3}`,
      subscribed: n % 4 > 0 ? 1 : 0,
    }),
    [
      'subscribed = 0',
      'subscribed = 1',
      `audience_id = 'a1'`,
      'audience_id = null',
      `audience_id = 'a2', subscribed = 1`,
    ],
  ),
  broadcast_messages: target(
    (n) => ({
      workspace_id: workspaceOf(n),
      broadcast_id: `broadcast_counts-${n % 2}`,
      unsubscribed_contact: `contacts-${n}`,
    }),
    ['unsubscribed_at = 1', 'unsubscribed_at = 2', 'unsubscribed_at = null', 'slots = null'],
    'email_id',
  ),
  broadcast_counts: target(ofWorkspace, [], 'broadcast_id'),
  inbound_emails: target(
    (n) => ({ workspace_id: workspaceOf(n), size: n * 100, envelope_to: '["\u00fc@a.test"]'.repeat(n % 3) }),
    [`status = 'processed'`],
  ),
  inbound_raw: target(
    (n) => ({ inbound_id: `inbound_emails-${n}`, workspace_id: workspaceOf(n) }),
    ['received_at = 1'],
    'inbound_id',
  ),
  greylist_entries: target((n) => ({ passes: n % 2 }), ['passes = 0', 'passes = passes + 1', 'seen_at = 5'], 'key'),
  bayes_tokens: target((n) => ({ workspace_id: workspaceOf(n), token: n }), ['spam = spam + 1'], 'token'),
  cached_files: target((n) => ({ workspace_id: workspaceOf(n), size: n }), ['size = size + 10', 'used_at = 1'], 'key'),
  api_keys: target(ofWorkspace, ['last_used_at = 5', 'last_used_at = 6', `name = 'other'`]),
  blocked_addresses: target((n) => ({ ...ofWorkspace(n), domain_id: 'd' }), ['domain_id = domain_id'], 'local_part'),
  dkim_keys: target(ofWorkspace, ['usable_at = 1', `public_record = 'other'`]),
  domains: target(ofWorkspace, ['next_check_at = 5', 'next_check_at = 6', 'inbound = 1']),
  erasures: target(() => ({ id: 'ws_1' }), ['asked_at = 7']),
  domain_reports: target((n) => ({ workspace_id: workspaceOf(n), domain_id: `domains-${n}` }), []),
  domain_report_rows: target((n) => ({ report_id: `domain_reports-${n}` }), [], 'report_id'),
  acme_certificates: target(() => ({}), ['valid_to = 2'], 'name'),
  acme_names: target(() => ({}), ['failures = 1'], 'name'),
  audience_removals: target(ofWorkspace, [], 'audience_id'),
  broadcasts: target(ofWorkspace, ['version = version + 1', 'expanded = 7']),
  exports: target(ofWorkspace, ['progress = 7', 'status = status']),
  hold_rules: target(ofWorkspace, [`cursor = 'x'`, 'ending = 1']),
  imports: target(ofWorkspace, ['done = 7', 'status = status']),
  webhook_removals: target(ofWorkspace, [], 'webhook_id'),
  webhook_replays: target(ofWorkspace, ['next_seq = 7', 'last_seq = 9']),
  webhooks: target(ofWorkspace, ['event_cursor = 7', 'updated_at = updated_at + 1', 'enabled = 0']),
  forward_rules: target(ofWorkspace, ['enabled = 1']),
  members: target(
    (n) => ({ workspace_id: workspaceOf(n), user_id: `users-${n}`, role: n % 3 === 0 ? 'member' : 'admin' }),
    [`role = 'member'`, `role = 'admin'`],
  ),
  invitations: target(
    (n) => ({ workspace_id: workspaceOf(n), invited_by: `users-${n}`, status: 'pending' }),
    [`status = 'accepted'`],
  ),
  service_state: target((n) => (n === 0 ? { key: 'operator_workspace' } : {}), [`value = 'other'`], 'key'),
  suppressions: target(ofWorkspace, [`reason = 'manual'`]),
  templates: target(ofWorkspace, ['version = 2']),
  workspaces: target(() => ({}), [`plan = 'other'`]),
  users: target(() => ({}), [`full_name = 'other'`]),
  sessions: target(ofUser, []),
  password_links: target(ofUser, [], 'token_hash'),
  recovery_codes: target(ofUser, [], 'code_hash'),
  known_browsers: target(ofUser, [], 'token_hash'),
}

interface Step {
  readonly table: string
  readonly kind: 'insert' | 'update' | 'delete'
  readonly rows: readonly number[]
  readonly change: number
}

/** All rows of some tables come first, so that later steps find something. */
export const arbitraryWrites: fc.Arbitrary<readonly Step[]> = fc.array(
  fc.record({
    table: fc.constantFrom(...Object.keys(targets)),
    kind: fc.constantFrom('insert', 'insert', 'update', 'update', 'delete'),
    rows: fc.uniqueArray(fc.nat(9), { minLength: 1, maxLength: 6 }),
    change: fc.nat(9),
  }),
  { minLength: 200, maxLength: 300 },
)

type Run = (sql: string, parameters: readonly unknown[]) => Promise<void>

/** `run` gets statements that both engines understand. */
export async function runWrites(steps: readonly Step[], read: Read, run: Run): Promise<void> {
  // Far ahead of the clock, so that only changes raise it.
  await run('update zone_serial set serial = 4000000000', [])
  const row = rowOf(read)
  for (const table of Object.keys(targets)) await insert(table, [0, 1, 2, 3, 4], row, run)
  for (const { table, kind, rows, change } of steps) {
    if (kind === 'insert') await insert(table, rows, row, run)
    else await changeRows({ table, rows, kind, change }, run)
  }
}

function keyOf(table: string, n: number): unknown {
  const { key = 'id', given } = targets[table] ?? {}
  return given?.(n)[key] ?? `${table}-${n}`
}

async function insert(table: string, rows: readonly number[], row: RowOf, run: Run): Promise<void> {
  const { key = 'id', given } = targets[table] ?? {}
  const writes = await Promise.all(rows.map((n) => row(table, { [key]: keyOf(table, n), ...given?.(n) })))
  const [head = '', one = ''] = writes[0]?.sql.split(' values ') ?? []
  await run(
    `${head} values ${rows.map(() => one).join(', ')} on conflict do nothing`,
    writes.flatMap(({ parameters }) => parameters),
  )
}

async function changeRows({ table, kind, rows, change }: Step, run: Run): Promise<void> {
  const { key = 'id', changes = [] } = targets[table] ?? {}
  const set = changes[change % Math.max(1, changes.length)]
  const condition = `where ${key} in (${rows.map(() => '?').join(', ')})`
  const keys = rows.map((n) => keyOf(table, n))
  if (kind === 'delete') await run(`delete from ${table} ${condition}`, keys)
  else if (set !== undefined) await run(`update ${table} set ${set} ${condition}`, keys)
}
