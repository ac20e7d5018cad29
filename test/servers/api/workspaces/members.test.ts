/** Workspaces, members and invitations over REST: permissions in the named workspace, and consequences. */
import t from 'tap'
import { parseAddress } from '../../../../src/base/mail/address.js'
import { uuidv7 } from '../../../../src/base/platform/ids.js'
import { closeWorkspace } from '../../../../src/base/storage/maintenance/erase.js'
import type { Role, Scope } from '../../../../src/base/storage/tables/account-tables.js'
import type { ErrorBody } from '../../../../src/servers/api/http/error-answer.js'
import { generateKey, insertKey, type KeyRequest } from '../../../../src/workspaces/accounts/keys/api-keys.js'
import { insertMember } from '../../../../src/workspaces/accounts/people/members.js'
import { insertUser } from '../../../../src/workspaces/accounts/people/users.js'
import { runCommand, type TestDaemon, testDaemon } from '../../../helpers/daemon/test-daemon.js'
import { tablesWith } from '../../../helpers/database/rows.js'
import { schemaCheck } from '../../../helpers/http/answer-schemas.js'
import { buildToken } from '../../../helpers/http/invite-member.js'
import type { RestAnswer } from '../../../helpers/http/rest-client.js'
import { waitUntil } from '../../../helpers/wait-until.js'

const DAY = 86_400_000
const password = 'correct horse battery'

const error = (answer: RestAnswer): ErrorBody['error'] => answer.json<ErrorBody>().error
const refusalOf = (answer: RestAnswer): readonly [number, string] => [answer.status, error(answer).code]
const data = <T = { readonly id: string }>(answer: RestAnswer): T => answer.json<{ readonly data: T }>().data

interface Person {
  readonly memberId: string
  readonly userId: string
  readonly email: string
  readonly key: string
}

/** A member of the first workspace, with a key of it. */
async function person(
  app: TestDaemon,
  role: Role,
  scopes: readonly Scope[] = ['full'],
  bounds: Partial<KeyRequest> = {},
): Promise<Person> {
  const now = app.now()
  const [memberId, userId] = [uuidv7(now), uuidv7(now)]
  const email = parseAddress(`${userId}@a.test`)
  const key = generateKey({ workspaceId: app.workspaceId, userId, name: 'k', now, scopes, ...bounds })
  await app.daemon.database.commit([
    insertUser({ id: userId, email, full_name: role, password_hash: null, created_at: now }),
    insertMember({ id: memberId, workspace_id: app.workspaceId, user_id: userId, role, joined_at: now }),
    insertKey(key.row),
  ])
  return { memberId, userId, email, key: key.secret }
}

const invite = (app: TestDaemon, email: string, key = app.key, role = 'member'): Promise<RestAnswer> =>
  app.rest('POST', '/v1/members', { key, body: { email, role, workspaceId: app.workspaceId } })

const accept = (app: TestDaemon, token: string, more: object = {}): Promise<RestAnswer> =>
  app.rest('POST', '/v1/invitations/accept', {
    key: null,
    body: { token, full_name: 'Nina Neu', password, ...more },
  })

t.test('a workspace is created, read, renamed and listed, and may share its name with another', async (t) => {
  const app = await testDaemon(t)
  const check = schemaCheck(app.daemon.routes)
  const body = { name: 'Grüße & Co', icon_url: 'https://a.test/icon.png' }
  const made = await app.rest('POST', '/v1/workspaces', { body })
  t.same(check('POST /workspaces', made), [])
  t.equal(made.status, 201)
  const { id, ...workspace } = data<Record<string, unknown>>(made)
  t.match(id, /^ws_/)
  t.match(workspace, { name: 'Grüße & Co', slug: 'grusse-co', icon_url: body.icon_url, role: 'owner' })
  t.match(data(await app.rest('POST', '/v1/workspaces', { body: { name: 'Grusse Co' } })), {
    slug: 'grusse-co-2',
    icon_url: null,
  })

  const shown = await app.rest('GET', `/v1/workspaces/${String(id)}`)
  t.same(check('GET /workspaces/:id', shown), [])
  t.match(data(shown), { ...workspace, member_count: 1 })
  const changed = await app.rest('PATCH', `/v1/workspaces/${String(id)}`, { body: { name: 'Other', icon_url: null } })
  t.same(check('PATCH /workspaces/:id', changed), [])
  t.match(data(changed), { id, name: 'Other', slug: 'other-2', icon_url: null })
  t.match(data(await app.rest('PATCH', `/v1/workspaces/${String(id)}`, { body: { name: 'other' } })), {
    slug: 'other-2',
  })

  const listed = await app.rest('GET', '/v1/workspaces')
  t.same(check('GET /workspaces', listed), [])
  t.match(data<object[]>(listed), [{ name: 'Own' }, { id }, { name: 'Grusse Co' }])
  t.match(data<object[]>(await app.rest('GET', '/v1/workspaces?limit=1&offset=1')), [{ id }])

  const key = await app.rest('POST', '/v1/api-keys', { body: { name: 'k', workspace_id: id } })
  t.equal(key.status, 201, 'and a key for it')
  const acts = await app.rest('GET', '/v1/audit-log', { key: key.json<{ key: string }>().key })
  t.match(
    data<object[]>(acts).map((act) => (act as { action: string }).action),
    ['api_key.created', 'workspace.changed', 'workspace.changed', 'workspace.created'],
  )
  t.same(app.errors, [])
})

