/**
 * Every route against the other workspace, and against every role and scope.
 *
 * Walks the daemon's own list of routes. The expectations are written here, from the interface: a route that this
 * table does not know fails the test, so that no route is added without saying whose it is and who may use it. Signed
 * links need no key; they are tested without a valid signature.
 */
import t, { type Test } from 'tap'
import { parseAddress } from '../../../src/base/mail/address.js'
import { uuidv7 } from '../../../src/base/platform/ids.js'
import type { Role, Scope } from '../../../src/base/storage/tables/account-tables.js'
import { storeInbound } from '../../../src/records/messages/inbound/inbound-email.js'
import type { ErrorBody } from '../../../src/servers/api/http/error-answer.js'
import { isOpenArea, type Route } from '../../../src/servers/api/http/route/route.js'
import { generateKey, insertKey } from '../../../src/workspaces/accounts/keys/api-keys.js'
import { insertMember } from '../../../src/workspaces/accounts/people/members.js'
import { insertUser } from '../../../src/workspaces/accounts/people/users.js'
import { type TestDaemon, testDaemon } from '../../helpers/daemon/test-daemon.js'
import { fileForm } from '../../helpers/http/multipart.js'
import type { RestAnswer } from '../../helpers/http/rest-client.js'
import { inboundMail } from '../../helpers/mail/inbound-mail.js'
import { waitUntil } from '../../helpers/wait-until.js'

/** Roles, and sets of scopes, that are allowed: see the table under "Keys, roles, limits". */
interface Who {
  readonly roles: readonly Role[]
  readonly scopes: readonly string[]
}

const allRoles: readonly Role[] = ['owner', 'admin', 'member']
const administrators: readonly Role[] = ['owner', 'admin']

const sends: Who = { roles: allRoles, scopes: ['full', 'send', 'send,read'] }
const reads: Who = { roles: allRoles, scopes: ['full', 'read', 'send,read'] }
/** A send-only key sees its own sends by id. */
const readsOwnSends: Who = { roles: allRoles, scopes: ['full', 'read', 'send,read', 'send'] }
const writes: Who = { roles: allRoles, scopes: ['full'] }
const administrates: Who = { roles: administrators, scopes: ['full'] }
const readsSettings: Who = { roles: allRoles, scopes: ['full', 'read', 'send,read'] }

type Resource =
  | 'emails'
  | 'api-keys'
  | 'domains'
  | 'suppressions'
  | 'inbound'
  | 'templates'
  | 'contacts'
  | 'audiences'
  | 'imports'
  | 'exports'
  | 'workspaces'
  | 'members'
  | 'invitations'
  | 'webhooks'
  | 'broadcasts'

interface Expected {
  readonly who: Who
  /** Whose id the path has. */
  readonly of?: Resource
  /** What the list holds. */
  readonly lists?: Resource
  /** The code of a request that is allowed and whose id does not exist. */
  readonly body?: (now: number) => object
  /** The code that the owner gets here, where no domain has records in DNS. */
  readonly refused?: string
  /** The request names its workspace: in its body, else in its query. */
  readonly named?: 'body' | 'query'
}

