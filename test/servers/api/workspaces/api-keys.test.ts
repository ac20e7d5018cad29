/** API keys over REST: created, limited, listed, revoked; and their entries in the audit log. */
import t, { type Test } from 'tap'
import { parseAddress } from '../../../../src/base/mail/address.js'
import type { Write } from '../../../../src/base/storage/db/write.js'
import type { ErrorBody } from '../../../../src/servers/api/http/error-answer.js'
import { apiKeyRoutes } from '../../../../src/servers/api/workspaces/api-keys.js'
import { ApiKeyCache } from '../../../../src/workspaces/accounts/keys/api-key-cache.js'
import { generateKey, insertKey, MAX_LIVE_KEYS, revokeKey } from '../../../../src/workspaces/accounts/keys/api-keys.js'
import { buildWorkspaceWithOwner } from '../../../../src/workspaces/accounts/workspace/workspaces.js'
import { SendingDomainCache } from '../../../../src/workspaces/domains/sending-domain-cache.js'
import { type TestDaemon, testDaemon } from '../../../helpers/daemon/test-daemon.js'
import { schemaCheck } from '../../../helpers/http/answer-schemas.js'
import type { RestAnswer } from '../../../helpers/http/rest-client.js'
import { waitUntil } from '../../../helpers/wait-until.js'

interface Key {
  readonly id: string
  readonly name: string
  readonly key: string
  readonly key_prefix: string
  readonly created_at: string
  readonly scopes: readonly string[]
  readonly expires_at: string | null
  readonly last_used_at: string | null
  readonly revoked_at: string | null
  readonly allowed_networks: readonly string[]
  readonly allowed_domains: readonly string[]
  readonly sender: string | null
}

interface Act {
  readonly id: string
  readonly at: string
  readonly actor: string
  readonly action: string
  readonly target: string
  readonly details: Readonly<Record<string, unknown>>
}

const HOUR = 3_600_000
const iso = (at: number): string => new Date(at).toISOString()
const error = (answer: RestAnswer): ErrorBody['error'] => answer.json<ErrorBody>().error

async function make(app: TestDaemon, body: object, key = app.key): Promise<Key> {
  const answer = await app.rest('POST', '/v1/api-keys', { key, body })
  if (answer.status !== 201) throw new Error(answer.text)
  return answer.json<Key>()
}

const list = async (app: TestDaemon, key = app.key): Promise<readonly Key[]> =>
  (await app.rest('GET', '/v1/api-keys', { key })).json<{ data: Key[] }>().data

const acts = async (app: TestDaemon, key = app.key): Promise<readonly Act[]> =>
  (await app.rest('GET', '/v1/audit-log', { key })).json<{ data: Act[] }>().data

const userOf = async (app: TestDaemon, workspaceId: string): Promise<string> =>
  (await app.rows<{ user_id: string }>('select user_id from members where workspace_id = ?', workspaceId))[0]
    ?.user_id ?? ''

t.test('the secret of a key is shown once, and the key works at once', async (t) => {
  const app = await testDaemon(t)
  const check = schemaCheck(app.daemon.routes)
  const answer = await app.rest('POST', '/v1/api-keys', { body: { name: 'Grüße' } })
  t.same(check('POST /api-keys', answer), [])
  const made = answer.json<Key>()
  t.match(made, {
    name: 'Grüße',
    key: /^ph_/,
    scopes: ['full'],
    expires_at: null,
    allowed_networks: [],
    allowed_domains: [],
  })
  t.ok(made.key.startsWith(made.key_prefix))
  t.equal((await app.rest('GET', '/v1/domains', { key: made.key })).status, 200)

  const listed = await app.rest('GET', '/v1/api-keys')
  t.same(check('GET /api-keys', listed), [])
  t.notOk(listed.text.includes(made.key))
  t.notOk(listed.text.includes('hash'))
  t.match(await list(app), [{ name: 'first key' }, { id: made.id, key_prefix: made.key_prefix, revoked_at: null }])
  t.equal('key' in ((await list(app))[1] ?? {}), false)
  await waitUntil('the use is noted', async () => (await list(app))[1]?.last_used_at !== null)
  const [row] = await app.rows<{ user_id: string }>('select user_id from api_keys where id = ?', made.id)
  t.equal(row?.user_id, await userOf(app, app.workspaceId), 'it belongs to whom the asking key belongs to')
})

