/** Workspaces and keys: who is let in, from where, until when, and how soon a revocation counts. */
import t from 'tap'
import {
  auditEntriesOfWorkspace,
  BEFORE_NEWEST,
  operatorActor,
  recordAuditEntry,
  removeOldAuditEntries,
} from '../../src/accounts/audit-log.js'
import { createApiKeyCache } from '../../src/accounts/keys/api-key-cache.js'
import {
  generateKey,
  hashKey,
  insertKey,
  keyByHash,
  keysOfWorkspace,
  revokeKey,
} from '../../src/accounts/keys/api-keys.js'
import { authenticateKey, type KeyWithRole } from '../../src/accounts/keys/key-check.js'
import { narrowLimits } from '../../src/accounts/keys/key-limits.js'
import { countDomainCreation } from '../../src/accounts/limits/domain-creations.js'
import { areas, permissionFor, requirePermission } from '../../src/accounts/permissions.js'
import { createKeylessPrincipal } from '../../src/accounts/principal.js'
import { buildUniqueSlug } from '../../src/accounts/slug.js'
import { allWorkspaces, buildWorkspaceWithOwner, ownerOf } from '../../src/accounts/workspaces.js'
import { UNLIMITED } from '../../src/config/plans.js'
import { parseAddress } from '../../src/mail/address.js'
import { type Write, WriteConflict } from '../../src/storage/writer/write.js'
import { temporaryDatabase } from '../helpers/database.js'
import { waitUntil } from '../helpers/wait-until.js'

const made = generateKey({ workspaceId: 'ws_1', userId: 'u', name: 'n', now: 1000 })

t.test('a key is a secret of which only a hash is kept', async (t) => {
  t.match(made.secret, /^ph_[A-Za-z0-9_-]{43}$/)
  t.equal(made.row.key_hash, hashKey(made.secret))
  t.equal(made.row.key_prefix, made.secret.slice(0, 11))
  t.notOk(JSON.stringify(made.row).includes(made.secret))
  t.not(generateKey({ workspaceId: 'ws_1', userId: 'u', name: 'n', now: 1000 }).secret, made.secret)
  for (const name of ['', '  ', 'x'.repeat(101)]) {
    t.throws(() => generateKey({ workspaceId: 'ws_1', userId: 'u', name, now: 1 }), {
      name: 'Refusal',
      kind: 'invalid-parameter',
    })
  }
})

t.test('who may act with a key', async (t) => {
  const row = (more: Partial<KeyWithRole>): KeyWithRole => ({ ...made.row, role: 'member', ...more })
  const cases: readonly (readonly [
    what: string,
    row: KeyWithRole | undefined,
    from: string,
    refusal: RegExp | null,
  ])[] = [
    ['a full key', row({}), '192.0.2.1', null],
    ['an unknown one', undefined, '192.0.2.1', /wrong or revoked/],
    ['a revoked one', row({ revoked_at: 1 }), '192.0.2.1', /wrong or revoked/],
    ['one that ends later', row({ expires_at: 5001 }), '192.0.2.1', null],
    ['one that ends now', row({ expires_at: 5000 }), '192.0.2.1', /expired/],
    ['one of somebody who is no member any more', row({ role: null }), '192.0.2.1', /wrong or revoked/],
    ['from its network', row({ allowed_networks: '["192.0.2.0/24"]' }), '192.0.2.9', null],
    ['from its network, mapped', row({ allowed_networks: '["192.0.2.0/24"]' }), '::ffff:192.0.2.9', null],
    ['from a second network', row({ allowed_networks: '["10.0.0.0/8","2001:db8::/32"]' }), '2001:db8::1', null],
    ['from elsewhere', row({ allowed_networks: '["192.0.2.0/24"]' }), '198.51.100.1', /this address/],
    ['from nowhere', row({ allowed_networks: '["192.0.2.0/24"]' }), '', /this address/],
  ]
  for (const [what, key, from, refusal] of cases) {
    const act = (): unknown => authenticateKey(key, from, 5000)
    if (refusal === null) t.match(act(), { workspaceId: 'ws_1', keyId: made.row.id }, what)
    else t.throws(act, { name: 'Refusal', message: refusal }, what)
  }
})

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