const table: Readonly<Record<string, Expected>> = {
  'POST /emails': { who: sends },
  'POST /emails/batch': { who: sends },
  'GET /emails': { who: reads, lists: 'emails' },
  'GET /emails/:id': { who: readsOwnSends, of: 'emails' },
  'GET /emails/:id/raw': { who: readsOwnSends, of: 'emails' },
  'GET /emails/:id/clicks': { who: readsOwnSends, of: 'emails' },
  'GET /emails/:id/story': { who: readsOwnSends, of: 'emails' },
  'PATCH /emails/:id': { who: sends, of: 'emails', body: (now) => ({ scheduled_for: soon(now) }) },
  'POST /emails/:id/cancel': { who: sends, of: 'emails' },
  'POST /api-keys': { who: administrates },
  'GET /api-keys': { who: readsSettings, lists: 'api-keys' },
  'DELETE /api-keys/:id': { who: administrates, of: 'api-keys' },
  'POST /domains': { who: administrates },
  'GET /domains': { who: readsSettings, lists: 'domains' },
  'GET /domains/:id': { who: readsSettings, of: 'domains' },
  'PATCH /domains/:id': { who: administrates, of: 'domains', body: () => ({ blocked_addresses: ['sold'] }) },
  'POST /domains/:id/verify': { who: administrates, of: 'domains', refused: 'domain_verification_failed' },
  'POST /domains/:id/rotate': { who: administrates, of: 'domains', refused: 'domain_not_verified' },
  'GET /domains/:id/reports': { who: readsSettings, of: 'domains' },
  'GET /domains/:id/reports/:reportId': { who: readsSettings, of: 'domains', refused: 'not_found' },
  'DELETE /domains/:id': { who: administrates, of: 'domains' },
  'POST /domains/:id/forwards': {
    who: administrates,
    of: 'domains',
    body: () => ({ match: 'sales', to: ['bob@b.test'] }),
    refused: 'domain_not_verified',
  },
  'GET /domains/:id/forwards': { who: readsSettings, of: 'domains' },
  'GET /domains/:id/forwards/:forward_id': { who: readsSettings, of: 'domains', refused: 'not_found' },
  'PATCH /domains/:id/forwards/:forward_id': {
    who: administrates,
    of: 'domains',
    body: () => ({ enabled: false }),
    refused: 'domain_not_verified',
  },
  'DELETE /domains/:id/forwards/:forward_id': { who: administrates, of: 'domains', refused: 'not_found' },
  'GET /events': { who: reads, lists: 'emails' },
  'GET /emails/:id/events': { who: readsOwnSends, of: 'emails' },
  'GET /suppressions': { who: reads, lists: 'suppressions' },
  'POST /suppressions': { who: writes },
  'GET /suppressions/:id': { who: reads, of: 'suppressions' },
  'DELETE /suppressions/:id': { who: writes, of: 'suppressions' },
  'DELETE /suppressions': { who: writes },
  'POST /suppressions/import': { who: writes },
  'GET /inbound': { who: reads, lists: 'inbound' },
  'GET /inbound/:id': { who: reads, of: 'inbound' },
  'GET /inbound/:id/raw': { who: reads, of: 'inbound' },
  'GET /inbound/:id/attachments': { who: reads, of: 'inbound' },
  'GET /inbound/:id/forwards': { who: reads, of: 'inbound' },
  'POST /inbound/:id/reply': { who: sends, of: 'inbound', body: () => ({ text: 'hello' }) },
  'POST /inbound/:id/feedback': { who: writes, of: 'inbound', body: () => ({ verdict: 'spam' }) },
  'DELETE /inbound/:id': { who: writes, of: 'inbound' },
  'POST /templates': { who: writes },
  'GET /templates': { who: reads, lists: 'templates' },
  'GET /templates/:id': { who: reads, of: 'templates' },
  'PATCH /templates/:id': { who: writes, of: 'templates', body: () => ({ name: 'new' }) },
  'DELETE /templates/:id': { who: writes, of: 'templates' },
  'POST /templates/:id/render': { who: reads, of: 'templates', body: () => ({}) },
  'POST /files': { who: sends },
  'POST /sms/verify/send': { who: sends },
  'POST /sms/verify/check': { who: sends },
  'POST /contacts': { who: writes },
  'GET /contacts': { who: reads, lists: 'contacts' },
  'GET /contacts/:id': { who: reads, of: 'contacts' },
  'PATCH /contacts/:id': { who: writes, of: 'contacts', body: () => ({ first_name: 'New' }) },
  'DELETE /contacts/:id': { who: writes, of: 'contacts' },
  'POST /contacts/bulk': { who: writes },
  'POST /audiences': { who: writes },
  'GET /audiences': { who: reads, lists: 'audiences' },
  'GET /audiences/:id': { who: reads, of: 'audiences' },
  'PATCH /audiences/:id': { who: writes, of: 'audiences', body: () => ({ name: 'New' }) },
  'DELETE /audiences/:id': { who: writes, of: 'audiences' },
  'POST /audiences/:id/import': { who: writes, of: 'audiences' },
  'POST /audiences/:id/import/preview': { who: writes, of: 'audiences' },
  'GET /audiences/:id/export': { who: reads, of: 'audiences' },
  'GET /imports/:id': { who: writes, of: 'imports' },
  'POST /broadcasts': { who: writes },
  'GET /broadcasts': { who: reads, lists: 'broadcasts' },
  'GET /broadcasts/:id': { who: reads, of: 'broadcasts' },
  'PATCH /broadcasts/:id': { who: writes, of: 'broadcasts', body: () => ({ name: 'New' }) },
  'POST /broadcasts/:id/test': {
    who: writes,
    of: 'broadcasts',
    body: () => ({ to: 'bob@b.test' }),
    refused: 'invalid_from_address',
  },
  'POST /broadcasts/:id/send': {
    who: writes,
    of: 'broadcasts',
    body: (now) => ({ scheduled_for: soon(now) }),
    refused: 'invalid_from_address',
  },
  'POST /broadcasts/:id/pause': { who: writes, of: 'broadcasts', refused: 'conflict' },
  'POST /broadcasts/:id/resume': { who: writes, of: 'broadcasts', refused: 'conflict' },
  'POST /broadcasts/:id/cancel': { who: writes, of: 'broadcasts', refused: 'conflict' },
  'POST /broadcasts/:id/duplicate': { who: writes, of: 'broadcasts' },
  'GET /broadcasts/:id/recipients': { who: reads, of: 'broadcasts' },
  'DELETE /broadcasts/:id': { who: writes, of: 'broadcasts' },
  'GET /breakers': { who: reads },
  'POST /breakers/:id/release': { who: administrates, of: 'workspaces', refused: 'not_found' },
  'POST /exports': { who: writes },
  'GET /exports': { who: reads, lists: 'exports' },
  'GET /exports/:id/download': { who: reads, of: 'exports' },
  'DELETE /exports': { who: writes },
  // The role of the key's user in the named workspace decides: see members.test.ts.
  'GET /workspaces': { who: readsSettings, lists: 'workspaces' },
  'POST /workspaces': { who: writes },
  'GET /workspaces/:id': { who: readsSettings, of: 'workspaces' },
  'PATCH /workspaces/:id': { who: writes, of: 'workspaces', body: () => ({ icon_url: null }) },
  'DELETE /workspaces/:id': { who: writes, of: 'workspaces' },
  'POST /workspaces/:id/transfer': {
    who: writes,
    of: 'workspaces',
    body: () => ({ member_id: 'x', password: 'correct horse battery' }),
    refused: 'insufficient_permissions',
  },
  'GET /members': { who: readsSettings, lists: 'members', named: 'query' },
  'POST /members': { who: writes },
  'PATCH /members/:id': { who: writes, of: 'members', body: () => ({ role: 'member' }), named: 'body' },
  'DELETE /members/:id': { who: writes, of: 'members', named: 'query' },
  'GET /invitations': { who: readsSettings, lists: 'invitations', named: 'query' },
  'DELETE /invitations/:id': { who: writes, of: 'invitations', named: 'query' },
  'DELETE /invitations': { who: writes },
  'POST /webhooks': { who: administrates },
  'GET /webhooks': { who: readsSettings, lists: 'webhooks' },
  'GET /webhooks/:id': { who: readsSettings, of: 'webhooks' },
  'PATCH /webhooks/:id': { who: administrates, of: 'webhooks', body: () => ({ events: ['email.sent'] }) },
  'DELETE /webhooks/:id': { who: administrates, of: 'webhooks' },
  'GET /webhooks/:id/deliveries': { who: readsSettings, of: 'webhooks' },
  'GET /webhooks/:id/deliveries/:deliveryId': { who: readsSettings, of: 'webhooks', refused: 'not_found' },
  'POST /webhooks/:id/test': { who: administrates, of: 'webhooks' },
  'POST /webhooks/:id/rotate-secret': { who: administrates, of: 'webhooks' },
  'POST /webhooks/:id/deliveries/:deliveryId/replay': { who: administrates, of: 'webhooks', refused: 'not_found' },
  'POST /webhooks/:id/replay': {
    who: administrates,
    of: 'webhooks',
    body: (now) => ({ from: soon(now - 7_200_000), to: soon(now) }),
  },
  'GET /metrics': { who: reads },
  'GET /metrics/links': { who: reads },
  'GET /usage': { who: reads },
  'GET /audit-log': { who: administrates },
}

