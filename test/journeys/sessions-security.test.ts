/** Attacks on sessions of people in a browser, through the real listener: each is refused. */
import t, { type Test } from 'tap'
import { removeMember, setRole } from '../../src/workspaces/accounts/people/members.js'
import { requireOperator } from '../../src/workspaces/accounts/sessions/session-principal.js'
import { setOperatorWorkspace } from '../../src/workspaces/accounts/workspace/operator-workspace.js'
import { catchRefusal } from '../helpers/catch-refusal.js'
import { type TestDaemon, testDaemon } from '../helpers/daemon/test-daemon.js'
import { tablesOf } from '../helpers/database/rows.js'
import { givePassword, openBrowser, PASSWORD } from '../helpers/http/browser-client.js'
import type { RestAnswer } from '../helpers/http/rest-client.js'

const OWNER = 'owner@a.test'

const codeOf = (answer: RestAnswer): string =>
  `${answer.status} ${answer.json<{ error: { code: string } }>().error.code}`

type Browser = ReturnType<typeof openBrowser>

async function withBrowser(
  t: Test,
  options: Parameters<typeof testDaemon>[1] = {},
): Promise<{ app: TestDaemon; browser: Browser }> {
  const app = await testDaemon(t, options)
  await givePassword(app)
  const browser = openBrowser(app)
  t.equal((await browser.signIn(OWNER)).status, 201)
  return { app, browser }
}

/** A member of the workspace with a password, signed in. */
async function joinAs(app: TestDaemon, email: string, role: string): Promise<{ browser: Browser; memberId: string }> {
  const body = { email, role, workspaceId: app.workspaceId }
  const invited = await app.rest('POST', '/v1/members', { body })
  const { invitation_id: id } = JSON.parse(
    (
      await app.rows<{ data: string }>(
        `select data from events where type = 'invitation.created' order by seq desc limit 1`,
      )
    )[0]?.data ?? '',
  ) as { invitation_id: string }
  if (invited.status !== 201) throw new Error(invited.text)
  const [row] = await app.rows<{ value: string }>(`select value from service_state where key = 'link_secret'`)
  const { buildInvitationToken } = await import('../../src/workspaces/accounts/people/invitations.js')
  const { createSecretKey } = await import('node:crypto')
  const secret = createSecretKey(Buffer.from(row?.value ?? '', 'base64url'))
  const token = buildInvitationToken(secret, id)
  const accepted = await app.rest('POST', '/v1/invitations/accept', {
    key: null,
    body: { token, full_name: 'Ann', password: 'correct horse battery' },
  })
  if (accepted.status !== 201) throw new Error(accepted.text)
  const browser = openBrowser(app)
  await browser.signIn(email)
  return { browser, memberId: accepted.json<{ data: { member: { id: string } } }>().data.member.id }
}

const foreignSources: readonly (readonly [string, Readonly<Record<string, string>>])[] = [
  ['another site', { 'sec-fetch-site': 'cross-site' }],
  ['another host of the same site', { 'sec-fetch-site': 'same-site' }],
  ['a link that was typed', { 'sec-fetch-site': 'none' }],
]

t.test('a request that changes something must come from our own site', async (t) => {
  const { app, browser } = await withBrowser(t)
  for (const [source, headers] of foreignSources) {
    for (const [method, path, body] of [
      ['POST', '/v1/audiences', { name: 'x' }],
      ['DELETE', '/sessions', undefined],
      ['DELETE', '/session', undefined],
      ['POST', '/session', { email: OWNER, password: 'correct horse battery' }],
    ] as const) {
      const answer = await browser.ask(method, path, { body, headers })
      t.equal(codeOf(answer), '403 insufficient_permissions', `${method} ${path} from ${source}`)
    }
  }
  // Without Sec-Fetch-Site, Origin decides.
  const bare = async (origin: string | null): Promise<RestAnswer> =>
    app.rest('POST', '/ui/api/v1/audiences', {
      key: null,
      body: { name: String(origin) },
      headers: {
        cookie: browser.cookie,
        'x-workspace-id': app.workspaceId,
        ...(origin === null ? {} : { origin }),
      },
    })
  const port = app.daemon.api.map((endpoint) => (endpoint.kind === 'unix' ? 0 : endpoint.port))[0]
  t.equal((await bare(`https://127.0.0.1:${port}`)).status, 201, 'our own Origin')
  for (const origin of [
    null,
    'null',
    'https://evil.test',
    `http://127.0.0.1:${port}`,
    `https://127.0.0.1:${port}.evil.test`,
  ]) {
    t.equal(codeOf(await bare(origin)), '403 insufficient_permissions', `Origin ${origin}`)
  }
  t.equal((await app.rows('select 1 from audiences')).length, 1, 'nothing else was made')
  t.equal((await browser.ask('GET', '/session')).status, 200, 'the session goes on')
  const read = await browser.ask('GET', '/session', { headers: { 'sec-fetch-site': 'cross-site' } })
  t.equal(codeOf(read), '403 insufficient_permissions', 'other sites do not even read')
})