t.test('a key can do what it was created with', async (t) => {
  const app = await testDaemon(t)
  const expires_at = iso(app.now() + HOUR)
  const requestedKey = {
    name: 'narrow',
    scopes: ['send', 'read'],
    expires_at,
    allowed_networks: ['127.0.0.1', '2001:db8::/32'],
    allowed_domains: ['A.test', 'münchen.test'],
  }
  const made = await make(app, requestedKey)
  t.match(made, {
    scopes: ['send', 'read'],
    expires_at,
    allowed_networks: ['127.0.0.1/32', '2001:db8::/32'],
    allowed_domains: ['a.test', 'xn--mnchen-3ya.test'],
  })
  t.match((await list(app))[1], { scopes: ['send', 'read'], expires_at, allowed_domains: ['a.test', /^xn--/] })
  t.equal((await app.rest('GET', '/v1/suppressions', { key: made.key })).status, 200)
  t.equal((await app.rest('POST', '/v1/suppressions', { key: made.key, body: { email: 'x@b.test' } })).status, 403)
  app.advance(HOUR + 1000)
  t.equal(error(await app.rest('GET', '/v1/suppressions', { key: made.key })).code, 'api_key_expired')
  const foreign = await make(app, { name: 'elsewhere', allowed_networks: ['192.0.2.0/24'] })
  t.equal((await app.rest('GET', '/v1/domains', { key: foreign.key })).status, 403)
})

t.test('a key cannot create a key with more permissions', async (t) => {
  const app = await testDaemon(t)
  const end = app.now() + HOUR
  const limits = {
    expires_at: iso(end),
    allowed_networks: ['127.0.0.0/8', '10.0.0.0/16'],
    allowed_domains: ['a.test', 'b.test'],
  }
  const { key } = await make(app, { name: 'narrow', ...limits })
  t.match(await make(app, { name: 'as wide' }, key), limits, 'what is not asked for is taken over')
  const narrower = {
    expires_at: iso(end - 1000),
    allowed_networks: ['127.0.0.1', '10.0.128.0/17'],
    allowed_domains: ['b.test'],
  }
  t.match(await make(app, { name: 'narrower', ...narrower }, key), {
    ...narrower,
    allowed_networks: ['127.0.0.1/32', '10.0.128.0/17'],
  })
  const wider: readonly object[] = [
    { expires_at: null },
    { expires_at: iso(end + 1000) },
    { allowed_networks: [] },
    { allowed_networks: ['127.0.0.1', '10.0.0.0/15'] },
    { allowed_networks: ['0.0.0.0/0'] },
    { allowed_networks: ['::/0'] },
    { allowed_domains: [] },
    { allowed_domains: ['a.test', 'c.test'] },
    { allowed_domains: ['sub.a.test'] },
  ]
  for (const more of wider) {
    const answer = await app.rest('POST', '/v1/api-keys', { key, body: { name: 'wider', ...more } })
    t.match(error(answer), { code: 'insufficient_permissions', details: { field: Object.keys(more)[0] } }, answer.text)
  }
  t.equal((await list(app)).length, 4)
})

t.test('a key may have a sender in a verified domain that it may use', async (t) => {
  const app = await testDaemon(t)
  const check = schemaCheck(app.daemon.routes)
  const answer = await app.rest('POST', '/v1/api-keys', { body: { name: 'host1', sender: 'host1@A.test' } })
  t.same(check('POST /api-keys', answer), [])
  t.match(answer.json<Key>(), { sender: 'host1@a.test' })
  t.match(await list(app), [{ sender: null }, { sender: 'host1@a.test' }])
  t.match((await acts(app))[0], { action: 'api_key.created', details: { sender: 'host1@a.test' } })
  const wrong: readonly (readonly [body: object, code: string])[] = [
    [{ sender: 'host1' }, 'invalid_email_address'],
    [{ sender: 'a..b@a.test' }, 'invalid_email_address'],
    [{ sender: 'host1@elsewhere.test' }, 'invalid_from_address'],
    [{ sender: 'host1@a.test', allowed_domains: ['b.test'] }, 'validation_error'],
  ]
  for (const [body, code] of wrong) {
    const refused = await app.rest('POST', '/v1/api-keys', { body: { name: 'host1', ...body } })
    t.equal(error(refused).code, code, refused.text)
  }
  t.match(await make(app, { name: 'none', sender: null }), { sender: null })
})