const codes: Readonly<Record<Resource, string>> = {
  emails: 'email_not_found',
  'api-keys': 'not_found',
  domains: 'domain_not_found',
  suppressions: 'not_found',
  inbound: 'not_found',
  templates: 'template_not_found',
  contacts: 'contact_not_found',
  audiences: 'audience_not_found',
  imports: 'not_found',
  exports: 'not_found',
  workspaces: 'not_found',
  members: 'not_found',
  invitations: 'not_found',
  webhooks: 'webhook_not_found',
  broadcasts: 'not_found',
}

/** Routes that need no key, but a signed link or one of our tokens in the body. */
const links: readonly string[] = ['GET /inbound/:id/attachments/:place', 'GET /inbound/:id/raw/download']
const open: readonly string[] = ['POST /invitations/accept']
/** Needs no key, since mail clients request it; what it answers is in the message: test/journeys/opens-and-clicks. */
const tracking: readonly string[] = ['GET /track/open/:emailId', 'GET /track/click/:trackingId']

/** Codes are sent. */
const sms = { provider: 'log', allowed_countries: ['DE'] }

const soon = (now: number): string => new Date(now + 3_600_000).toISOString()

const lineOf = ({ method, path }: Route): string => `${method} ${path}`
const error = (answer: RestAnswer): ErrorBody['error'] => answer.json<ErrorBody>().error

