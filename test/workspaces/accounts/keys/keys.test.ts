/** API keys: their secret, what they allow, what they may hand on, revocation. */
import t from 'tap'
import { WriteConflict } from '../../../../src/base/storage/db/write.js'
import { toJson } from '../../../../src/base/storage/tables/columns.js'
import {
  generateKey,
  hashKey,
  insertKey,
  keysOfWorkspace,
  revokeKey,
} from '../../../../src/workspaces/accounts/keys/api-keys.js'
import { authenticateKey, type KeyWithRole } from '../../../../src/workspaces/accounts/keys/key-check.js'
import { narrowLimits } from '../../../../src/workspaces/accounts/keys/key-limits.js'
import { temporaryDatabase } from '../../../helpers/database/database.js'

const made = generateKey({ workspaceId: 'ws_1', userId: 'u', name: 'n', now: 1000 })

t.test("only a hash of a key's secret is stored", async (t) => {
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

t.test('which keys authenticate', async (t) => {
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
    ['one of a user who is no longer a member', row({ role: null }), '192.0.2.1', /wrong or revoked/],
    ['from its network', row({ allowed_networks: toJson(['192.0.2.0/24']) }), '192.0.2.9', null],
    ['from its network, mapped', row({ allowed_networks: toJson(['192.0.2.0/24']) }), '::ffff:192.0.2.9', null],
    ['from a second network', row({ allowed_networks: toJson(['10.0.0.0/8', '2001:db8::/32']) }), '2001:db8::1', null],
    ['from elsewhere', row({ allowed_networks: toJson(['192.0.2.0/24']) }), '198.51.100.1', /this address/],
    ['from nowhere', row({ allowed_networks: toJson(['192.0.2.0/24']) }), '', /this address/],
  ]
  for (const [what, key, from, refusal] of cases) {
    const act = (): unknown => authenticateKey(key, from, 5000)
    if (refusal === null) t.match(act(), { workspaceId: 'ws_1', keyId: made.row.id }, what)
    else t.throws(act, { name: 'Refusal', message: refusal }, what)
  }
})

t.test('a key is revoked once, and only by its workspace', async (t) => {
  const { database } = await temporaryDatabase(t)
  await database.commit([insertKey(made.row)])
  const { id } = made.row
  await t.rejects(database.commit([revokeKey({ workspaceId: 'ws_2', id, at: 1 })]), WriteConflict)
  await database.commit([revokeKey({ workspaceId: 'ws_1', id, at: 1 })])
  await t.rejects(database.commit([revokeKey({ workspaceId: 'ws_1', id, at: 2 })]), WriteConflict)
  t.match(await keysOfWorkspace(database.read, { workspaceId: 'ws_1' }), [{ id, revoked_at: 1 }])
  t.notOk(JSON.stringify(await keysOfWorkspace(database.read, { workspaceId: 'ws_1' })).includes(made.row.key_hash))
})

t.test('a key cannot grant more than it has', async (t) => {
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