t.test('a revoked key fails at once at every listener, and stays revoked', async (t) => {
  const app = await testDaemon(t)
  const check = schemaCheck(app.daemon.routes)
  const { id, key } = await make(app, { name: 'brief' })
  const session = await app.openSession(key)
  const other = await app.openSession()
  const first = await app.rest('DELETE', `/v1/api-keys/${id}`)
  t.equal(first.status, 200)
  t.same(check('DELETE /api-keys/:id', first), [])
  t.equal(error(await app.rest('GET', '/v1/domains', { key })).code, 'invalid_api_key')
  await session.waitForClose()
  t.match(await other.sendCommand('NOOP'), /^250/, 'the session of another key goes on')
  app.advance(HOUR)
  const again = await app.rest('DELETE', `/v1/api-keys/${id}`)
  t.same([again.status, again.json()], [200, first.json()], 'the first time counts')
  t.match((await list(app))[1], { id, revoked_at: first.json<Key>().revoked_at })

  const own = (await list(app))[0]?.id ?? ''
  t.equal((await app.rest('DELETE', `/v1/api-keys/${own}`)).status, 200, 'a key may end itself')
  t.equal(error(await app.rest('DELETE', `/v1/api-keys/${own}`)).code, 'invalid_api_key')
  t.same(app.errors, [])
})

t.test('a key for another workspace of the same user', async (t) => {
  const app = await testDaemon(t)
  const { commit, read } = app.daemon.database
  const second = await buildWorkspaceWithOwner(read, 'Second', parseAddress('owner@a.test'), 'unlimited', app.now())
  await commit(second.writes)
  const made = await make(app, { name: 'over there', workspace_id: second.workspaceId })
  t.match(await list(app, made.key), [{ name: 'first key' }, { id: made.id }])
  t.notMatch(await list(app), [{ id: made.id }])
  t.match(await acts(app, made.key), [{ action: 'api_key.created', target: made.id }])
  t.same(await acts(app), [], 'the act is recorded in the workspace of the key')

  for (const id of [app.otherWorkspaceId, 'ws_nothing', '']) {
    const answer = await app.rest('POST', '/v1/api-keys', { body: { name: 'x', workspace_id: id } })
    t.match(error(answer), { code: 'not_found', details: { id } }, id)
  }
  await commit([{ sql: `update members set role = 'member' where workspace_id = ?`, parameters: [second.workspaceId] }])
  const answer = await app.rest('POST', '/v1/api-keys', { body: { name: 'x', workspace_id: second.workspaceId } })
  t.match(error(answer), { code: 'insufficient_permissions', message: /role "member"/ })
})

/** Writes that are committed before those of the request. */
async function keyRouteAfter(app: TestDaemon, before: readonly Write[]): Promise<(body: object) => Promise<unknown>> {
  const { read, commit } = app.daemon.database
  const late = (writes: readonly Write[]): Promise<void> => commit(before).then(() => commit(writes))
  const deps = {
    read,
    commit: late,
    domains: new SendingDomainCache(read),
    changes: { keyRevoked: async () => undefined },
  }
  const make = apiKeyRoutes(deps).find(({ method }) => method === 'POST')
  const principal = await new ApiKeyCache({ read, commit }, app.now).authenticate(app.key, '127.0.0.1')
  const nothing = { ownKey: null, params: {}, query: undefined, fingerprint: () => '', header: () => undefined }
  return async (body) => make?.run({ ...nothing, principal, body, remoteAddress: '127.0.0.1', now: app.now() })
}

t.test('a key that is revoked while it creates another creates none', async (t) => {
  const app = await testDaemon(t)
  const id = (await list(app))[0]?.id ?? ''
  const { workspaceId } = app
  const create = await keyRouteAfter(app, [revokeKey({ workspaceId, id, at: app.now() })])
  await t.rejects(create({ name: 'heir', scopes: ['full'] }), { name: 'Refusal', kind: 'bad-credentials' })
  t.equal((await app.rows('select id from api_keys where workspace_id = ?', workspaceId)).length, 1)
})

t.test('a member who is demoted while their key creates another creates none', async (t) => {
  const app = await testDaemon(t)
  const demoted = { sql: `update members set role = 'member' where workspace_id = ?`, parameters: [app.workspaceId] }
  const create = await keyRouteAfter(app, [demoted])
  await t.rejects(create({ name: 'heir', scopes: ['full'] }), { name: 'Refusal', kind: 'forbidden' })
  t.equal((await app.rows('select id from api_keys where workspace_id = ?', app.workspaceId)).length, 1)
})

