/** Sessions of people in a browser: sign-in, the routes of the API with a session, sign-out, and who is kept out. */
import t from 'tap'
import { testDaemon } from '../helpers/daemon/test-daemon.js'
import { givePassword, openBrowser } from '../helpers/http/browser-client.js'

const DAY = 86_400_000
const OWNER = 'owner@a.test'

t.test('a person signs in, works in a workspace, and signs out: then the cookie is worth nothing', async (t) => {
  const app = await testDaemon(t)
  await givePassword(app)
  const browser = openBrowser(app)
  const before = await browser.ask('GET', '/session')
  t.same([before.status, before.json()['error']?.['code']], [401, 'authentication_required'])

  const signedIn = await browser.signIn(OWNER)
  t.equal(signedIn.status, 201, signedIn.text)
  const [cookie, browserCookie] = [signedIn.headers['set-cookie'] ?? []].flat()
  t.match(cookie, /^__Host-posthorn=[\w-]{43}; Path=\/; Secure; HttpOnly; SameSite=Strict; Max-Age=604800$/)
  const known = /^__Host-posthorn-browser=[\w-]{43}; Path=\/; Secure; HttpOnly; SameSite=Strict; Max-Age=31536000$/
  t.match(browserCookie, known)
  t.equal(signedIn.headers['cache-control'], 'no-store')
  const view = (await browser.ask('GET', '/session')).json()
  t.match(view, {
    user: { email: OWNER, totp_enabled: false },
    workspaces: [{ id: app.workspaceId, name: 'Own', role: 'owner', is_operator: false }],
    service: { hostname: 'mail.service.test' },
  })

  const listed = await browser.ask('GET', '/v1/emails')
  t.equal(listed.status, 200, listed.text)
  const created = await browser.ask('POST', '/v1/audiences', { body: { name: 'News' } })
  t.equal(created.status, 201, created.text)
  t.equal((await app.rest('GET', '/v1/audiences')).json()['data']?.['length'], 1, 'it is that of the workspace')

  const stolen = browser.cookie
  t.equal((await browser.ask('DELETE', '/session')).status, 204)
  t.equal(browser.cookie, '', 'the cookie is removed')
  t.equal((await browser.ask('GET', '/session')).status, 401, 'that of the browser opens nothing')
  const thief = openBrowser(app)
  thief.cookie = stolen
  t.equal((await thief.ask('GET', '/session')).status, 401, 'a stolen cookie')
  t.equal((await thief.ask('GET', '/v1/emails')).status, 401)
  t.same(app.errors, [])
})

t.test('a session ends after 12 hours without a request, and after 7 days in any case', async (t) => {
  const app = await testDaemon(t)
  await givePassword(app)
  const idle = openBrowser(app)
  await idle.signIn(OWNER)
  app.advance(DAY / 2 - 60_000)
  t.equal((await idle.ask('GET', '/session')).status, 200, 'within 12 hours')
  app.advance(DAY / 2 + 1_000)
  t.equal((await idle.ask('GET', '/session')).status, 401, 'idle for 12 hours')

  const busy = openBrowser(app)
  t.equal((await busy.signIn(OWNER)).status, 201)
  for (let hours = 6; hours < 7 * 24; hours += 6) {
    app.advance(DAY / 4)
    t.equal((await busy.ask('GET', '/v1/emails')).status, 200, `after ${hours} hours`)
  }
  app.advance(DAY / 4)
  t.equal((await busy.ask('GET', '/v1/emails')).status, 401, 'after 7 days')
})

t.test('both times can be configured', async (t) => {
  const app = await testDaemon(t, { settings: { ui: { session_idle: '5m', session_max: '8m' } } })
  await givePassword(app)
  const browser = openBrowser(app)
  await browser.signIn(OWNER)
  for (const status of [200, 200, 401]) {
    app.advance(3 * 60_000)
    t.equal((await browser.ask('GET', '/session')).status, status, 'asked every three minutes')
  }
  const { headers } = await browser.signIn(OWNER)
  t.match(String(headers['set-cookie']), /Max-Age=480\b/)
  app.advance(5 * 60_000)
  t.equal((await browser.ask('GET', '/session')).status, 401, 'not used for five minutes')
})
