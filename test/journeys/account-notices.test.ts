/** Mail to users about the security of their account, from the change to their mailbox. */
import { simpleParser } from 'mailparser'
import { Secret, TOTP } from 'otpauth'
import t, { type Test } from 'tap'
import { type TestDaemon, testDaemon } from '../helpers/daemon/test-daemon.js'
import { givePassword, openBrowser, PASSWORD } from '../helpers/http/browser-client.js'
import { openSink } from '../helpers/smtp/scripted-sink.js'

const OWNER = 'owner@a.test'
const STEP = 30_000
const NEXT_PASSWORD = 'staple of the old town'

interface Mail {
  readonly subject: string
  readonly text: string
  readonly to: string
}

interface World {
  readonly app: TestDaemon
  /** The mails that have arrived, when they are as many; in the order of their arrival. */
  readonly read: (count: number) => Promise<readonly Mail[]>
}

async function openWorld(t: Test): Promise<World> {
  const sink = await openSink()
  t.teardown(() => sink.close())
  const app = await testDaemon(t, { routes: { 'a.test': sink, 'b.test': sink } })
  await givePassword(app)
  const read = async (count: number): Promise<readonly Mail[]> => {
    await sink.waitUntil(() => sink.messages.length >= count)
    const parsed = await Promise.all(sink.messages.map(({ raw }) => simpleParser(raw)))
    return parsed.map(({ subject = '', text = '', to }) => ({ subject, text, to: [to ?? []].flat()[0]?.text ?? '' }))
  }
  return { app, read }
}

const subjectsOf = (mails: readonly Mail[]): string[] => mails.map(({ subject }) => subject)

t.test('a sign-in from another browser is reported, from the first or a known one it is not', async (t) => {
  const { app, read } = await openWorld(t)
  const [browser, other] = [openBrowser(app), openBrowser(app)]
  await browser.signIn(OWNER)
  t.match(browser.knownBy, /^__Host-posthorn-browser=[\w-]{43}$/)
  const { knownBy } = browser
  await browser.ask('DELETE', '/session')
  t.equal((await browser.signIn(OWNER)).status, 201)
  t.equal(browser.knownBy, knownBy, 'it keeps its token')
  t.equal((await other.signIn(OWNER, { password: 'a wrong password' })).status, 401)
  t.same(await app.rows(`select 1 from emails where source = 'service'`), [], 'nothing to report so far')
  t.equal((await other.signIn(OWNER)).status, 201)
  t.equal((await other.signIn(OWNER)).status, 201)
  const [mail] = await read(1)
  t.match(mail, { subject: 'Sign-in from a new browser', to: OWNER })
  t.match(mail?.text, /Browser: Unknown browser\n\s+Address: 127\.0\.0\.1/)
  t.match(mail?.text, /\/ui\/forgotten-password$/m)
  t.equal((await app.rows(`select 1 from emails where source = 'service'`)).length, 1)
  const forged = openBrowser(app)
  forged.knownBy = `__Host-posthorn-browser=${'x'.repeat(43)}`
  t.equal((await forged.signIn(OWNER)).status, 201)
  t.same(subjectsOf(await read(2)), Array(2).fill('Sign-in from a new browser'), 'a token that nobody was given')
  t.same(app.errors, [])
})

t.test('a new password is reported, and makes other browsers unknown', async (t) => {
  const { app, read } = await openWorld(t)
  const [browser, other] = [openBrowser(app), openBrowser(app)]
  await browser.signIn(OWNER)
  await other.signIn(OWNER)
  await read(1)
  const body = { current_password: PASSWORD, new_password: NEXT_PASSWORD }
  t.equal((await browser.ask('POST', '/password', { body: { ...body, new_password: 'short' } })).status, 400)
  t.equal((await browser.ask('POST', '/password', { body })).status, 204)
  const [, changed] = await read(2)
  t.match(changed, { subject: 'Your password was changed', to: OWNER, text: /Address: 127\.0\.0\.1/ })
  await browser.signIn(OWNER, { password: NEXT_PASSWORD })
  await other.signIn(OWNER, { password: NEXT_PASSWORD })
  const [, , again] = await read(3)
  t.equal(again?.subject, 'Sign-in from a new browser')

  await browser.ask('POST', '/password-links', { body: { email: OWNER } })
  const link = (await read(4)).find(({ subject }) => subject === 'Set a new password')
  const token = /set-password#token=([\w-]{43})/.exec(link?.text ?? '')?.[1] ?? ''
  const byLink = { body: { token, password: PASSWORD } }
  t.equal((await openBrowser(app).ask('POST', '/password-links/confirm', byLink)).status, 201)
  t.match((await read(5)).at(-1), { subject: 'Your password was changed', text: /Address: 127\.0\.0\.1/ })
  t.same(app.errors, [])
})