t.test('a form of another site has no type that is accepted', async (t) => {
  const { app, browser } = await withBrowser(t)
  const types = ['application/x-www-form-urlencoded', 'text/plain', 'multipart/form-data; boundary=x', 'text/json']
  for (const type of types) {
    for (const path of ['/v1/audiences', '/session', `/v1/domains/x/verify`, '/totp']) {
      const answer = await browser.ask('POST', path, { body: '{"name":"x"}', headers: { 'content-type': type } })
      t.equal(codeOf(answer), '415 unsupported_media_type', `${path} as ${type}`)
    }
  }
  t.equal((await app.rows('select 1 from audiences')).length, 0)
})

t.test('a sign-in makes a new token, and ends the session that the browser had', async (t) => {
  const { app, browser } = await withBrowser(t)
  const first = browser.cookie
  const planted = openBrowser(app)
  planted.cookie = `__Host-posthorn=${'A'.repeat(43)}`
  t.equal((await planted.signIn(OWNER)).status, 201)
  t.not(planted.cookie, `__Host-posthorn=${'A'.repeat(43)}`, 'a token that was planted is not taken')
  await browser.signIn(OWNER)
  t.not(browser.cookie, first)
  const old = openBrowser(app)
  old.cookie = first
  t.equal((await old.ask('GET', '/session')).status, 401)
  for (const cookie of [
    '__Host-posthorn=',
    '__Host-posthorn=x',
    `posthorn=${first.slice(16)}`,
    '=',
    ';;;',
    'a'.repeat(5_000),
  ]) {
    old.cookie = cookie
    t.equal(codeOf(await old.ask('GET', '/session')), '401 authentication_required', cookie.slice(0, 20))
  }
})

t.test('a role that changes and a membership that ends count at once in an open session', async (t) => {
  const { app } = await withBrowser(t)
  const { browser, memberId } = await joinAs(app, 'ann@b.test', 'admin')
  t.equal((await browser.ask('GET', '/v1/audit-log')).status, 200, 'an admin')
  const body = { name: 'by a session' }
  t.equal((await browser.ask('POST', '/v1/api-keys', { body })).status, 201)
  const at = { workspaceId: app.workspaceId, id: memberId }
  await app.daemon.database.commit([setRole({ ...at, role: 'member' })])
  t.equal(codeOf(await browser.ask('GET', '/v1/audit-log')), '403 insufficient_permissions')
  t.equal(codeOf(await browser.ask('POST', '/v1/api-keys', { body })), '403 insufficient_permissions')
  t.equal((await browser.ask('GET', '/v1/emails')).status, 200, 'what a member may do still works')
  const [{ user_id: userId = '' } = {}] = await app.rows<{ user_id: string }>(
    'select user_id from members where id = ?',
    memberId,
  )
  await app.daemon.database.commit(removeMember({ ...at, userId }, app.now()))
  t.equal(codeOf(await browser.ask('GET', '/v1/emails')), '403 insufficient_permissions')
  t.same((await browser.ask('GET', '/session')).json()['workspaces'], [])
})

t.test("a workspace that is not the user's cannot be chosen, existing or not", async (t) => {
  const { app, browser } = await withBrowser(t)
  for (const id of [app.otherWorkspaceId, 'ws_none', 'service', "' or 1=1 --"]) {
    browser.workspaceId = id
    const answer = await browser.ask('GET', '/v1/emails')
    t.equal(codeOf(answer), '403 insufficient_permissions', id)
    t.equal(answer.json()['error']?.['message'], 'not permitted: you do not belong to this workspace')
    t.equal(codeOf(await browser.ask('POST', '/v1/audiences', { body: { name: 'x' } })), '403 insufficient_permissions')
    t.equal(
      codeOf(await browser.ask('GET', `/frames/${encodeURIComponent(id)}/emails/x`)),
      '403 insufficient_permissions',
    )
  }
  browser.workspaceId = 'x'.repeat(101)
  t.equal(codeOf(await browser.ask('GET', '/v1/emails')), '400 missing_required_field')
})