function expected(route: Route): Expected {
  const found = table[lineOf(route)]
  if (found === undefined) throw new Error(`${lineOf(route)}: who may use it, and whose is it? Say it in this table`)
  return found
}

/** Routes that need a key. */
function keyRoutes(app: TestDaemon): readonly Route[] {
  return app.daemon.routes.filter((route) => !isOpenArea(route.area))
}

/** One resource of each kind in a workspace. */
async function things(app: TestDaemon, key: string, domain: string): Promise<Readonly<Record<Resource, string>>> {
  const made = async (path: string, body: object): Promise<string> => {
    const answer = await app.rest('POST', path, { key, body })
    if (answer.status !== 201) throw new Error(answer.text)
    return answer.json<{ readonly id: string }>().id
  }
  const fields = [`X-Service-Scheduled-For: ${soon(app.now())}`]
  return {
    emails: await app.submitAccepted({ key, from: `app@${domain}`, to: ['bob@b.test'], fields }),
    'api-keys': await made('/v1/api-keys', { name: `key of ${domain}` }),
    domains: await made('/v1/domains', { domain: `new.${domain}` }),
    suppressions: await made('/v1/suppressions', { email: `gone@${domain}` }),
    inbound: await inboundIn(app, key, domain),
    templates: await made('/v1/templates', { name: 'n', subject: `of ${domain}`, text: 't' }),
    contacts: await made('/v1/contacts', { email: `contact@${domain}` }),
    audiences: await made('/v1/audiences', { name: `readers of ${domain}` }),
    imports: await importOf(app, key),
    exports: await exportOf(app, key),
    workspaces: workspaceOf(app, key),
    members: await memberIn(app, key, domain),
    invitations: await inviteGuest(app, key, domain),
    webhooks: await made('/v1/webhooks', { url: `https://hooks.${domain}/`, events: ['email.complained'] }),
    broadcasts: await made('/v1/broadcasts', {
      ...{ name: `to readers of ${domain}`, subject: 's', text: 't', from: `app@unverified.${domain}` },
      audience_id: await made('/v1/audiences', { name: `subscribers of ${domain}` }),
    }),
  }
}

function workspaceOf(app: TestDaemon, key: string): string {
  return key === app.key ? app.workspaceId : app.otherWorkspaceId
}