t.test('invalid names and icons are refused', async (t) => {
  const app = await testDaemon(t)
  for (const [body, code] of [
    [{ name: '' }, 'validation_error'],
    [{ name: 'a\nb' }, 'validation_error'],
    [{ name: 'a\ud800b' }, 'validation_error'],
    [{ name: 'a', icon_url: 'http://a.test/i' }, 'validation_error'],
    [{ name: 'a', icon_url: 'javascript:alert(1)' }, 'validation_error'],
    [{ name: 'a', icon_url: 'https://user:pw@a.test/' }, 'validation_error'],
    [{ name: 'a', plan: 'pro' }, 'validation_error'],
  ] as const) {
    t.same(refusalOf(await app.rest('POST', '/v1/workspaces', { body })), [400, code], JSON.stringify(body))
  }
  t.same(app.errors, [])
})

/** For each row, the roles in the named workspace that are allowed, whatever the role in the key's own. */
const rows: readonly (readonly [method: string, path: string, roles: readonly Role[], body?: object])[] = [
  ['GET', '/workspaces/:ws', ['owner', 'admin', 'member']],
  ['PATCH', '/workspaces/:ws', ['owner', 'admin'], { icon_url: null }],
  ['GET', '/members?workspaceId=:ws', ['owner', 'admin', 'member']],
  ['POST', '/members', ['owner', 'admin'], { email: 'guest@b.test', role: 'member', workspaceId: ':ws' }],
  ['PATCH', '/members/:member', ['owner', 'admin'], { role: 'admin', workspaceId: ':ws' }],
  ['GET', '/invitations?workspaceId=:ws', ['owner', 'admin', 'member']],
  ['DELETE', '/invitations?workspaceId=:ws&invitationId=:invitation', ['owner', 'admin']],
  ['DELETE', '/invitations/:invitation?workspaceId=:ws', ['owner', 'admin']],
  ['DELETE', '/members/:member?workspaceId=:ws', ['owner', 'admin']],
  ['DELETE', '/workspaces/:ws', ['owner']],
]