t.test('no key is taken in place of a session, and no session in place of a key', async (t) => {
  const { app, browser } = await withBrowser(t)
  const headers = { 'x-workspace-id': app.workspaceId, 'sec-fetch-site': 'same-origin' }
  t.equal(codeOf(await app.rest('GET', '/ui/api/v1/emails', { headers })), '401 authentication_required')
  const bySession = await app.rest('GET', '/v1/emails', { key: null, headers: { ...headers, cookie: browser.cookie } })
  t.equal(codeOf(bySession), '401 missing_api_key')
  for (const path of [
    '/v1/ui/api/v1/emails',
    '/ui/api',
    '/ui/api/',
    '/ui/api/v1',
    '/ui/api/v1/',
    '/ui/api/none',
    '/ui/api//session',
  ]) {
    t.ok(
      (await app.rest('GET', path, { key: null, headers: { ...headers, cookie: browser.cookie } })).status >= 400,
      path,
    )
  }
})

t.test('tokens, codes and passwords are in no log line, and not in the database as they are', async (t) => {
  const { app, browser } = await withBrowser(t, { level: 'debug' })
  const token = browser.cookie.split('=')[1] ?? ''
  const wrong = 'not the password of anyone'
  await openBrowser(app).signIn(OWNER, { password: wrong })
  const { secret } = (await browser.ask('POST', '/totp', { body: { password: 'correct horse battery' } })).json<{
    secret: string
  }>()
  await browser.ask('DELETE', '/session')
  const log = app.lines.join('')
  t.match(log, /a sign-in failed/)
  for (const text of [token, wrong, 'correct horse battery', secret, OWNER])
    t.notOk(log.includes(text), 'not in the log')
  const tables = await tablesOf(app.daemon.database.read)
  const everything = JSON.stringify(await Promise.all(tables.map((name) => app.rows(`select * from ${name}`))))
  t.notOk(everything.includes(token), 'not in the database')
  t.notOk(everything.includes(wrong))
})

t.test('guesses are limited for each account and address, and reveal no account', async (t) => {
  const { app } = await withBrowser(t)
  const browser = openBrowser(app)
  const ask = (email: string): Promise<RestAnswer> => browser.signIn(email, { password: 'a wrong password' })
  const [known, unknown, none] = [await ask(OWNER), await ask('nobody@a.test'), await ask('owner@other.test')]
  t.equal(codeOf(known), '401 invalid_credentials')
  const bodyOf = ({ text }: RestAnswer): string => text
  t.same([bodyOf(unknown), bodyOf(none)], [bodyOf(known), bodyOf(known)], 'the same answer')
  for (const email of [OWNER, 'nobody@a.test']) {
    app.advance(60_000)
    const answers: string[] = []
    for (let attempt = 0; attempt < 11; attempt += 1) answers.push(codeOf(await ask(email)))
    t.same(answers.slice(0, 10), Array(10).fill('401 invalid_credentials'), email)
    t.equal(answers[10], '429 rate_limit_exceeded', email)
  }
  t.equal(codeOf(await browser.signIn('nobody@a.test')), '429 rate_limit_exceeded', 'the right password does not help')
  app.advance(61_000)
  t.equal((await browser.signIn(OWNER)).status, 201)
  const links = await Promise.all(
    [OWNER, 'nobody@a.test'].map((email) => browser.ask('POST', '/password-links', { body: { email } })),
  )
  t.same(
    links.map(({ status, text }) => [status, text]),
    [
      [202, '{}'],
      [202, '{}'],
    ],
  )
  const counts: number[] = []
  for (let request = 0; request < 3; request += 1) {
    counts.push((await browser.ask('POST', '/password-links', { body: { email: OWNER } })).status)
  }
  t.same(counts, [202, 202, 429])
})

t.test(
  'guesses of others do not keep a user from signing in where they did before, nor from their account',
  async (t) => {
    const { app, browser } = await withBrowser(t)
    const other = openBrowser(app)
    for (let attempt = 0; attempt < 10; attempt += 1) await other.signIn(OWNER, { password: 'a wrong password' })
    t.equal(codeOf(await other.signIn(OWNER)), '429 rate_limit_exceeded')
    const change = { current_password: PASSWORD, new_password: 'staple of the old town' }
    t.equal((await browser.ask('POST', '/password', { body: change })).status, 204)
    t.equal((await browser.ask('DELETE', '/session')).status, 204)
    t.equal((await browser.signIn(OWNER, { password: 'staple of the old town' })).status, 201)
  },
)

