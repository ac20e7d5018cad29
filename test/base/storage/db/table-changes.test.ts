/** Changes of the tables that caches hold are numbered, and each cache is dropped when a table that it reads has changed. */
// Of SQLite alone: tables are listed in its words.
import t from 'tap'
import type { DomainName } from '../../../../src/base/mail/address.js'
import { parseAddress } from '../../../../src/base/mail/address.js'
import { announceChange } from '../../../../src/base/storage/db/change-acknowledgement.js'
import type { Read } from '../../../../src/base/storage/db/prepared.js'
import { setServiceState } from '../../../../src/base/storage/db/service-state.js'
import {
  countChange,
  dropFollowers,
  type FollowedTable,
  type FollowsTables,
  TableChanges,
} from '../../../../src/base/storage/db/table-changes.js'
import { followedSubjects, followedTables } from '../../../../src/base/storage/schema/changes.js'
import { SuppressionCache } from '../../../../src/records/suppressions/suppression-cache.js'
import { ApiKeyCache } from '../../../../src/workspaces/accounts/keys/api-key-cache.js'
import { touchKey } from '../../../../src/workspaces/accounts/keys/api-keys.js'
import { OperatorWorkspaceCache } from '../../../../src/workspaces/accounts/workspace/operator-workspace.js'
import { WorkspaceDirectory } from '../../../../src/workspaces/accounts/workspace/workspace-directory.js'
import { TemplateCache } from '../../../../src/workspaces/content/template-cache.js'
import { SigningKeyCache } from '../../../../src/workspaces/domains/dkim/signing-keys.js'
import { ForwardRuleCache } from '../../../../src/workspaces/domains/forwards/forward-rule-cache.js'
import { ReceivingDomainCache } from '../../../../src/workspaces/domains/receiving-domain-cache.js'
import { SendingDomainCache } from '../../../../src/workspaces/domains/sending-domain-cache.js'
import { recordReads } from '../../../helpers/database/bounded-reads.js'
import { temporaryDatabase } from '../../../helpers/database/database.js'
import { columnsOf, rowOf } from '../../../helpers/database/rows.js'

/** What `act` finds changed since the call before. */
async function changedIn(changes: TableChanges): Promise<readonly string[]> {
  let found: readonly string[] = []
  await changes.follow(async (changed) => {
    found = [...changed]
  })
  return found
}

async function openChanges(read: Read): Promise<TableChanges> {
  const changes = new TableChanges(read, [])
  await changedIn(changes)
  return changes
}

/** Everything that is numbered. */
const followed: readonly FollowedTable[] = [...followedTables, ...followedSubjects]

/** Changes that count, of tables of which not every change does. */
const decisive: Partial<Record<FollowedTable, string>> = {
  broadcasts: 'version = version + 1',
  exports: `status = case status when 'failed' then 'completed' else 'failed' end`,
  imports: `status = case status when 'failed' then 'completed' else 'failed' end`,
  webhooks: 'updated_at = updated_at + 1',
}

t.test('a row that is added, changed or removed counts as a change of its table, and of no other', async (t) => {
  const { database } = await temporaryDatabase(t)
  const { read, commit } = database
  const changes = await openChanges(read)
  const toRow = rowOf(read)
  for (const table of followedTables) {
    const key = (await columnsOf(read, table)).find(({ pk }) => pk > 0)?.name ?? 'id'
    const given = table === 'service_state' ? { key: 'operator_workspace' } : {}
    const withSubject = (which: typeof table): readonly string[] =>
      table === which ? [table, 'dropped_mail'] : [table]
    await commit([await toRow(table, given)])
    t.same(await changedIn(changes), withSubject('erasures'), `${table}: added`)
    await commit([{ sql: `update ${table} set ${decisive[table] ?? `${key} = ${key}`}`, parameters: [] }])
    t.same(await changedIn(changes), [table], `${table}: changed`)
    await commit([{ sql: `delete from ${table}`, parameters: [] }])
    t.same(await changedIn(changes), withSubject('domains'), `${table}: removed`)
  }
})

const progressing = ['broadcasts', 'exports', 'imports', 'webhooks', 'webhook_replays'] as const