t.test('the role of the user in the named workspace decides, with keys of another workspace', async (t) => {
  const app = await testDaemon(t)
  const own = generateKey({ workspaceId: app.otherWorkspaceId, userId: 'nobody', name: 'k', now: app.now() })
  const add = async (role: Role, scopes: readonly Scope[] = ['full']): Promise<string> => {
    const { userId } = await person(app, role)
    // An ordinary member of the other workspace, whose key asks.
    const key = generateKey({ workspaceId: app.otherWorkspaceId, userId, name: 'k', now: app.now(), scopes })
    const member = { id: uuidv7(app.now()), workspace_id: app.otherWorkspaceId, user_id: userId, joined_at: 0 }
    await app.daemon.database.commit([insertKey(key.row), insertMember({ ...member, role: 'member' })])
    return key.secret
  }
  const keys = { admin: await add('admin'), member: await add('member') }
  const reader = await add('admin', ['read'])
  const { memberId } = await person(app, 'member')
  const { id: invitation } = data(await invite(app, 'waits@b.test'))
  const fill = (text: string): string =>
    text.replace(':ws', app.workspaceId).replace(':member', memberId).replace(':invitation', invitation)
  for (const [method, path, roles, body] of rows) {
    const ask = (key: string): Promise<RestAnswer> =>
      app.rest(method, `/v1${fill(path)}`, { key, ...(body === undefined ? {} : { body: fill(JSON.stringify(body)) }) })
    const line = `${method} ${path}`
    t.same(refusalOf(await ask(own.secret)).slice(0, 1), [401], `${line}: an unknown user`)
    t.same(refusalOf(await ask(app.otherKey)), [404, 'not_found'], `${line}: the owner of another workspace`)
    t.same(refusalOf(await ask(reader)), [403, 'insufficient_permissions'], `${line}: a key that may read elsewhere`)
    for (const role of ['member', 'admin'] as const) {
      if (roles.includes(role)) continue
      t.same(refusalOf(await ask(keys[role])), [403, 'insufficient_permissions'], `${line}: ${role}`)
    }
    if (!roles.includes('admin')) continue
    const answer = await ask(keys.admin)
    t.ok(answer.status < 300 || (method === 'DELETE' && answer.status === 409), `${line}: admin, ${answer.status}`)
  }
  t.equal((await app.rest('DELETE', `/v1/workspaces/${app.workspaceId}`)).status, 200, 'the owner')
  t.same(app.errors, [])
})

t.test('a read-only key sees its own workspace, and no other of its user', async (t) => {
  const app = await testDaemon(t)
  const { key, userId } = await person(app, 'admin', ['read'])
  const member = {
    id: uuidv7(1),
    workspace_id: app.otherWorkspaceId,
    user_id: userId,
    joined_at: 0,
    role: 'admin' as const,
  }
  await app.daemon.database.commit([insertMember(member)])
  t.match(data<object[]>(await app.rest('GET', '/v1/workspaces', { key })), [{ id: app.workspaceId }])
  t.equal(data<object[]>(await app.rest('GET', '/v1/workspaces', { key })).length, 1)
  t.equal((await app.rest('GET', `/v1/members?workspaceId=${app.workspaceId}`, { key })).status, 200)
  t.same(refusalOf(await invite(app, 'x@b.test', key)), [403, 'insufficient_permissions'])
})

t.test('there is one owner, who can be neither changed nor removed', async (t) => {
  const app = await testDaemon(t)
  const check = schemaCheck(app.daemon.routes)
  const admin = await person(app, 'admin')
  const listed = await app.rest('GET', `/v1/members?workspaceId=${app.workspaceId}`)
  t.same(check('GET /members', listed), [])
  const [owner] = data<{ id: string; role: string }[]>(listed)
  const path = `/v1/members/${owner?.id ?? ''}`
  for (const key of [app.key, admin.key]) {
    const body = { workspaceId: app.workspaceId, role: 'member' }
    t.same(refusalOf(await app.rest('PATCH', path, { key, body })), [409, 'conflict'])
    t.same(refusalOf(await app.rest('DELETE', `${path}?workspaceId=${app.workspaceId}`, { key })), [409, 'conflict'])
  }
  const crown = { workspaceId: app.workspaceId, role: 'owner' }
  t.same(refusalOf(await app.rest('PATCH', `/v1/members/${admin.memberId}`, { body: crown })), [
    400,
    'validation_error',
  ])
  t.same(refusalOf(await invite(app, 'new@b.test', app.key, 'owner')), [400, 'validation_error'])
  t.match(await app.rows(`select role from members where workspace_id = ? order by joined_at`, app.workspaceId), [
    { role: 'owner' },
    { role: 'admin' },
  ])
})

t.test('a role change applies at once, and a removal ends keys, sessions and caches', async (t) => {
  const app = await testDaemon(t)
  const check = schemaCheck(app.daemon.routes)
  const one = await person(app, 'admin')
  const session = await app.openSession(one.key)
  t.equal((await app.rest('GET', '/v1/audit-log', { key: one.key })).status, 200)
  const path = `/v1/members/${one.memberId}`
  const changed = await app.rest('PATCH', path, { body: { workspaceId: app.workspaceId, role: 'member' } })
  t.same(check('PATCH /members/:id', changed), [])
  t.match(data(changed), { id: one.memberId, role: 'member' })
  t.equal((await app.rest('GET', '/v1/audit-log', { key: one.key })).status, 403)

  const removed = await app.rest('DELETE', `${path}?workspaceId=${app.workspaceId}`)
  t.same(check('DELETE /members/:id', removed), [])
  t.same(data(removed), { removed: true, id: one.memberId })
  t.same(refusalOf(await app.rest('GET', '/v1/emails', { key: one.key })), [401, 'invalid_api_key'])
  t.match(await session.readReply(), /^421 /, 'their session is closed with a reply')
  t.same(refusalOf(await app.rest('DELETE', `${path}?workspaceId=${app.workspaceId}`)), [404, 'not_found'])

  const again = {
    id: uuidv7(1),
    workspace_id: app.workspaceId,
    user_id: one.userId,
    joined_at: 0,
    role: 'admin' as const,
  }
  await app.daemon.database.commit([insertMember(again)])
  t.equal(
    (await app.rest('GET', '/v1/emails', { key: one.key })).status,
    401,
    'their keys stay dead when they come back',
  )
  t.same(app.errors, [])
})