t.test('a workspace is transferred with the password of its owner in a session, and in no other way', async (t) => {
  const { app, browser } = await withBrowser(t)
  const { browser: other, memberId } = await joinAs(app, 'ann@b.test', 'admin')
  const path = `/v1/workspaces/${app.workspaceId}/transfer`
  const body = { member_id: memberId, password: 'correct horse battery' }
  t.equal(codeOf(await app.rest('POST', path, { body })), '403 insufficient_permissions', 'with a key')
  t.equal(codeOf(await other.ask('POST', path, { body })), '403 insufficient_permissions', 'by an admin')
  const wrong = await browser.ask('POST', path, { body: { ...body, password: 'a wrong password' } })
  t.equal(codeOf(wrong), '401 invalid_credentials')
  t.equal(codeOf(await browser.ask('POST', path, { body: { ...body, member_id: 'x' } })), '404 not_found')
  const second = await browser.ask('POST', '/v1/workspaces', { body: { name: 'Second' } })
  t.equal(second.status, 201, second.text)
  const puppet = await browser.ask('POST', path, { body })
  t.equal(codeOf(puppet), '403 insufficient_permissions', 'one owner would become two, each with limits of their own')
  t.match(puppet.text, /owns none.*posthorn workspace transfer/)
  const { id: secondId } = second.json()['data'] as unknown as { id: string }
  browser.workspaceId = secondId
  t.equal((await browser.ask('DELETE', `/v1/workspaces/${secondId}`)).status, 200)
  browser.workspaceId = app.workspaceId
  const done = await browser.ask('POST', path, { body })
  t.equal(done.status, 200, done.text)
  t.same(await app.rows('select role from members where workspace_id = ? order by role', app.workspaceId), [
    { role: 'admin' },
    { role: 'owner' },
  ])
  t.match((await other.ask('GET', '/session')).json()['workspaces'], [{ id: app.workspaceId, role: 'owner' }])
  t.equal(codeOf(await browser.ask('POST', path, { body })), '403 insufficient_permissions', 'no owner any more')
  t.match(
    await app.rows(
      `select details from audit_log where action = 'workspace.transferred' and workspace_id = ?`,
      app.workspaceId,
    ),
    [{ details: /"from":.*"to":/ }],
  )
})

t.test('sessions, links and codes go with the account', async (t) => {
  const app = await testDaemon(t)
  // The operator's workspace cannot be deleted.
  await app.daemon.database.commit([setOperatorWorkspace(app.workspaceId)])
  const made = (await app.cli('workspace', 'create', 'New', '--email', 'new@b.test', '--json')).json() as {
    workspace_id: string
    set_password_url: string
  }
  const browser = openBrowser(app)
  const [, token = ''] = made.set_password_url.split('token=')
  const set = { body: { token, password: 'correct horse battery' } }
  t.equal((await browser.ask('POST', '/password-links/confirm', set)).status, 201)
  browser.workspaceId = made.workspace_id
  t.equal((await browser.ask('DELETE', `/v1/workspaces/${made.workspace_id}`)).status, 200)
  t.equal(codeOf(await browser.ask('GET', '/session')), '401 authentication_required')
  for (const table of ['sessions', 'password_links', 'recovery_codes'])
    t.same(await app.rows(`select * from ${table}`), [], table)
})

t.test("only owner and admins of the operator's workspace act for the operator", async (t) => {
  const { app } = await withBrowser(t)
  const { read, commit } = app.daemon.database
  const userOf = async (email: string): Promise<string> =>
    (await app.rows<{ id: string }>('select id from users where email = ?', email))[0]?.id ?? ''
  t.equal(
    (await catchRefusal(async () => requireOperator(read, await userOf(OWNER)))).kind,
    'forbidden',
    'there is no such workspace yet',
  )
  await commit([setOperatorWorkspace(app.workspaceId)])
  await requireOperator(read, await userOf(OWNER))
  t.equal((await catchRefusal(async () => requireOperator(read, await userOf('owner@other.test')))).kind, 'forbidden')
  const { memberId } = await joinAs(app, 'ann@b.test', 'admin')
  await requireOperator(read, await userOf('ann@b.test'))
  await commit([setRole({ workspaceId: app.workspaceId, id: memberId, role: 'member' })])
  t.equal(
    (await catchRefusal(async () => requireOperator(read, await userOf('ann@b.test')))).kind,
    'forbidden',
    'a member',
  )
})