t.test('a workspace has at most 1,000 active keys, also under concurrent requests', async (t) => {
  const app = await testDaemon(t)
  const { workspaceId } = app
  const requestedKey = { workspaceId, userId: await userOf(app, workspaceId), name: 'one of many', now: app.now() }
  const rows = Array.from({ length: MAX_LIVE_KEYS - 3 }, () => generateKey(requestedKey).row)
  await app.daemon.database.commit(rows.map((row) => insertKey(row)))
  const more = (): Promise<RestAnswer> => app.rest('POST', '/v1/api-keys', { body: { name: 'one more' } })
  const answers = await Promise.all([more(), more(), more(), more()])
  t.same(answers.map(({ status }) => status).sort(), [201, 201, 409, 409])
  t.match(error(await more()), { code: 'conflict', details: { limit: MAX_LIVE_KEYS, count: MAX_LIVE_KEYS } })
  t.equal((await app.rest('DELETE', `/v1/api-keys/${rows[0]?.id}`)).status, 200)
  t.equal((await more()).status, 201)
})

t.test('keys and domains are listed in pages', async (t) => {
  const app = await testDaemon(t)
  const { workspaceId } = app
  const requestedKey = { workspaceId, userId: await userOf(app, workspaceId), now: app.now() }
  const rows = Array.from({ length: 24 }, (_, n) => generateKey({ ...requestedKey, name: `key ${n}` }).row)
  await app.daemon.database.commit(rows.map((row) => insertKey(row)))
  const names = async (query: string): Promise<readonly string[]> =>
    (await app.rest('GET', `/v1/api-keys${query}`)).json<{ data: Key[] }>().data.map(({ name }) => name)
  const all = await names('?limit=100')
  t.equal(all.length, 25)
  t.same(await names(''), all.slice(0, 20))
  t.same(await names('?limit=2&offset=3'), all.slice(3, 5))
  t.same(await names('?offset=25'), [])
  for (const path of ['/v1/api-keys', '/v1/domains']) {
    t.equal((await app.rest('GET', `${path}?limit=101`)).status, 400, path)
  }
  t.equal((await app.rest('GET', '/v1/domains?offset=1')).json<{ data: unknown[] }>().data.length, 0)
})

t.test('the audit log says who did what, in pages, without secrets', async (t) => {
  const app = await testDaemon(t)
  const check = schemaCheck(app.daemon.routes)
  const [first] = await list(app)
  const made = await make(app, { name: 'k', scopes: ['send'] })
  await app.rest('DELETE', `/v1/api-keys/${made.id}`)
  await app.rest('DELETE', `/v1/api-keys/${made.id}`)
  const answer = await app.rest('GET', '/v1/audit-log')
  t.same(check('GET /audit-log', answer), [])
  const actor = await userOf(app, app.workspaceId)
  t.match(await acts(app), [
    { actor, action: 'api_key.revoked', target: made.id, details: { by_key: first?.id } },
    { actor, action: 'api_key.created', target: made.id, details: { by_key: first?.id, name: 'k', scopes: ['send'] } },
  ])
  t.equal((await acts(app)).length, 2, 'what changed nothing is no act')
  t.notOk(answer.text.includes(made.key))

  await app.cli('key', 'create', '--name', 'by hand', '--workspace', app.workspaceId)
  await app.cli('domain', 'verify', 'a.test', '--force', '--workspace', app.workspaceId)
  t.match(await acts(app), [
    { actor: 'operator', action: 'domain.verified', details: { domain: 'a.test' } },
    { actor: 'operator', action: 'api_key.created', details: { name: 'by hand' } },
    {},
    {},
  ])
  const walked = await walk(t, app, '/v1/audit-log?limit=1')
  t.same(walked, await acts(app))
  t.same(await acts(app, app.otherKey), [])
  for (const cursor of [
    'x',
    'MA',
    Buffer.from('-1').toString('base64url'),
    Buffer.from('1 or 1').toString('base64url'),
  ]) {
    t.equal(error(await app.rest('GET', `/v1/audit-log?cursor=${cursor}`)).code, 'validation_error', cursor)
  }
})

async function walk(t: Test, app: TestDaemon, path: string): Promise<readonly Act[]> {
  const found: Act[] = []
  let cursor: string | null = ''
  while (cursor !== null) {
    const answer: RestAnswer = await app.rest('GET', cursor === '' ? path : `${path}&cursor=${cursor}`)
    const { data, has_more, next_cursor } = answer.json<{
      data: Act[]
      has_more: boolean
      next_cursor: string | null
    }>()
    t.equal(has_more, next_cursor !== null)
    found.push(...data)
    cursor = next_cursor
  }
  return found
}