t.test('an invitation: once for an address, listed while pending, cancelled in two ways, never twice', async (t) => {
  const app = await testDaemon(t)
  const check = schemaCheck(app.daemon.routes)
  const made = await invite(app, 'Nina@B.test', app.key, 'admin')
  t.same(check('POST /members', made), [])
  t.equal(made.status, 201)
  t.match(data(made), { email: 'nina@b.test', role: 'admin' })
  const { id, expires_at, created_at } = data<{ id: string; expires_at: string; created_at: string }>(made)
  t.equal(Date.parse(expires_at) - Date.parse(created_at), 7 * DAY)
  t.same(refusalOf(await invite(app, 'nina@b.test')), [409, 'conflict'])
  t.same(refusalOf(await invite(app, 'owner@a.test')), [409, 'conflict'], 'who is a member is not invited')
  t.same(refusalOf(await invite(app, 'no address')), [400, 'invalid_email_address'])

  const list = (): Promise<RestAnswer> => app.rest('GET', `/v1/invitations?workspaceId=${app.workspaceId}`)
  t.same(check('GET /invitations', await list()), [])
  t.match(data(await list()), [{ id, email: 'nina@b.test', invited_by: { full_name: '', email: 'owner@a.test' } }])
  const cancelled = await app.rest('DELETE', `/v1/invitations?workspaceId=${app.workspaceId}&invitationId=${id}`)
  t.same(check('DELETE /invitations', cancelled), [])
  t.same(data(cancelled), { cancelled: true, id })
  t.same(data(await list()), [])
  const again = await app.rest('DELETE', `/v1/invitations/${id}?workspaceId=${app.workspaceId}&invitationId=${id}`)
  t.match(error(again), { status: 409, code: 'conflict', details: { id, status: 'cancelled' } })
  t.same(refusalOf(await accept(app, await buildToken(app, id))), [409, 'conflict'])

  const second = data(await invite(app, 'nina@b.test'))
  const other = await app.rest(
    'DELETE',
    `/v1/invitations/${second.id}?workspaceId=${app.workspaceId}&invitationId=${id}`,
  )
  t.same(refusalOf(other), [400, 'validation_error'], 'two ids in one request')
  t.match(other.json(), { error: { details: { errors: [{ field: 'invitationId', value: id }] } } })
  const foreign = `/v1/invitations/${second.id}?workspaceId=${app.otherWorkspaceId}`
  t.same(
    refusalOf(await app.rest('DELETE', foreign, { key: app.otherKey })),
    [404, 'not_found'],
    'of another workspace',
  )
  t.equal((await app.rest('DELETE', `/v1/invitations/${second.id}?workspaceId=${app.workspaceId}`)).status, 200)
})

t.test('an expired invitation is gone, and a new one takes its place', async (t) => {
  const app = await testDaemon(t)
  const { id } = data(await invite(app, 'nina@b.test'))
  app.advance(7 * DAY)
  t.same(data(await app.rest('GET', `/v1/invitations?workspaceId=${app.workspaceId}`)), [])
  t.match(error(await accept(app, await buildToken(app, id))), { status: 409, message: /expired/ })
  const late = await app.rest('DELETE', `/v1/invitations/${id}?workspaceId=${app.workspaceId}`)
  t.match(error(late), { status: 409, details: { status: 'expired' } })
  const unknown = await app.rest('DELETE', `/v1/invitations/${uuidv7(1)}?workspaceId=${app.workspaceId}`)
  t.same(refusalOf(unknown), [404, 'not_found'])
  t.equal((await invite(app, 'nina@b.test')).status, 201)
})