t.test('the ring remembers keys, judges them each time, and forgets when told', async (t) => {
  const { database } = await temporaryDatabase(t)
  const begun = Date.UTC(2026, 10, 21)
  let now = begun
  let reads = 0
  const read: typeof database.read = (sql, parameters) => {
    reads += 1
    return database.read(sql, parameters)
  }
  const ring = createApiKeyCache({ read, commit: database.commit, clock: () => now })
  const { workspaceId, userId, writes } = buildWorkspaceWithOwner(
    database.read,
    'Own',
    parseAddress('o@a.test'),
    UNLIMITED,
    begun,
  )
  await database.commit(writes)
  const key = generateKey({
    workspaceId,
    userId,
    name: 'n',
    now,
    expiresAt: begun + 900_000,
    allowedDomains: ['a.test'],
  })
  t.throws(() => ring.authenticate(key.secret, '192.0.2.1'), { name: 'Refusal', kind: 'bad-credentials' })
  await database.commit([insertKey(key.row)])
  const principal = ring.authenticate(key.secret, '192.0.2.1')
  t.same(
    principal,
    { workspaceId, keyId: key.row.id, userId, role: 'owner', scopes: ['full'], allowedDomains: ['a.test'] },
    'an unknown key is not remembered',
  )
  const before = reads
  for (let n = 0; n < 10; n += 1) ring.authenticate(key.secret, '192.0.2.1')
  t.equal(ring.isStillValid(principal), true)
  t.equal(reads, before, 'from memory')

  const lastUsed = (): number | null => keyByHash(database.read, { hash: key.row.key_hash })[0]?.last_used_at ?? null
  await waitUntil('the use is noted', () => lastUsed() === begun)
  now = begun + 59_999
  ring.authenticate(key.secret, '192.0.2.1')
  now = begun + 60_000
  ring.authenticate(key.secret, '192.0.2.1')
  await waitUntil('the next use is noted', () => lastUsed() === begun + 60_000)

  now = begun + 900_000
  t.equal(ring.isStillValid(principal), false, 'expired')
  t.throws(() => ring.authenticate(key.secret, '192.0.2.1'), /expired/)
  now = begun + 70_000
  await database.commit([revokeKey({ workspaceId, id: key.row.id, at: now })])
  ring.drop()
  t.equal(ring.isStillValid(principal), false, 'revoked')
  t.throws(() => ring.authenticate(key.secret, '192.0.2.1'), /revoked/)
  t.equal(ring.isStillValid({ ...principal, keyId: 'nothing' }), false)
  t.equal(ring.isStillValid({ ...principal, keyId: null }), true, 'a trusted network has no key to lose')
})

t.test('the times of last use in memory are bounded', async (t) => {
  const written: string[] = []
  const owner = { ...made.row, role: 'owner' as const, allowed_networks: '[]', scopes: '["full"]' }
  const ring = createApiKeyCache({
    read: <Row>(_sql: string, [hash]: readonly unknown[]) => [{ ...owner, id: String(hash), key_hash: hash }] as Row[],
    commit: async ([write]) => void written.push(String(write?.parameters)),
    clock: () => 1_000_000,
  })
  for (let n = 0; n < 10_001; n += 1) ring.authenticate(`key ${n}`, '192.0.2.1')
  t.equal(written.length, 10_001)
  ring.authenticate('key 0', '192.0.2.1')
  t.equal(written.length, 10_002, 'the oldest are forgotten, and noted once more')
  ring.authenticate('key 10000', '192.0.2.1')
  t.equal(written.length, 10_002, 'the newest are not')
})

t.test('a key that was revoked is forgotten, and no other with it', async (t) => {
  const { database } = await temporaryDatabase(t)
  const asked: string[] = []
  const read: typeof database.read = (sql, parameters) => {
    asked.push(String(parameters[0]))
    return database.read(sql, parameters)
  }
  const ring = createApiKeyCache({ read, commit: database.commit, clock: () => 1000 })
  const founded = buildWorkspaceWithOwner(database.read, 'Own', parseAddress('o@a.test'), UNLIMITED, 500)
  const { workspaceId, userId } = founded
  const [lost, kept] = [1, 2].map((n) => generateKey({ workspaceId, userId, name: `key ${n}`, now: 500 }))
  if (lost === undefined || kept === undefined) throw new Error('no keys')
  await database.commit([...founded.writes, insertKey(lost.row), insertKey(kept.row)])
  for (const { secret } of [lost, kept]) ring.authenticate(secret, '192.0.2.1')
  await database.commit([revokeKey({ workspaceId, id: lost.row.id, at: 900 })])
  asked.length = 0
  ring.forget(lost.row.id)
  ring.forget('nothing')
  t.throws(() => ring.authenticate(lost.secret, '192.0.2.1'), /revoked/)
  ring.authenticate(kept.secret, '192.0.2.1')
  t.same(asked, [lost.row.key_hash])
})

t.test('a key is revoked once, and only by its workspace', async (t) => {
  const { database } = await temporaryDatabase(t)
  await database.commit([insertKey(made.row)])
  const { id } = made.row
  await t.rejects(database.commit([revokeKey({ workspaceId: 'ws_2', id, at: 1 })]), WriteConflict)
  await database.commit([revokeKey({ workspaceId: 'ws_1', id, at: 1 })])
  await t.rejects(database.commit([revokeKey({ workspaceId: 'ws_1', id, at: 2 })]), WriteConflict)
  t.match(keysOfWorkspace(database.read, { workspaceId: 'ws_1' }), [{ id, revoked_at: 1 }])
  t.notOk(JSON.stringify(keysOfWorkspace(database.read, { workspaceId: 'ws_1' })).includes(made.row.key_hash))
})