/** A finished import. */
async function importOf(app: TestDaemon, key: string): Promise<string> {
  const file = fileForm(`email\n${'nobody\n'.repeat(1_001)}`)
  const answer = await app.rest('POST', '/v1/suppressions/import', { key, ...file })
  if (answer.status !== 202) throw new Error(answer.text)
  const { import_id: id } = answer.json<{ readonly data: { readonly import_id: string } }>().data
  await waitUntil(
    'it is over',
    async () => (await app.rows(`select 1 from imports where id = ? and status = 'completed'`, id))[0],
  )
  await waitUntil(
    'its file is gone',
    async () => (await app.rows('select 1 from import_chunks where import_id = ?', id))[0] === undefined,
  )
  return id
}

/** A finished export. */
async function exportOf(app: TestDaemon, key: string): Promise<string> {
  const body = { type: 'opens', from_date: '2026-01-01', to_date: '2026-01-02' }
  const answer = await app.rest('POST', '/v1/exports', { key, body })
  if (answer.status !== 202) throw new Error(answer.text)
  const { export_id: id } = answer.json<{ readonly data: { readonly export_id: string } }>().data
  await waitUntil(
    'it is over',
    async () => (await app.rows(`select 1 from exports where id = ? and status = 'completed'`, id))[0],
  )
  return id
}

async function memberIn(app: TestDaemon, key: string, domain: string): Promise<string> {
  const [id, userId] = [uuidv7(app.now()), uuidv7(app.now())]
  await app.daemon.database.commit([
    insertUser({
      id: userId,
      email: parseAddress(`one@${domain}`),
      full_name: 'One',
      password_hash: null,
      created_at: 0,
    }),
    insertMember({ id, workspace_id: workspaceOf(app, key), user_id: userId, role: 'admin', joined_at: app.now() }),
  ])
  return id
}

async function inviteGuest(app: TestDaemon, key: string, domain: string): Promise<string> {
  const body = { workspaceId: workspaceOf(app, key), email: `guest@${domain}`, role: 'member' }
  const answer = await app.rest('POST', '/v1/members', { key, body })
  if (answer.status !== 201) throw new Error(answer.text)
  return answer.json<{ readonly data: { readonly id: string } }>().data.id
}

/** An inbound email, as the listener files it. */
async function inboundIn(app: TestDaemon, key: string, domain: string): Promise<string> {
  const id = uuidv7(app.now())
  const email = inboundMail({
    id,
    workspace_id: key === app.key ? app.workspaceId : app.otherWorkspaceId,
    domain,
    envelope_to: [`info@${domain}`],
  })
  await app.daemon.database.commit(
    storeInbound(email, Buffer.from(`Reply-To: bob@b.test\r\nTo: info@${domain}\r\n\r\nhello\r\n`)),
  )
  await waitUntil(
    'it is looked at',
    async () => (await app.rows(`select 1 from inbound_emails where id = ? and status = 'processed'`, id))[0],
  )
  return id
}

/** All rows of a workspace, without the last use of its keys. */
async function everythingOf(app: TestDaemon, workspaceId: string): Promise<unknown> {
  const tables = [
    'emails',
    'recipients',
    'queue',
    'raw_messages',
    'domains',
    'blocked_addresses',
    'forward_rules',
    'forward_targets',
    'inbound_forwards',
    'dkim_keys',
    'suppressions',
    'contacts',
    'audiences',
    'contact_counts',
    'audit_log',
    'inbound_emails',
    'inbound_raw',
    'templates',
    'cached_files',
    'bayes_messages',
    'bayes_learned',
    'bayes_tokens',
    'members',
    'invitations',
    'imports',
    'import_chunks',
    'exports',
    'export_chunks',
    'sms_codes',
    'webhooks',
    'webhook_deliveries',
    'webhook_replays',
    'broadcasts',
    'broadcast_frames',
    'broadcast_links',
  ]
  const keys = 'select id, name, scopes, revoked_at from api_keys where workspace_id = ? order by id'
  return [
    await app.rows(keys, workspaceId),
    ...(await Promise.all(tables.map((name) => app.rows(`select * from ${name} where workspace_id = ?`, workspaceId)))),
  ]
}