t.test('two concurrent invitations of the same address make one', async (t) => {
  const app = await testDaemon(t)
  const answers = await Promise.all(Array.from({ length: 5 }, () => invite(app, 'nina@b.test')))
  t.same(answers.map(({ status }) => status).sort(), [201, 409, 409, 409, 409])
  t.same(app.errors, [])
})

t.test('acceptance works once and issues a key', async (t) => {
  const app = await testDaemon(t)
  const check = schemaCheck(app.daemon.routes)
  const { id } = data(await invite(app, 'nina@b.test', app.key, 'admin'))
  const token = await buildToken(app, id)
  t.same(refusalOf(await accept(app, token, { password: 'shorty' })), [400, 'validation_error'])
  t.same(refusalOf(await accept(app, token, { full_name: '' })), [400, 'validation_error'])
  t.same(refusalOf(await accept(app, `${token.slice(0, -1)}_`)), [404, 'not_found'])
  t.same(refusalOf(await accept(app, token, { password: 'x'.repeat(1025) })), [400, 'validation_error'])
  const answers = await Promise.all([accept(app, token), accept(app, token)])
  t.same(answers.map(({ status }) => status).sort(), [201, 409])
  const accepted = answers.find(({ status }) => status === 201)
  if (accepted === undefined) throw new Error('no request was accepted')
  t.same(check('POST /invitations/accept', accepted), [])
  const { member, api_key: key } = data<{ member: { id: string }; api_key: string }>(accepted)
  t.match(member, { role: 'admin', user: { email: 'nina@b.test', full_name: 'Nina Neu', avatar_url: null } })
  t.equal((await app.rest('GET', '/v1/audit-log', { key })).status, 200)
  t.same(refusalOf(await accept(app, token)), [409, 'conflict'])
  const members = data<{ id: string }[]>(await app.rest('GET', `/v1/members?workspaceId=${app.workspaceId}`, { key }))
  t.same(members.at(-1), member)
  const [user] = await app.rows<{ password_hash: string }>(
    `select password_hash from users where email = 'nina@b.test'`,
  )
  t.match(user?.password_hash, /^scrypt\$15\$8\$1\$/)
  t.same(app.errors, [])
})

t.test('for an existing account the password is verified and never set', async (t) => {
  const app = await testDaemon(t)
  const first = data(await invite(app, 'nina@b.test'))
  t.equal((await accept(app, await buildToken(app, first.id))).status, 201)
  const hash = (): Promise<unknown> =>
    app.rows(`select password_hash, full_name from users where email = 'nina@b.test'`)
  const before = await hash()
  const body = { email: 'nina@b.test', role: 'member', workspaceId: app.otherWorkspaceId }
  const { id } = data(await app.rest('POST', '/v1/members', { key: app.otherKey, body }))
  const token = await buildToken(app, id)
  t.same(refusalOf(await accept(app, token, { password: 'another password' })), [403, 'insufficient_permissions'])
  t.same(await hash(), before)
  const accepted = await accept(app, token, { full_name: 'Somebody Else' })
  t.equal(accepted.status, 201)
  t.same(await hash(), before)
  const { api_key: key } = data<{ api_key: string }>(accepted)
  t.equal(data<object[]>(await app.rest('GET', '/v1/workspaces', { key })).length, 2)

  // The owner was created by the command line, without a password.
  const owner = { ...body, email: 'owner@a.test' }
  const { id: theirs } = data(await app.rest('POST', '/v1/members', { key: app.otherKey, body: owner }))
  t.match(error(await accept(app, await buildToken(app, theirs))), { status: 409, message: /no password/ })
  t.equal((await app.cli('user', 'list')).status, 0)
  t.match((await app.cli('user', 'set-password', 'OWNER@a.test')).err, /at least 12 characters/)
  t.match(await runCommand(['user', 'set-password', 'OWNER@a.test', '--config', app.configFile], password), {
    status: 0,
    err: '',
  })
  t.equal((await accept(app, await buildToken(app, theirs))).status, 201)
  t.same(app.errors, [])
})