t.test('what no cache decides by does not count', async (t) => {
  const { database } = await temporaryDatabase(t)
  const { read, commit } = database
  const toRow = rowOf(read)
  const rows = [
    await toRow('api_keys', { id: 'key' }),
    await toRow('domains', { id: 'domain', next_check_at: 5 }),
    ...(await Promise.all(progressing.map((table) => toRow(table, {})))),
  ]
  await commit([...rows, setServiceState({ key: 'last_run', value: '1' })])
  const changes = await openChanges(read)
  await commit([touchKey({ id: 'key', at: 5000 }), setServiceState({ key: 'last_run', value: '2' })])
  const noted = [
    'domains set next_check_at = 7',
    'broadcasts set expanded = 7',
    'exports set progress = 7',
    'imports set done = 7',
    'webhooks set event_cursor = 7, failing_since = 7',
    'webhook_replays set next_seq = 70',
  ]
  await commit(noted.map((change) => ({ sql: `update ${change}`, parameters: [] })))
  t.same(await changedIn(changes), [])
})

t.test('acts are numbered by the commits that make them', async (t) => {
  const { database } = await temporaryDatabase(t)
  const { read, commit } = database
  const changes = await openChanges(read)
  for (const subject of followedSubjects) {
    await commit([countChange(subject)])
    t.same(await changedIn(changes), [subject])
  }
  await commit([announceChange()])
  t.same(await changedIn(changes), ['commands'])
  await commit([await rowOf(read)('domains', { id: 'domain', next_check_at: 7 })])
  t.same(await changedIn(changes), ['domains'])
  await commit([{ sql: 'update domains set next_check_at = 6', parameters: [] }])
  t.same(await changedIn(changes), ['domain_checks'], 'a check that is due earlier')
})

t.test('changes are found again until they are in force', async (t) => {
  const { database } = await temporaryDatabase(t)
  const faults = { reads: 0 }
  const changes = new TableChanges(async (...query) => {
    if (faults.reads > 0) throw new Error('the database is away')
    return database.read<never>(...query)
  }, [])
  t.same(await changedIn(changes), followed, 'at first it is not known what has changed')
  await database.commit([await rowOf(database.read)('templates', {})])
  const failed = changes.follow(() => Promise.reject(new Error('not now')))
  await t.rejects(failed, { message: 'not now' })
  t.same(await changedIn(changes), ['templates'])
  faults.reads = 1
  const seen: FollowedTable[] = []
  const blind = changes.follow(async (changed) => void seen.push(...changed))
  await t.rejects(blind, { message: 'the database is away' })
  t.same(seen, followed, 'all, while it cannot be read')
  faults.reads = 0
  t.same(await changedIn(changes), [])
})

t.test('caches read no table that they do not follow', async (t) => {
  const { database } = await temporaryDatabase(t)
  const { read, commit } = database
  const domain = 'a.test' as DomainName
  const toRow = rowOf(read)
  await commit([
    await toRow('workspaces', { id: 'ws' }),
    await toRow('domains', { workspace_id: 'ws', domain, status: 'verified', inbound: 1, inbound_policy: '{}' }),
    setServiceState({ key: 'operator_workspace', value: 'ws' }),
  ])
  const keys = new ApiKeyCache(database, () => 1000)
  const operator = new OperatorWorkspaceCache({ read })
  const domains = new SendingDomainCache(read)
  const receiving = new ReceivingDomainCache({ read })
  const forwards = new ForwardRuleCache({ read })
  const signing = new SigningKeyCache(read)
  const templates = new TemplateCache(read)
  const suppressions = new SuppressionCache(read)
  const directory = await WorkspaceDirectory.open(read)
  const uses: readonly [Pick<FollowsTables, 'follows'>, () => unknown][] = [
    [keys, () => keys.authenticate('ph_unknown', '192.0.2.1').catch(() => null)],
    [operator, () => operator.find()],
    [domains, () => domains.find('ws', domain)],
    [receiving, () => receiving.find(domain)],
    [forwards, () => forwards.find('ws', domain)],
    [signing, () => signing.find('ws', domain)],
    [templates, () => templates.find('ws', 'template')],
    [suppressions, () => suppressions.isSuppressed('ws', parseAddress('a@b.test'))],
    [directory, () => directory.reload()],
  ]
  for (const [cache, use] of uses) {
    const made = await recordReads(async () => {
      await use()
    })
    const tables = made.flatMap(({ sql }) =>
      [...sql.matchAll(/(?:from|join) "(\w+)"/g)].map(([, table]) => table ?? ''),
    )
    t.same([...new Set(tables)].sort(), [...cache.follows].sort(), cache.constructor.name)
  }
})

t.test('a cache is dropped if one of its tables has changed', (t) => {
  const dropped: string[] = []
  const cache = (...follows: FollowedTable[]): FollowsTables => ({
    follows,
    drop: () => void dropped.push(follows.join(' ')),
  })
  dropFollowers([cache('domains', 'dkim_keys'), cache('templates'), cache('domains')], new Set(['domains', 'members']))
  t.same(dropped, ['domains dkim_keys', 'domains'])
  t.end()
})
