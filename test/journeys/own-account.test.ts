/** People and their own account: the second factor, passwords by links of the command line and by mail, sessions. */

import { simpleParser } from 'mailparser'
import { TOTP } from 'otpauth'
import t, { type Test } from 'tap'
import { type TestDaemon, testDaemon } from '../helpers/daemon/test-daemon.js'
import { givePassword, openBrowser } from '../helpers/http/browser-client.js'
import { inviteMember } from '../helpers/http/invite-member.js'
import type { RestAnswer } from '../helpers/http/rest-client.js'
import { openSink } from '../helpers/smtp/scripted-sink.js'

const OWNER = 'owner@a.test'
const PASSWORD = 'correct horse battery'
const STEP = 30_000

const codeOf = (answer: RestAnswer): string =>
  `${answer.status} ${answer.json<{ error: { code: string } }>().error.code}`

type Browser = ReturnType<typeof openBrowser>

const codeAt = (secret: string, timestamp: number): string => TOTP.generate({ secret: secretOf(secret), timestamp })
const secretOf = (secret: string): TOTP['secret'] => new TOTP({ secret }).secret

/** A browser that has enabled the second factor. */
async function enableFactor(
  t: Test,
  app: TestDaemon,
): Promise<{ browser: Browser; secret: string; code: string; recovery: readonly string[] }> {
  await givePassword(app)
  const browser = openBrowser(app)
  await browser.signIn(OWNER)
  t.equal(
    codeOf(await browser.ask('POST', '/totp', { body: { password: 'a wrong password' } })),
    '401 invalid_credentials',
  )
  const begun = await browser.ask('POST', '/totp', { body: { password: PASSWORD } })
  const { secret, uri } = begun.json<{ secret: string; uri: string }>()
  t.match(secret, /^[A-Z2-7]{32}$/)
  t.match(uri, /^otpauth:\/\/totp\/Posthorn:owner(@|%40)a\.test\?issuer=Posthorn&secret=/)
  t.equal((await openBrowser(app).signIn(OWNER)).status, 201, 'it does not count before it is confirmed')
  t.equal(codeOf(await browser.ask('POST', '/totp/confirm', { body: { code: '000000' } })), '401 invalid_credentials')
  const code = codeAt(secret, app.now())
  const confirmed = await browser.ask('POST', '/totp/confirm', { body: { code } })
  t.equal(confirmed.status, 200, confirmed.text)
  const { recovery_codes: recovery } = confirmed.json<{ recovery_codes: readonly string[] }>()
  t.equal(recovery.length, 10)
  t.match(recovery[0], /^[a-z2-7]{4}(-[a-z2-7]{4}){3}$/)
  return { browser, secret, code, recovery }
}

t.test('with a second factor a sign-in needs a code, and each code counts once', async (t) => {
  const app = await testDaemon(t)
  await givePassword(app)
  const other = openBrowser(app)
  await other.signIn(OWNER)
  const { browser, secret, code: confirmedWith, recovery } = await enableFactor(t, app)
  t.equal((await other.ask('GET', '/session')).status, 401, 'other sessions have ended')
  t.equal((await browser.ask('GET', '/session')).json()['user']?.['totp_enabled'], true)
  t.equal(codeOf(await browser.ask('POST', '/totp', { body: { password: PASSWORD } })), '409 conflict')

  const fresh = openBrowser(app)
  t.equal(codeOf(await fresh.signIn(OWNER, { code: confirmedWith })), '401 invalid_credentials', 'confirmed with it')
  app.advance(2 * STEP + 60_000)
  const missing = await fresh.signIn(OWNER)
  t.equal(codeOf(missing), '401 authentication_required')
  t.match(missing.json()['error'], { details: { second_factor: true } })
  const wrongPassword = await fresh.signIn(OWNER, { password: 'a wrong password', code: codeAt(secret, app.now()) })
  t.equal(codeOf(wrongPassword), '401 invalid_credentials')
  t.equal(codeOf(await fresh.signIn(OWNER, { code: '123' })), '401 invalid_credentials')

  const code = codeAt(secret, app.now())
  t.equal((await fresh.signIn(OWNER, { code })).status, 201)
  t.equal(codeOf(await fresh.signIn(OWNER, { code })), '401 invalid_credentials', 'a second time')
  t.equal(
    codeOf(await fresh.signIn(OWNER, { code: codeAt(secret, app.now() - STEP) })),
    '401 invalid_credentials',
    'an earlier one',
  )
  t.equal((await fresh.signIn(OWNER, { code: codeAt(secret, app.now() + STEP) })).status, 201, 'the next one')
  app.advance(60_000 + 2 * STEP)
  t.equal(
    codeOf(await fresh.signIn(OWNER, { code: codeAt(secret, app.now() + 2 * STEP) })),
    '401 invalid_credentials',
    'too early',
  )
  t.equal(
    codeOf(await fresh.signIn(OWNER, { code: codeAt(secret, app.now() - 2 * STEP) })),
    '401 invalid_credentials',
    'too late',
  )

  const [first = ''] = recovery
  t.equal((await fresh.signIn(OWNER, { code: first.toUpperCase() })).status, 201, 'a recovery code')
  t.equal(codeOf(await fresh.signIn(OWNER, { code: first })), '401 invalid_credentials', 'a second time')
  const twice = await Promise.all([1, 2].map(() => openBrowser(app).signIn(OWNER, { code: recovery[1] ?? '' })))
  t.same(twice.map(({ status }) => status).sort(), [201, 401], 'two at the same moment')
})