t.test('an invitation does not allow guessing passwords', async (t) => {
  const app = await testDaemon(t)
  const first = data(await invite(app, 'nina@b.test'))
  t.equal((await accept(app, await buildToken(app, first.id))).status, 201)
  const body = { email: 'nina@b.test', role: 'member', workspaceId: app.otherWorkspaceId }
  const { id } = data(await app.rest('POST', '/v1/members', { key: app.otherKey, body }))
  const token = await buildToken(app, id)
  for (let guess = 0; guess < 5; guess += 1) {
    t.equal((await accept(app, token, { password: `a guess ${guess}` })).status, 403)
  }
  const answer = await accept(app, token)
  t.same(refusalOf(answer), [429, 'rate_limit_exceeded'])
  t.match(answer.headers, { 'retry-after': /^\d+$/ })
})

t.test('a deleted workspace is gone at once for every reader, and later from every table', async (t) => {
  const app = await testDaemon(t)
  const scheduled = [`X-Service-Scheduled-For: ${new Date(app.now() + DAY).toISOString()}`]
  for (let n = 0; n < 5; n += 1) await app.submitAccepted({ to: ['bob@b.test'], fields: scheduled })
  const waiting = data(await invite(app, 'nina@b.test'))
  const session = await app.openSession()
  const answer = await app.rest('DELETE', `/v1/workspaces/${app.workspaceId}`)
  t.same(data(answer), { deleted: true, id: app.workspaceId })
  t.same(refusalOf(await app.rest('GET', '/v1/emails')), [401, 'invalid_api_key'])
  t.match(await session.readReply(), /^421 /)
  t.same(refusalOf(await accept(app, await buildToken(app, waiting.id))), [404, 'not_found'])
  t.match((await app.cli('workspace', 'list', '--json')).json(), { data: [{ id: app.otherWorkspaceId }] })
  await waitUntil(
    'it is erased',
    async () => (await tablesWith(app.daemon.database.read, app.workspaceId)).join() === 'erasures',
  )
  t.same(
    await app.rows(`select email from users`),
    [{ email: 'owner@other.test' }],
    'who belonged to it alone is forgotten',
  )
  t.equal((await app.rest('GET', '/v1/emails', { key: app.otherKey })).status, 200)
  t.same((await app.cli('verify-data', '--json')).json(), { ok: true, problems: [] })
  await app.stop()

  const later = await testDaemon(t, { folder: app.folder })
  await waitUntil(
    'and nothing remembers it',
    async () => (await tablesWith(later.daemon.database.read, app.workspaceId)).length === 0,
  )
  t.same([...app.errors, ...later.errors], [])
})

t.test('a request that was admitted before its workspace was deleted does nothing', async (t) => {
  const app = await testDaemon(t)
  const { database } = app.daemon
  t.equal((await app.rest('GET', '/v1/workspaces')).status, 200)
  // The daemon still has the key in its cache, as a running request does.
  await database.commit(closeWorkspace(app.workspaceId, app.now()))
  t.same(refusalOf(await app.rest('POST', '/v1/workspaces', { body: { name: 'Late' } })), [401, 'invalid_api_key'])
  t.same(refusalOf(await invite(app, 'nina@b.test')), [404, 'not_found'])
  t.equal((await app.rest('POST', '/v1/api-keys', { body: { name: 'late' } })).status, 404)
  t.match(await app.rows('select name from workspaces'), [{ name: 'Other' }])
  t.same(await app.rows('select 1 from members where user_id not in (select id from users)'), [])
  t.same(app.errors, [])
})

