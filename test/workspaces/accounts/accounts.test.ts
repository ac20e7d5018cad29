/** Workspaces, permissions and the audit log. */
import t from 'tap'
import { UNLIMITED } from '../../../src/base/config/plans.js'
import { parseAddress } from '../../../src/base/mail/address.js'
import type { Write } from '../../../src/base/storage/db/write.js'
import {
  auditEntriesOfWorkspace,
  BEFORE_NEWEST,
  operatorActor,
  recordAuditEntry,
  removeOldAuditEntries,
} from '../../../src/workspaces/accounts/access/audit-log.js'
import { areas, permissionFor, requirePermission } from '../../../src/workspaces/accounts/access/permissions.js'
import { createKeylessPrincipal } from '../../../src/workspaces/accounts/access/principal.js'
import { hashKey, keyByHash } from '../../../src/workspaces/accounts/keys/api-keys.js'
import { countDomainCreation } from '../../../src/workspaces/accounts/limits/hourly-limit.js'
import {
  allWorkspaces,
  buildUniqueSlug,
  buildWorkspaceWithOwner,
  ownerOf,
} from '../../../src/workspaces/accounts/workspace/workspaces.js'
import { temporaryDatabase } from '../../helpers/database/database.js'

t.test('what a role and the scopes of a key allow', async (t) => {
  const table: Readonly<Record<string, readonly string[]>> = {
    'owner full': ['yes', 'yes', 'yes', 'yes', 'yes', 'yes', 'yes', 'yes'],
    'admin full': ['yes', 'yes', 'yes', 'yes', 'yes', 'no', 'yes', 'yes'],
    'member full': ['yes', 'yes', 'yes', 'no', 'yes', 'no', 'yes', 'yes'],
    'owner send': ['yes', 'own', 'no', 'no', 'no', 'no', 'no', 'no'],
    'owner read': ['no', 'yes', 'no', 'no', 'yes', 'no', 'no', 'yes'],
    'member read': ['no', 'yes', 'no', 'no', 'yes', 'no', 'no', 'yes'],
    'member send,read': ['yes', 'yes', 'no', 'no', 'yes', 'no', 'no', 'yes'],
    'owner ': ['no', 'no', 'no', 'no', 'no', 'no', 'no', 'no'],
  }
  for (const [who, expected] of Object.entries(table)) {
    const [role, scopes = ''] = who.split(' ')
    const principal = { role, scopes: scopes.split(',') } as Parameters<typeof permissionFor>[0]
    t.same(
      areas.map((area) => permissionFor(principal, area)),
      expected,
      who,
    )
  }
  const reader = { ...createKeylessPrincipal('ws_1'), scopes: ['read'] as const }
  t.throws(() => requirePermission(reader, 'send'), { name: 'Refusal', kind: 'forbidden', message: /scopes \(read\)/ })
  const member = { ...createKeylessPrincipal('ws_1'), scopes: ['full'] as const }
  t.throws(() => requirePermission(member, 'admin'), { name: 'Refusal', kind: 'forbidden', message: /role "member"/ })
})

t.test('a workspace is created with its owner and a key; a user can own several', async (t) => {
  const { database } = await temporaryDatabase(t)
  const first = await buildWorkspaceWithOwner(database.read, 'Café au lait', parseAddress('Owner@A.test'), 'pro', 1000)
  await database.commit(first.writes)
  const second = await buildWorkspaceWithOwner(
    database.read,
    'cafe AU lait!',
    parseAddress('owner@a.test'),
    UNLIMITED,
    2000,
  )
  await database.commit(second.writes)
  t.equal(second.userId, first.userId)
  t.match(await allWorkspaces(database.read, {}), [
    { slug: 'cafe-au-lait', plan: 'pro' },
    { slug: 'cafe-au-lait-2', plan: 'unlimited' },
  ])
  t.same(await ownerOf(database.read, { workspaceId: first.workspaceId }), [{ user_id: first.userId }])
  t.equal((await keyByHash(database.read, { hash: hashKey(second.key.secret) }))[0]?.workspace_id, second.workspaceId)
})

t.test('a slug is made of the words of the name, or of a fallback', async (t) => {
  const taken = new Set(['acme', 'acme-2', 'workspace'])
  const slug = (name: string): Promise<string> => buildUniqueSlug(name, async (candidate) => taken.has(candidate))
  t.same(await Promise.all(['Acme', 'a  B_c', 'Ünïcode Größe', '漢字', ' -- '].map(slug)), [
    'acme-3',
    'a-b-c',
    'unicode-grosse',
    'workspace-2',
    'workspace-2',
  ])
  t.equal((await slug('x'.repeat(200))).length, 50)
})

t.test('a workspace registers at most ten domains in any sixty minutes', async (t) => {
  const { database } = await temporaryDatabase(t)
  const hour = 3_600_000
  const begun = Date.UTC(2026, 10, 21)
  const count = (now: number, workspaceId = 'ws_1'): Promise<void> => countDomainCreation(database, workspaceId, now)
  for (let n = 0; n < 4; n += 1) await count(begun)
  const outcomes = await Promise.allSettled(Array.from({ length: 9 }, () => count(begun + 1000)))
  t.equal(outcomes.filter(({ status }) => status === 'fulfilled').length, 6)
  const refused = { name: 'Refusal', kind: 'rate-limited' }
  await t.rejects(count(begun + hour - 1), { ...refused, details: { retry_after: 1, limit: 10, remaining: 0 } })
  await t.rejects(count(begun + 2000), {
    ...refused,
    details: { retry_after: 3598, reset_at: '2026-11-21T01:00:00.000Z' },
  })
  await count(begun + 2000, 'ws_2')
  for (let n = 0; n < 4; n += 1) await count(begun + hour)
  await t.rejects(count(begun + hour), { ...refused, details: { retry_after: 1 } })
  for (let n = 0; n < 6; n += 1) await count(begun + hour + 1500)
  await t.rejects(count(begun - hour), { ...refused, details: { retry_after: 3600 } }, 'the clock was set back')
})

t.test('audit log entries are kept for the promised time and removed in small steps', async (t) => {
  const { database } = await temporaryDatabase(t)
  const act = (at: number): Write =>
    recordAuditEntry({ workspaceId: 'ws_1', actor: operatorActor, action: 'domain.deleted', target: 'd', at })
  await database.commit(Array.from({ length: 1200 }, (_, n) => act(n)))
  await database.commit([act(5000)])
  const left = async (): Promise<number> => (await database.read('select 1 from audit_log', [])).length
  t.equal(await removeOldAuditEntries(database, 1100), true)
  t.ok((await left()) > 600 && (await left()) < 900, String(await left()))
  while (await removeOldAuditEntries(database, 1100));
  t.equal(await left(), 101)
  t.match(await auditEntriesOfWorkspace(database.read, { workspaceId: 'ws_1', before: BEFORE_NEWEST, limit: 2 }), [
    { seq: 1201, at: 5000, actor: 'operator', details: '{}' },
    { seq: 1200 },
  ])
  t.same(await auditEntriesOfWorkspace(database.read, { workspaceId: 'ws_2', before: BEFORE_NEWEST, limit: 2 }), [])
})