const malformed = (id: string): readonly string[] => [
  'x',
  '0',
  '-1',
  'null',
  '%',
  "' or 1=1 --",
  '\0',
  `${id}x`,
  id.slice(1),
  ` ${id}`,
  '../../workspaces/domains',
  '🦊',
  'x'.repeat(4000),
]

t.test('an id of another workspace does not exist at any route, and its rows stay as they are', async (t) => {
  const app = await testDaemon(t, { settings: { sms } })
  await things(app, app.key, 'a.test')
  const theirs = await things(app, app.otherKey, 'other.test')
  const before = await everythingOf(app, app.otherWorkspaceId)
  const own = await everythingOf(app, app.workspaceId)
  const routes = keyRoutes(app).filter(({ path }) => path.includes(':'))
  const ask = async (route: Route, id: string, key: string): Promise<RestAnswer> => {
    const { body, named } = expected(route)
    const workspaceId = workspaceOf(app, key)
    const query = named === 'query' ? `?workspaceId=${workspaceId}` : ''
    const path = `/v1${route.path.replace(':id', encodeURIComponent(id))}${query}`
    const given = { ...body?.(app.now()), ...(named === 'body' ? { workspaceId } : {}) }
    const request = route.file !== null ? fileForm('email\nnew@b.test\n') : body === undefined ? {} : { body: given }
    return app.rest(route.method, path, { key, ...request })
  }
  for (const route of routes) {
    const { of = 'emails' } = expected(route)
    for (const id of [theirs[of], ...malformed(theirs[of])]) {
      const answer = await ask(route, id, app.key)
      const { code, details } = error(answer)
      t.same([answer.status, code], [404, codes[of]], `${lineOf(route)} ${id.slice(0, 50)}`)
      if (id === theirs[of]) t.match(details, { id })
    }
  }
  t.same(await everythingOf(app, app.otherWorkspaceId), before)
  t.same(await everythingOf(app, app.workspaceId), own)

  const last = ({ method, path }: Route): number =>
    path === '/workspaces/:id' && method === 'DELETE' ? 3 : method === 'DELETE' ? 2 : path.endsWith('/cancel') ? 1 : 0
  for (const route of [...routes].sort((one, other) => last(one) - last(other))) {
    const { of = 'emails', refused } = expected(route)
    const answer = await ask(route, theirs[of], app.otherKey)
    if (refused !== undefined) t.equal(error(answer).code, refused, `${lineOf(route)} gets as far as that`)
    else t.ok(answer.status < 300, `${lineOf(route)} works for whose it is: ${answer.status}`)
  }
  t.same(app.errors, [])
})

t.test('a list holds the rows of the workspace and no others', async (t) => {
  const app = await testDaemon(t, { settings: { sms } })
  const own = await things(app, app.key, 'a.test')
  const theirs = await things(app, app.otherKey, 'other.test')
  for (const route of keyRoutes(app)) {
    if (route.method !== 'GET' || route.path.includes(':')) continue
    const { lists, named } = expected(route)
    for (const [key, mine, foreign, name] of [
      [app.key, own, theirs, 'other.test'],
      [app.otherKey, theirs, own, '@a.test'],
    ] as const) {
      const query = named === undefined ? '' : `?workspaceId=${workspaceOf(app, key)}`
      const { status, text } = await app.rest('GET', `/v1${route.path}${query}`, { key })
      t.equal(status, 200, lineOf(route))
      if (lists !== undefined) t.ok(text.includes(mine[lists]), `${lineOf(route)} holds what is there`)
      const strange = [...Object.values(foreign), name].filter((word) => text.includes(word))
      t.same(strange, [], `${lineOf(route)} holds nothing of the other`)
    }
  }
  t.same(app.errors, [])
})

const scopeSets = ['full', 'send', 'read', 'send,read', ''] as const