t.test('a limited key has its own workspace alone, and neither invites nor raises a role', async (t) => {
  const app = await testDaemon(t)
  const member = await person(app, 'member')
  const other = data(await app.rest('POST', '/v1/workspaces', { body: { name: 'Other' } }))
  const bounds: readonly (readonly [field: string, bound: Partial<KeyRequest>])[] = [
    ['expires_at', { expiresAt: app.now() + DAY }],
    ['allowed_networks', { allowedNetworks: ['127.0.0.0/8'] }],
    ['allowed_domains', { allowedDomains: ['a.test'] }],
  ]
  for (const [field, bound] of bounds) {
    const { key, userId } = await person(app, 'admin', ['full'], bound)
    const refusedFor = (answer: RestAnswer): void => {
      t.match(error(answer), { code: 'insufficient_permissions', details: { bounds: [field] }, message: field }, field)
    }
    refusedFor(await invite(app, 'guest@b.test', key))
    const raise = { workspaceId: app.workspaceId, role: 'admin' }
    refusedFor(await app.rest('PATCH', `/v1/members/${member.memberId}`, { key, body: raise }))
    await app.daemon.database.commit([
      insertMember({ id: uuidv7(1), workspace_id: other.id, user_id: userId, role: 'admin', joined_at: 0 }),
    ])
    const there = { email: 'guest@b.test', role: 'member', workspaceId: other.id }
    refusedFor(await app.rest('POST', '/v1/members', { key, body: there }))
    refusedFor(await app.rest('POST', '/v1/workspaces', { key, body: { name: 'Own' } }))
    const elsewhere = { key, body: { name: 'heir', workspace_id: other.id } }
    refusedFor(await app.rest('POST', '/v1/api-keys', elsewhere))
    refusedFor(await app.rest('GET', `/v1/members?workspaceId=${other.id}`, { key }))
    refusedFor(await app.rest('GET', `/v1/invitations?workspaceId=${other.id}`, { key }))
    refusedFor(await app.rest('GET', `/v1/workspaces/${other.id}`, { key }))
    t.match(data<object[]>(await app.rest('GET', '/v1/workspaces', { key })), [{ id: app.workspaceId }])
    t.equal(data<object[]>(await app.rest('GET', '/v1/workspaces', { key })).length, 1, field)
    const lower = { workspaceId: app.workspaceId, role: 'member' }
    t.equal(
      (await app.rest('PATCH', `/v1/members/${member.memberId}`, { key, body: lower })).status,
      200,
      'it may lower',
    )
    const made = await app.rest('POST', '/v1/api-keys', {
      key,
      body: { name: 'heir', workspace_id: app.workspaceId },
    })
    t.equal(made.status, 201)
    refusedFor(await invite(app, 'guest@b.test', made.json<{ key: string }>().key))
  }
  t.same(await app.rows('select 1 from invitations'), [])
  t.same(app.errors, [])
})

t.test('a removed or demoted member leaves no pending invitation, and a transfer keeps them', async (t) => {
  const app = await testDaemon(t)
  const [gone, demoted] = [await person(app, 'admin'), await person(app, 'admin')]
  const ids = await Promise.all(
    [gone, demoted].map(async ({ key }, n) => data(await invite(app, `guest${n}@b.test`, key, 'admin')).id),
  )
  const kept = data(await invite(app, 'kept@b.test')).id
  t.equal((await app.rest('DELETE', `/v1/members/${gone.memberId}?workspaceId=${app.workspaceId}`)).status, 200)
  const lower = { workspaceId: app.workspaceId, role: 'member' }
  t.equal((await app.rest('PATCH', `/v1/members/${demoted.memberId}`, { body: lower })).status, 200)
  for (const id of ids)
    t.match(error(await accept(app, await buildToken(app, id))), { code: 'conflict', message: /cancelled/ })
  t.match(data(await app.rest('GET', `/v1/invitations?workspaceId=${app.workspaceId}`)), [{ id: kept }])
  const acts = data<object[]>(await app.rest('GET', '/v1/audit-log?limit=2'))
  t.match(acts, [
    { action: 'member.role_changed', details: { cancelled_invitations: [ids[1]] } },
    { action: 'member.removed', details: { cancelled_invitations: [ids[0]] } },
  ])

  t.equal((await app.cli('workspace', 'transfer', app.workspaceId, demoted.email)).status, 0)
  t.equal((await accept(app, await buildToken(app, kept))).status, 201, 'who owned it is an admin, and may invite')
  t.same(app.errors, [])
})