t.test('the first password of an account is not reported', async (t) => {
  const { app, read } = await openWorld(t)
  const made = await app.cli('workspace', 'create', 'New', '--email', 'new@b.test', '--json')
  const [, token = ''] = (made.json() as { set_password_url: string }).set_password_url.split('token=')
  const browser = openBrowser(app)
  const body = { token, password: PASSWORD }
  t.equal((await browser.ask('POST', '/password-links/confirm', { body })).status, 201)
  t.equal((await browser.signIn('new@b.test')).status, 201)
  t.same(await app.rows(`select 1 from emails where source = 'service'`), [])
  await openBrowser(app).signIn('new@b.test')
  t.match(await read(1), [{ subject: 'Sign-in from a new browser', to: 'new@b.test' }])
})

t.test('the second factor and its recovery codes: on, used, replaced, off', async (t) => {
  const { app, read } = await openWorld(t)
  const browser = openBrowser(app)
  await browser.signIn(OWNER)
  const begun = await browser.ask('POST', '/totp', { body: { password: PASSWORD } })
  const totp = new TOTP({ secret: Secret.fromBase32(begun.json<{ secret: string }>().secret) })
  const readCode = (): string => totp.generate({ timestamp: app.now() })
  const replace = (password: string, code: string) =>
    browser.ask('POST', '/recovery-codes', { body: { password, code } })
  t.equal((await replace(PASSWORD, readCode())).status, 409, 'it is not enabled yet')
  const confirmed = await browser.ask('POST', '/totp/confirm', { body: { code: readCode() } })
  const { recovery_codes: codes } = confirmed.json<{ recovery_codes: readonly string[] }>()
  t.same(subjectsOf(await read(1)), ['The second factor was turned on'])

  const other = openBrowser(app)
  t.equal((await other.signIn(OWNER, { code: codes[0] ?? '' })).status, 201)
  const [, used] = await read(2)
  t.match(used, { subject: 'A recovery code was used', text: /9 codes are left\./ })
  t.equal((await browser.ask('GET', '/session')).json()['user']?.['recovery_codes_left'], 9)

  app.advance(2 * STEP)
  t.equal((await replace('a wrong password', readCode())).status, 401)
  t.equal((await replace(PASSWORD, codes[1] ?? '')).status, 401, 'a recovery code is not enough')
  const code = readCode()
  const replaced = await replace(PASSWORD, code)
  t.equal(replaced.status, 201, replaced.text)
  const fresh = replaced.json<{ recovery_codes: readonly string[] }>().recovery_codes
  t.equal(new Set([...fresh, ...codes]).size, 20)
  t.equal((await replace(PASSWORD, code)).status, 401, 'a code counts once')
  t.equal((await browser.ask('GET', '/session')).json()['user']?.['recovery_codes_left'], 10)
  t.equal((await read(3))[2]?.subject, 'New recovery codes were made')
  t.equal((await other.signIn(OWNER, { code: codes[1] ?? '' })).status, 401, 'the old ones have ended')
  t.equal((await other.signIn(OWNER, { code: fresh[0] ?? '' })).status, 201)
  await read(4)

  app.advance(2 * STEP)
  const removal = { body: { password: PASSWORD, code: fresh[1] ?? '' } }
  t.equal((await browser.ask('DELETE', '/totp', removal)).status, 204)
  t.equal((await read(5))[4]?.subject, 'The second factor was turned off')
  t.equal((await browser.ask('GET', '/session')).json()['user']?.['recovery_codes_left'], 0)
  const acts = await app.rows<{ action: string }>(
    `select action from audit_log where action like 'user.%' order by seq`,
  )
  t.same(
    acts.map(({ action }) => action),
    ['user.totp_enabled', 'user.recovery_codes_replaced', 'user.totp_disabled'],
  )
  t.same(app.errors, [])
})

t.test('the operator resets a second factor on the command line', async (t) => {
  const { app, read } = await openWorld(t)
  const browser = openBrowser(app)
  await browser.signIn(OWNER)
  const begun = await browser.ask('POST', '/totp', { body: { password: PASSWORD } })
  const totp = new TOTP({ secret: Secret.fromBase32(begun.json<{ secret: string }>().secret) })
  await browser.ask('POST', '/totp/confirm', { body: { code: totp.generate({ timestamp: app.now() }) } })
  await read(1)
  t.equal((await app.cli('user', 'reset-second-factor', OWNER)).status, 0)
  t.match((await read(2))[1], {
    subject: 'The second factor was turned off',
    text: /the command line of the server/,
  })
})
