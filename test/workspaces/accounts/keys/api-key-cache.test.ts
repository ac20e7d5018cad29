/** API keys in memory: checked on every use, dropped when they are revoked. */
import t from 'tap'
import { UNLIMITED } from '../../../../src/base/config/plans.js'
import { parseAddress } from '../../../../src/base/mail/address.js'
import type { Write } from '../../../../src/base/storage/db/write.js'
import { ApiKeyCache } from '../../../../src/workspaces/accounts/keys/api-key-cache.js'
import { generateKey, insertKey, keyByHash, revokeKey } from '../../../../src/workspaces/accounts/keys/api-keys.js'
import { buildWorkspaceWithOwner } from '../../../../src/workspaces/accounts/workspace/workspaces.js'
import { temporaryDatabase } from '../../../helpers/database/database.js'
import { waitUntil } from '../../../helpers/wait-until.js'

const made = generateKey({ workspaceId: 'ws_1', userId: 'u', name: 'n', now: 1000 })

t.test('the cache keeps keys, checks them on every use, and drops them when notified', async (t) => {
  const { database } = await temporaryDatabase(t)
  const begun = Date.UTC(2026, 10, 21)
  let now = begun
  let reads = 0
  const read: typeof database.read = async (sql, parameters) => {
    reads += 1
    return database.read(sql, parameters)
  }
  const cache = new ApiKeyCache({ read, commit: database.commit }, () => now)
  const { workspaceId, userId, writes } = await buildWorkspaceWithOwner(
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
  await t.rejects(() => cache.authenticate(key.secret, '192.0.2.1'), { name: 'Refusal', kind: 'bad-credentials' })
  await database.commit([insertKey(key.row)])
  const principal = await cache.authenticate(key.secret, '192.0.2.1')
  t.same(
    principal,
    {
      workspaceId,
      keyId: key.row.id,
      userId,
      role: 'owner',
      scopes: ['full'],
      allowedDomains: ['a.test'],
      sender: null,
    },
    'an unknown key is not remembered',
  )
  const before = reads
  for (let n = 0; n < 10; n += 1) await cache.authenticate(key.secret, '192.0.2.1')
  t.equal(await cache.isStillValid(principal), true)
  t.equal(reads, before, 'from memory')

  const lastUsed = async (): Promise<number | null> =>
    (await keyByHash(database.read, { hash: key.row.key_hash }))[0]?.last_used_at ?? null
  await waitUntil('the use is noted', async () => (await lastUsed()) === begun)
  now = begun + 59_999
  await cache.authenticate(key.secret, '192.0.2.1')
  now = begun + 60_000
  await cache.authenticate(key.secret, '192.0.2.1')
  await waitUntil('the next use is noted', async () => (await lastUsed()) === begun + 60_000)

  now = begun + 900_000
  t.equal(await cache.isStillValid(principal), false, 'expired')
  await t.rejects(() => cache.authenticate(key.secret, '192.0.2.1'), /expired/)
  now = begun + 70_000
  await database.commit([revokeKey({ workspaceId, id: key.row.id, at: now })])
  cache.drop()
  t.equal(await cache.isStillValid(principal), false, 'revoked')
  await t.rejects(() => cache.authenticate(key.secret, '192.0.2.1'), /revoked/)
  t.equal(await cache.isStillValid({ ...principal, keyId: 'nothing' }), false)
  t.equal(await cache.isStillValid({ ...principal, keyId: null }), true, 'a trusted network has no key to lose')
})

t.test('the last-use times in memory are bounded', async (t) => {
  const written: string[] = []
  const owner = { ...made.row, role: 'owner' as const, allowed_networks: '[]', scopes: '["full"]' }
  const read = <Row>(_sql: string, [hash]: readonly unknown[]): Row[] =>
    [{ ...owner, id: String(hash), key_hash: hash }] as Row[]
  const commit = async ([write]: readonly Write[]): Promise<void> => void written.push(String(write?.parameters))
  const cache = new ApiKeyCache({ read, commit }, () => 1_000_000)
  for (let n = 0; n < 10_001; n += 1) await cache.authenticate(`key ${n}`, '192.0.2.1')
  t.equal(written.length, 10_001)
  await cache.authenticate('key 0', '192.0.2.1')
  t.equal(written.length, 10_002, 'the oldest are forgotten, and noted once more')
  await cache.authenticate('key 10000', '192.0.2.1')
  t.equal(written.length, 10_002, 'the newest are not')
})

t.test('a revoked key leaves the cache, and no other key does', async (t) => {
  const { database } = await temporaryDatabase(t)
  const asked: string[] = []
  const read: typeof database.read = async (sql, parameters) => {
    asked.push(String(parameters[0]))
    return database.read(sql, parameters)
  }
  const cache = new ApiKeyCache({ read, commit: database.commit }, () => 1000)
  const founded = await buildWorkspaceWithOwner(database.read, 'Own', parseAddress('o@a.test'), UNLIMITED, 500)
  const { workspaceId, userId } = founded
  const [lost, kept] = [1, 2].map((n) => generateKey({ workspaceId, userId, name: `key ${n}`, now: 500 }))
  if (lost === undefined || kept === undefined) throw new Error('no keys')
  await database.commit([...founded.writes, insertKey(lost.row), insertKey(kept.row)])
  for (const { secret } of [lost, kept]) await cache.authenticate(secret, '192.0.2.1')
  await database.commit([revokeKey({ workspaceId, id: lost.row.id, at: 900 })])
  asked.length = 0
  cache.forget(lost.row.id)
  cache.forget('nothing')
  await t.rejects(() => cache.authenticate(lost.secret, '192.0.2.1'), /revoked/)
  await cache.authenticate(kept.secret, '192.0.2.1')
  t.same(asked, [lost.row.key_hash])
})

t.test('a key that is revoked while its row is read is not kept, and reads of one key at once are one', async (t) => {
  const { database } = await temporaryDatabase(t)
  let reads = 0
  let duringRead = async (): Promise<void> => undefined
  const read: typeof database.read = async (...query) => {
    reads += 1
    const rows = await database.read<never>(...query)
    await duringRead()
    return rows
  }
  const cache = new ApiKeyCache({ read, commit: database.commit }, () => 1000)
  const founded = await buildWorkspaceWithOwner(database.read, 'Own', parseAddress('o@a.test'), UNLIMITED, 500)
  const { workspaceId, userId } = founded
  const key = generateKey({ workspaceId, userId, name: 'n', now: 500 })
  await database.commit([...founded.writes, insertKey(key.row)])
  const principals = await Promise.all([1, 2, 3].map(() => cache.authenticate(key.secret, '192.0.2.1')))
  t.equal(reads, 1)
  const revoke = (drop: () => void) => async () => {
    duringRead = async () => undefined
    await database.commit([revokeKey({ workspaceId, id: key.row.id, at: 900 })])
    drop()
  }
  cache.drop()
  duringRead = revoke(() => cache.forget(key.row.id))
  await cache.authenticate(key.secret, '192.0.2.1')
  await t.rejects(() => cache.authenticate(key.secret, '192.0.2.1'), /revoked/, 'its id was not known yet')
  cache.drop()
  await database.commit([{ sql: 'update api_keys set revoked_at = null', parameters: [] }])
  duringRead = revoke(() => cache.drop())
  for (const principal of principals.slice(0, 1)) await cache.isStillValid(principal)
  for (const principal of principals) t.equal(await cache.isStillValid(principal), false)
})