t.test('invitations are counted by member and by address, over all workspaces', async (t) => {
  const app = await testDaemon(t)
  const other = data(await app.rest('POST', '/v1/workspaces', { body: { name: 'Second' } }))
  const inviteTo = (workspaceId: string, email: string, key = app.key): Promise<RestAnswer> =>
    app.rest('POST', '/v1/members', { key, body: { email, role: 'member', workspaceId } })
  for (let n = 0; n < 25; n += 1) {
    for (const id of [app.workspaceId, other.id]) t.equal((await inviteTo(id, `${id}-${n}@b.test`)).status, 201)
  }
  const tooMany = error(await inviteTo(other.id, 'more@b.test'))
  t.match(tooMany, { code: 'rate_limit_exceeded', message: /50 people an hour/, retry_after: Number })
  app.advance(3_600_000)

  for (const [id, email] of [
    [app.workspaceId, 'Nina+1@b.test'],
    [other.id, '"nina+2"@B.test'],
  ] as const) {
    const { id: invitation } = data(await inviteTo(id, email))
    t.equal((await app.rest('DELETE', `/v1/invitations/${invitation}?workspaceId=${id}`)).status, 200)
  }
  t.equal((await inviteTo(app.otherWorkspaceId, 'nina@b.test', app.otherKey)).status, 201, 'the third')
  const fourth = await inviteTo(app.workspaceId, 'NINA@b.test')
  t.equal((await inviteTo(app.workspaceId, 'ｎina+more@b.test')).status, 429, 'another text of the same address')
  t.match(error(fourth), {
    code: 'rate_limit_exceeded',
    message: /an address may be invited/,
    details: { limit: 3, reset_at: /:00:00.000Z$/ },
  })
  t.equal(fourth.headers['retry-after'], String(error(fourth).retry_after))
  t.equal((await inviteTo(app.workspaceId, 'other@b.test')).status, 201, 'others may be invited')
  app.advance(DAY)
  t.equal((await inviteTo(app.workspaceId, 'nina@b.test')).status, 201)
  for (let n = 1; n < 200; n += 1) {
    if (n % 50 === 0) app.advance(3_600_000)
    t.equal((await inviteTo(app.workspaceId, `day-${n}@b.test`)).status, 201)
  }
  app.advance(3_600_000)
  const ofDay = error(await inviteTo(other.id, 'more@b.test'))
  t.match(ofDay, { message: /200 people a day/, retry_after: Number, details: { limit: 200 } })
  t.equal((await inviteTo(app.otherWorkspaceId, 'more@b.test', app.otherKey)).status, 201, 'others may invite')
  t.same(app.errors, [])
})

t.test('invitations of the whole service are limited by the day', async (t) => {
  const app = await testDaemon(t, { settings: { limits: { invitations_per_day: 2 } } })
  for (const email of ['a@b.test', 'b@b.test']) t.equal((await invite(app, email)).status, 201)
  const body = { email: 'c@b.test', role: 'member', workspaceId: app.otherWorkspaceId }
  const third = await app.rest('POST', '/v1/members', { key: app.otherKey, body })
  t.match(error(third), { code: 'rate_limit_exceeded', details: { retry_after: Number, limit: 2 } })
  app.advance(DAY)
  t.equal((await app.rest('POST', '/v1/members', { key: app.otherKey, body })).status, 201)
})

t.test("the operator's workspace cannot be deleted, and its log names those that were", async (t) => {
  const app = await testDaemon(t)
  const path = `/v1/workspaces/${app.workspaceId}`
  t.match(await app.cli('workspace', 'set-operator', app.workspaceId), { status: 0, out: /operator's workspace/ })
  t.match(error(await app.rest('DELETE', path)), { code: 'conflict', message: /workspace set-operator/ })
  const { database } = app.daemon
  await t.rejects(
    database.commit(closeWorkspace(app.workspaceId, 1)),
    { name: 'WriteConflict' },
    'nor by any other way',
  )
  const other = `/v1/workspaces/${app.otherWorkspaceId}`
  t.equal((await app.rest('DELETE', other, { key: app.otherKey })).status, 200)
  const { data: acts } = (await app.rest('GET', '/v1/audit-log')).json<{ data: { action: string; at: string }[] }>()
  t.match(acts[0], {
    action: 'workspace.deleted',
    target: app.otherWorkspaceId,
    details: { name: 'Other', slug: 'other', by_email: 'owner@other.test', by_key: String },
  })
  t.match(
    acts.map(({ action }) => action),
    ['workspace.deleted', 'workspace.made_operators'],
  )
  await waitUntil(
    'it is erased',
    async () => (await tablesWith(app.daemon.database.read, app.otherWorkspaceId)).join() === 'erasures',
  )
  t.match(data(await app.rest('GET', '/v1/audit-log')), [{ action: 'workspace.deleted' }, {}], 'and it stays')

  const second = data(await app.rest('POST', '/v1/workspaces', { body: { name: 'Second' } }))
  await app.cli('workspace', 'set-operator', second.id)
  t.match(data<object[]>(await app.rest('GET', '/v1/audit-log')).length, 0, 'a log of the service is for its operator')
  t.equal((await app.rest('DELETE', path)).status, 200)
  t.same(app.errors, [])
})