/** A key for each role and set of scopes. */
async function keysOfAll(app: TestDaemon): Promise<ReadonlyMap<string, string>> {
  const { commit } = app.daemon.database
  const keys = new Map<string, string>()
  for (const role of allRoles) {
    const userId = await memberWith(app, role)
    for (const scopes of scopeSets) {
      const list = scopes === '' ? [] : (scopes.split(',') as Scope[])
      const key = generateKey({ workspaceId: app.workspaceId, userId, name: 'k', now: app.now(), scopes: list })
      await commit([insertKey(key.row)])
      keys.set(`${role} ${scopes}`, key.secret)
    }
  }
  return keys
}

async function memberWith(app: TestDaemon, role: Role): Promise<string> {
  const find = 'select user_id as id from members where workspace_id = ? and role = ?'
  const [there] = await app.rows<{ id: string }>(find, app.workspaceId, role)
  if (there !== undefined) return there.id
  const user = 'insert into users (id, email, full_name, created_at) values (?, ?, ?, 0)'
  const member = 'insert into members (id, workspace_id, user_id, role, joined_at) values (?, ?, ?, ?, 0)'
  await app.daemon.database.commit([
    { sql: user, parameters: [role, `${role}@a.test`, role] },
    { sql: member, parameters: [`m-${role}`, app.workspaceId, role, role] },
  ])
  return role
}

const unknownId = '0197b9e5-5c1c-7cf4-8d1f-0b6a2f6f4a10'

t.test('every role and scope is allowed at every route what the interface says, and no more', async (t) => {
  const app = await testDaemon(t, { settings: { sms } })
  const keys = await keysOfAll(app)
  const before = await everythingOf(app, app.workspaceId)
  for (const route of keyRoutes(app)) await walkRoles(t, app, route, keys)
  t.same(await everythingOf(app, app.workspaceId), before, 'nothing of it has changed anything')
  t.same(app.errors, [])
})

/** With an unknown id and an invalid body, an allowed key gets past the check of permissions. */
async function walkRoles(t: Test, app: TestDaemon, route: Route, keys: ReadonlyMap<string, string>): Promise<void> {
  const { roles, scopes: enough } = expected(route).who
  const request = route.file !== null ? fileForm('') : route.body === null ? {} : { body: {} }
  for (const role of allRoles) {
    for (const scopes of scopeSets) {
      const key = keys.get(`${role} ${scopes}`) ?? ''
      const path = `/v1${route.path.replace(':id', unknownId)}`
      const answer = await app.rest(route.method, path, { key, ...request })
      const may = roles.includes(role) && enough.includes(scopes)
      const what = `${lineOf(route)} as ${role} with "${scopes}": ${may ? 'yes' : 'no'}, ${answer.status}`
      if (may) t.ok([200, 400, 404].includes(answer.status), what)
      else t.same([answer.status, error(answer).code], [403, 'insufficient_permissions'], what)
    }
  }
}

t.test('a link with a wrong signature is refused, with any key', async (t) => {
  const app = await testDaemon(t, { settings: { sms } })
  const { inbound } = await things(app, app.key, 'a.test')
  const routes = app.daemon.routes.filter(({ area }) => area === 'link')
  t.same(routes.map(lineOf), links, 'every route without a key is known to this file')
  t.same(app.daemon.routes.filter(({ area }) => area === 'public').map(lineOf), open)
  t.same(app.daemon.routes.filter(({ area }) => area === 'tracking').map(lineOf), tracking)
  const expires = String(app.now() + 1000)
  const query = new URLSearchParams({ workspace: app.workspaceId, expires, signature: 'A'.repeat(43) })
  for (const route of routes) {
    const path = `/v1${route.path.replace(':id', inbound).replace(/:\w+/, '0')}`
    for (const key of [null, 'ph_wrong', app.key, app.otherKey]) {
      const answer = await app.rest('GET', `${path}?${query.toString()}`, { key })
      t.same([answer.status, error(answer).code], [403, 'insufficient_permissions'], lineOf(route))
    }
    t.equal((await app.rest('GET', path, { key: app.key })).status, 400)
  }
  t.same(app.errors, [])
})