t.test('a workspace is born with its owner and a key; people can own several', async (t) => {
  const { database } = await temporaryDatabase(t)
  const first = buildWorkspaceWithOwner(database.read, 'Café au lait', parseAddress('Owner@A.test'), 'pro', 1000)
  await database.commit(first.writes)
  const second = buildWorkspaceWithOwner(database.read, 'cafe AU lait!', parseAddress('owner@a.test'), UNLIMITED, 2000)
  await database.commit(second.writes)
  t.equal(second.userId, first.userId)
  t.match(allWorkspaces(database.read, {}), [
    { slug: 'cafe-au-lait', plan: 'pro' },
    { slug: 'cafe-au-lait-2', plan: 'unlimited' },
  ])
  t.same(ownerOf(database.read, { workspaceId: first.workspaceId }), [{ user_id: first.userId }])
  t.equal(keyByHash(database.read, { hash: hashKey(second.key.secret) })[0]?.workspace_id, second.workspaceId)
})

t.test('a slug is made of words, and of something where there are none', async (t) => {
  const taken = new Set(['acme', 'acme-2', 'workspace'])
  const slug = (name: string): string => buildUniqueSlug(name, (wanted) => taken.has(wanted))
  t.same(['Acme', 'a  B_c', 'Ünïcode Größe', '漢字', ' -- '].map(slug), [
    'acme-3',
    'a-b-c',
    'unicode-grosse',
    'workspace-2',
    'workspace-2',
  ])
  t.equal(slug('x'.repeat(200)).length, 50)
})

t.test('a key may give another at most what it has itself', async (t) => {
  const own = {
    expiresAt: 5000,
    allowedNetworks: ['10.0.0.0/8', '2001:db8::/32'],
    allowedDomains: ['a.test', 'b.test'],
  }
  const free = { expiresAt: null, allowedNetworks: [], allowedDomains: [] }
  const unasked = { expiresAt: undefined, allowedNetworks: undefined, allowedDomains: undefined }
  t.same(narrowLimits(own, unasked), own)
  t.same(narrowLimits(free, unasked), free)
  t.same(narrowLimits(free, own), own)
  const within: readonly object[] = [
    { expiresAt: 5000 },
    { expiresAt: 1 },
    { allowedNetworks: ['10.0.0.0/8'] },
    { allowedNetworks: ['10.9.8.7/32', '2001:db8:1::/48'] },
    { allowedDomains: ['b.test'] },
  ]
  for (const less of within) {
    t.same(narrowLimits(own, { ...unasked, ...less }), { ...own, ...less }, JSON.stringify(less))
  }
  const beyond: readonly object[] = [
    { expiresAt: null },
    { expiresAt: 5001 },
    { allowedNetworks: [] },
    { allowedNetworks: ['10.0.0.0/7'] },
    { allowedNetworks: ['11.0.0.0/32'] },
    { allowedNetworks: ['10.0.0.0/8', '2001:db9::/32'] },
    { allowedNetworks: ['::ffff:10.0.0.0/104'] },
    { allowedDomains: [] },
    { allowedDomains: ['a.test', 'c.test'] },
  ]
  for (const more of beyond) {
    const [field = ''] = Object.keys(more)
    t.throws(
      () => narrowLimits(own, { ...unasked, ...more }),
      { name: 'Refusal', kind: 'forbidden' },
      JSON.stringify(more),
    )
    t.same(narrowLimits(free, { ...unasked, ...more }), { ...free, ...more }, `${field} of a free key`)
  }
})

t.test('ten domains in any sixty minutes', async (t) => {
  const { database } = await temporaryDatabase(t)
  const hour = 3_600_000
  const begun = Date.UTC(2026, 10, 21)
  const count = (now: number, workspaceId = 'ws_1'): Promise<void> => countDomainCreation(database, workspaceId, now)
  for (let n = 0; n < 4; n += 1) await count(begun)
  const outcomes = await Promise.allSettled(Array.from({ length: 9 }, (_, n) => count(begun + 1000 + n)))
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

t.test('acts are kept as long as they must, and go in small steps', async (t) => {
  const { database } = await temporaryDatabase(t)
  const act = (at: number): Write =>
    recordAuditEntry({ workspaceId: 'ws_1', actor: operatorActor, action: 'domain.deleted', target: 'd', at })
  await database.commit(Array.from({ length: 1200 }, (_, n) => act(n)))
  await database.commit([act(5000)])
  const left = (): number => database.read('select 1 from audit_log', []).length
  t.equal(await removeOldAuditEntries(database, 1100), true)
  t.ok(left() > 600 && left() < 900, String(left()))
  while (await removeOldAuditEntries(database, 1100));
  t.equal(left(), 101)
  t.match(auditEntriesOfWorkspace(database.read, { workspaceId: 'ws_1', before: BEFORE_NEWEST, limit: 2 }), [
    { seq: 1201, at: 5000, actor: 'operator', details: '{}' },
    { seq: 1200 },
  ])
  t.same(auditEntriesOfWorkspace(database.read, { workspaceId: 'ws_2', before: BEFORE_NEWEST, limit: 2 }), [])
})