t.test('an invitation is accepted with the second factor, where it is enabled', async (t) => {
  const app = await testDaemon(t)
  const { secret, recovery } = await enableFactor(t, app)
  app.advance(STEP)
  const inviter = { workspaceId: app.otherWorkspaceId, key: app.otherKey }
  const token = await inviteMember(app, OWNER, inviter)
  const accept = (code?: string): Promise<RestAnswer> => {
    const body = { token, full_name: 'Owner', password: PASSWORD, ...(code === undefined ? {} : { code }) }
    return app.rest('POST', '/v1/invitations/accept', { key: null, body })
  }
  for (const code of [undefined, '000000', recovery[0]]) {
    const refused = await accept(code)
    t.equal(codeOf(refused), '403 insufficient_permissions', code ?? 'none')
    t.match(refused.json(), { error: { details: { second_factor: true } } })
  }
  const code = codeAt(secret, app.now())
  t.equal((await accept(code)).status, 201)
  t.equal(codeOf(await openBrowser(app).signIn(OWNER, { code })), '401 invalid_credentials', 'the code is used up')
})

t.test('the second factor is disabled with password and code', async (t) => {
  const app = await testDaemon(t)
  const { browser, recovery } = await enableFactor(t, app)
  app.advance(60_000)
  const ask = (password: string, code: string): Promise<RestAnswer> =>
    browser.ask('DELETE', '/totp', { body: { password, code } })
  t.equal(codeOf(await ask('a wrong password', recovery[0] ?? '')), '401 invalid_credentials')
  t.equal(codeOf(await ask(PASSWORD, '000000')), '401 invalid_credentials')
  t.equal((await ask(PASSWORD, recovery[0] ?? '')).status, 204)
  t.equal((await openBrowser(app).signIn(OWNER)).status, 201)
  t.same(await app.rows('select 1 from recovery_codes'), [])
  const acts = await app.rows<{ action: string }>(
    `select action from audit_log where action like 'user.%' order by seq`,
  )
  t.same(
    acts.map(({ action }) => action),
    ['user.totp_enabled', 'user.totp_disabled'],
  )
})

t.test('a new password ends all other sessions; sessions are listed and ended', async (t) => {
  const app = await testDaemon(t)
  await givePassword(app)
  const [browser, other, third] = [openBrowser(app), openBrowser(app), openBrowser(app)]
  for (const one of [browser, other, third]) await one.signIn(OWNER)
  const listed = (await browser.ask('GET', '/sessions')).json<{ data: readonly { id: string; current: boolean }[] }>()
    .data
  t.match(listed, Array(3).fill({ user_agent: 'TestBrowser/1.0', ip_address: '127.0.0.1' }))
  t.same(
    listed.map(({ current }) => current),
    [false, false, true],
  )
  t.equal((await browser.ask('DELETE', `/sessions/${listed[0]?.id}`)).status, 204)
  t.equal((await third.ask('GET', '/session')).status, 401)
  t.equal(codeOf(await browser.ask('DELETE', `/sessions/${listed[0]?.id}`)), '404 not_found')

  const next = 'staple of the old town'
  const change = (current_password: string, new_password: string): Promise<RestAnswer> =>
    browser.ask('POST', '/password', { body: { current_password, new_password } })
  t.equal(codeOf(await change('a wrong password', next)), '401 invalid_credentials')
  const short = await change(PASSWORD, 'short')
  t.match(short.json()['error'], {
    code: 'validation_error',
    details: { errors: [{ field: 'new_password', message: 'must have at least 12 characters' }] },
  })
  t.equal((await change(PASSWORD, next)).status, 204)
  t.equal((await other.ask('GET', '/session')).status, 401)
  t.equal((await browser.ask('GET', '/session')).status, 200)
  t.equal(codeOf(await other.signIn(OWNER)), '401 invalid_credentials')
  t.equal((await other.signIn(OWNER, { password: next })).status, 201)
  t.equal((await other.ask('DELETE', '/sessions')).status, 204)
  t.same([(await other.ask('GET', '/session')).status, (await browser.ask('GET', '/session')).status], [200, 401])
  t.equal((await other.ask('DELETE', '/sessions?all=true')).status, 204)
  t.equal((await app.rows('select 1 from sessions')).length, 0)
})

t.test('the operator resets a second factor that is lost', async (t) => {
  const app = await testDaemon(t)
  const { browser } = await enableFactor(t, app)
  t.equal((await app.cli('user', 'reset-second-factor', 'none@a.test')).status, 1)
  const { status, out } = await app.cli('user', 'reset-second-factor', OWNER)
  t.same([status, out], [0, 'owner@a.test signs in with the password alone\n'])
  t.equal((await app.cli('user', 'reset-second-factor', OWNER)).status, 1, 'there is none any more')
  t.equal((await browser.ask('GET', '/session')).status, 401)
  t.equal((await browser.signIn(OWNER)).status, 201)
})

const tokenOf = (url: string): string => /\/ui\/set-password#token=([\w-]{43})$/m.exec(url)?.[1] ?? ''

t.test('a link of the command line sets the first password, once, within 24 hours', async (t) => {
  const app = await testDaemon(t)
  const create = async (name: string, email: string): Promise<string> => {
    const made = await app.cli('workspace', 'create', name, '--email', email, '--json')
    return String((made.json() as { set_password_url: string | null }).set_password_url)
  }
  const url = await create('New', 'new@b.test')
  const browser = openBrowser(app)
  const set = (token: string, password: string): Promise<RestAnswer> =>
    browser.ask('POST', '/password-links/confirm', { body: { token, password } })
  t.equal(codeOf(await set('x', PASSWORD)), '404 not_found')
  t.equal(codeOf(await set(tokenOf(url), 'short')), '400 validation_error')
  const weak = await set(tokenOf(url), 'Password2026!')
  t.equal(codeOf(weak), '400 validation_error')
  t.match(weak.text, /must not be only a common word/)
  const show = (token: string): Promise<RestAnswer> => browser.ask('POST', '/password-links/show', { body: { token } })
  t.same((await show(tokenOf(url))).json(), { email: 'new@b.test' })
  t.equal(codeOf(await show('x')), '404 not_found')
  const signedIn = await set(tokenOf(url), PASSWORD)
  t.match(signedIn.json(), { user: { email: 'new@b.test' }, workspaces: [{ name: 'New', role: 'owner' }] })
  t.equal((await browser.ask('GET', '/session')).status, 200)
  t.equal(codeOf(await set(tokenOf(url), 'another password')), '409 conflict')
  t.equal(codeOf(await show(tokenOf(url))), '409 conflict')
  t.equal(await create('Newer', 'new@b.test'), 'null', 'there is a password already')
  const late = await create('Late', 'late@b.test')
  app.advance(24 * 3_600_000)
  const expired = await set(tokenOf(late), PASSWORD)
  t.equal(codeOf(expired), '409 conflict')
  t.match(expired.text, /posthorn user set-password ADDRESS/)
})

t.test('a link by mail sets a new password, and does not replace the second factor', async (t) => {
  const sink = await openSink()
  t.teardown(() => sink.close())
  const app = await testDaemon(t, { routes: { 'a.test': sink } })
  const { browser, recovery } = await enableFactor(t, app)
  const asked = openBrowser(app)
  t.equal((await asked.ask('POST', '/password-links', { body: { email: OWNER.toUpperCase() } })).status, 202)
  t.equal((await asked.ask('POST', '/password-links', { body: { email: 'nobody@a.test' } })).status, 202)
  // The second sign-in, and the second factor, are reported to the user too.
  await sink.waitUntil(() => sink.messages.length === 3)
  const mails = await Promise.all(sink.messages.map(({ raw }) => simpleParser(raw)))
  const token = tokenOf(mails.find(({ subject }) => subject === 'Set a new password')?.text ?? '')
  t.not(token, '')
  app.advance(61_000)
  const set = (code?: string): Promise<RestAnswer> =>
    asked.ask('POST', '/password-links/confirm', {
      body: { token, password: 'a new password', ...(code === undefined ? {} : { code }) },
    })
  const missing = await set()
  t.equal(codeOf(missing), '401 authentication_required')
  t.match(missing.json()['error'], { details: { second_factor: true } })
  t.equal((await browser.ask('GET', '/session')).status, 200, 'nothing has changed')
  t.equal((await set(recovery[3])).status, 201)
  t.equal((await browser.ask('GET', '/session')).status, 401, 'sessions of before have ended')
  t.equal((await asked.ask('GET', '/session')).status, 200)
  t.equal(codeOf(await set(recovery[4])), '409 conflict')
  t.same(
    sink.messages.flatMap(({ rcptTo }) => rcptTo).filter((path) => !path.includes(OWNER)),
    [],
    'no mail to an address without an account',
  )
  t.same(app.errors, [])
})
