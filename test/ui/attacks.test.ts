/** Attacks on people who are signed in, in the true browser: pages of others, a stolen cookie, a planted one. */
import { once } from 'node:events'
import { createServer as createPlainServer, type RequestListener, type Server } from 'node:http'
import { createServer } from 'node:https'
import type { AddressInfo } from 'node:net'
import type { Page } from 'playwright-core'
import t, { type Test } from 'tap'
import { createSelfSigned } from '../helpers/certificates.js'
import { type TestDaemon, testDaemon } from '../helpers/daemon/test-daemon.js'
import { PASSWORD } from '../helpers/http/browser-client.js'
import { CHROMIUM } from '../helpers/programs/chromium.js'
import { skipWithout } from '../helpers/programs/skip-without.js'
import { type Dashboard, openDashboard } from '../helpers/ui/dashboard.js'
import { expectEqual } from '../helpers/ui/expect-shown.js'
import { fillSignIn } from '../helpers/ui/steps.js'
import { waitUntil } from '../helpers/wait-until.js'

const skip = skipWithout(CHROMIUM.split('/').at(-1) ?? '')
const COOKIE = '__Host-posthorn'

interface World {
  readonly app: TestDaemon
  readonly dashboard: Dashboard
  readonly page: Page
  /** The address of the service. */
  readonly origin: string
}

async function openWorld(t: Test): Promise<World> {
  const app = await testDaemon(t)
  const dashboard = await openDashboard(t, app)
  await dashboard.signIn()
  return { app, dashboard, page: dashboard.page, origin: new URL(dashboard.page.url()).origin }
}

/** Pages of an attacker: of another site, and of the same host at another port, to which browsers send the cookie. */
async function openForeignSites(t: Test): Promise<readonly (readonly [what: string, url: string])[]> {
  const answer: RequestListener = (_, response) => {
    response.setHeader('content-type', 'text/html').end('<!doctype html><title>Win a prize</title><h1>Win a prize</h1>')
  }
  const portOf = async (server: Server): Promise<number> => {
    server.listen(0, '127.0.0.1')
    await once(server, 'listening')
    t.teardown(() => {
      server.closeAllConnections()
      server.close()
    })
    return (server.address() as AddressInfo).port
  }
  const certificate = await createSelfSigned(['127.0.0.1', 'localhost'])
  const port = await portOf(createServer(certificate, answer))
  return [
    ['another site', `http://localhost:${await portOf(createPlainServer(answer))}/`],
    ['another site over TLS', `https://localhost:${port}/`],
    ['another port of the same host', `https://127.0.0.1:${port}/`],
  ]
}

/** The requests that a page can make without asking first, and those for which the browser asks. */
const forgeries = [
  { type: 'text/plain', mode: 'no-cors' },
  { type: 'application/x-www-form-urlencoded', mode: 'no-cors' },
  { type: 'application/json', mode: 'cors' },
] as const

t.test('pages of others change nothing and read nothing', { skip }, async (t) => {
  const { app, dashboard, origin } = await openWorld(t)
  const target = `${origin}/ui/api/v1/audiences`
  for (const [what, url] of await openForeignSites(t)) {
    const page = await dashboard.context.newPage()
    await page.goto(url)
    for (const { type, mode } of forgeries) {
      for (const [method, path] of [
        ['POST', '/v1/audiences'],
        ['DELETE', '/sessions?all=true'],
      ] as const) {
        await forge(page, `${origin}/ui/api${path}`, { method, mode, type, workspaceId: app.workspaceId })
      }
    }
    t.equal(await forge(page, target, { method: 'GET', mode: 'cors', workspaceId: app.workspaceId }), 'nothing', what)
    await submitForm(page, target)
    t.notMatch(await page.content(), /"data"/, `a form of ${what} shows nothing`)
    t.same(await app.rows('select 1 from audiences'), [], `nothing is made by ${what}`)
    await page.close()
  }
  const own = { method: 'POST', mode: 'cors', type: 'application/json', workspaceId: app.workspaceId }
  t.match(await forge(dashboard.page, target, own), /"id"/, 'our own page may')
  t.equal((await app.rows('select 1 from sessions')).length, 1, 'the session goes on')
})

interface Forgery {
  readonly method: string
  readonly mode: string
  readonly type?: string
  readonly workspaceId: string
}

/** What the page reads of the answer; `nothing` if the browser or the server does not let it. */
async function forge(page: Page, url: string, { method, mode, type, workspaceId }: Forgery): Promise<string> {
  const headers = {
    ...(type === undefined ? {} : { 'content-type': type }),
    ...(mode === 'cors' ? { 'x-workspace-id': workspaceId } : {}),
  }
  const body = method === 'POST' ? JSON.stringify({ name: 'forged' }) : undefined
  const options = { method: mode === 'no-cors' ? 'POST' : method, mode, credentials: 'include', headers, body }
  return page.evaluate<string>(
    `fetch(${JSON.stringify(url)}, ${JSON.stringify(options)}).then((answer) => answer.text()).then((text) => text || 'nothing', () => 'nothing')`,
  )
}

/** A form leads the browser to the answer. */
async function submitForm(page: Page, action: string): Promise<void> {
  await page.evaluate(`(() => {
    const form = document.createElement('form')
    form.method = 'post'
    form.enctype = 'text/plain'
    form.action = ${JSON.stringify(action)}
    const field = document.createElement('input')
    field.name = '{"name":"forged","x":"'
    field.value = '"}'
    form.append(field)
    document.body.append(form)
    form.submit()
  })()`)
  await page.waitForURL(action)
}

t.test('no page of others can frame a page of ours', { skip }, async (t) => {
  const { app, dashboard, origin } = await openWorld(t)
  const body = { from: 'app@a.test', to: 'bob@b.test', subject: 's', html: '<p>Hello</p>' }
  const { id } = (await app.rest('POST', '/v1/emails', { body })).json<{ readonly id: string }>()
  const message = `${origin}/ui/api/frames/${app.workspaceId}/emails/${id}`
  for (const [what, url] of await openForeignSites(t)) {
    const page = await dashboard.context.newPage()
    await page.goto(url)
    for (const path of ['/ui/', '/ui/members', '/ui/docs']) {
      t.equal(await frameOf(page, `${origin}${path}`), 'refused', `${path} in ${what}`)
    }
    t.match(await frameOf(page, message), /refused|insufficient_permissions/, `a message in ${what}`)
    t.equal(await frameOf(page, url), 'Win a prize', 'a page that may be framed is seen')
    await page.close()
  }
  const { page } = dashboard
  await dashboard.open(`/emails/${id}?tab=message`)
  await page.frameLocator('iframe').getByText('Hello').waitFor()
  t.pass('our own page frames a message')
})

/** The text of a page in a frame; `refused`: the browser shows its error page instead. */
async function frameOf(page: Page, url: string): Promise<string> {
  await page.evaluate(`document.querySelectorAll('iframe').forEach((one) => one.remove())`)
  await waitUntil('the frame before is gone', () => page.frames().length === 1)
  await page.evaluate(`(() => {
    const frame = document.createElement('iframe')
    frame.src = ${JSON.stringify(url)}
    document.body.append(frame)
  })()`)
  return waitUntil(`the frame of ${url}`, async () => {
    const frame = page.frames().find((one) => one.parentFrame() !== null && !one.isDetached())
    if (frame === undefined || frame.url() === '' || frame.url() === 'about:blank') return null
    if (frame.url().startsWith('chrome-error:')) return 'refused'
    const text = await frame.evaluate<string>('document.body.innerText').catch(() => '')
    return text === '' ? null : text.trim()
  })
}

t.test('a stolen cookie does not take the account over, and ends with the sessions', { skip }, async (t) => {
  const { app, dashboard, page } = await openWorld(t)
  const [cookie] = await dashboard.context.cookies()
  t.match(cookie, { name: COOKIE, httpOnly: true, secure: true, sameSite: 'Strict', path: '/' })
  t.equal(await page.evaluate('document.cookie'), '', 'no script can steal it')
  const stored = 'JSON.stringify([{ ...localStorage }, { ...sessionStorage }])'
  t.notOk((await page.evaluate<string>(stored)).includes(cookie?.value ?? ''), 'nor from what the page stores')
  const thief = await openDashboard(t, app)
  await thief.context.addCookies(cookie === undefined ? [] : [cookie])
  await thief.open('/account')
  await thief.page.getByText('This session').waitFor()
  await thief.page.getByLabel('Current password').fill('a guess of the thief')
  await thief.page.getByLabel('New password', { exact: true }).fill('the password of the thief')
  await thief.page.getByLabel('Repeat the new password').fill('the password of the thief')
  await thief.page.getByRole('button', { name: 'Change the password' }).click()
  await thief.page.waitForSelector('input[name="current_password"][aria-invalid="true"]')
  await thief.page.getByRole('button', { name: 'Set it up' }).click()
  await thief.page.getByLabel('Your password').fill('a guess of the thief')
  await thief.page.getByRole('button', { name: 'Continue' }).click()
  await thief.page.waitForSelector('dialog input[name="password"][aria-invalid="true"]')

  // The owner signs in again elsewhere, and ends all other sessions.
  const elsewhere = await openDashboard(t, app)
  await elsewhere.open('/account')
  await fillSignIn(elsewhere.page, 'owner@a.test', PASSWORD)
  await elsewhere.page.getByText('This session').waitFor()
  await elsewhere.page.getByRole('button', { name: 'End all others' }).click()
  await elsewhere.page.getByText('All other sessions have ended.').waitFor()
  await thief.open('/emails')
  await thief.page.getByRole('heading', { name: 'Sign in' }).waitFor()
  t.equal((await app.rows('select 1 from sessions')).length, 1)
})

t.test('a cookie that was planted before the sign-in is worth nothing after it', { skip }, async (t) => {
  const app = await testDaemon(t)
  const dashboard = await openDashboard(t, app)
  await dashboard.open('/')
  const { origin } = new URL(dashboard.page.url())
  const planted = { name: COOKIE, value: 'A'.repeat(43), url: origin, secure: true, httpOnly: true }
  await dashboard.context.addCookies([planted])
  await dashboard.signIn()
  const cookies = await dashboard.context.cookies()
  t.match(cookies, [{ name: COOKIE }])
  t.not(cookies[0]?.value, planted.value)
  const attacker = await openDashboard(t, app)
  await attacker.context.addCookies([planted])
  await attacker.open('/emails')
  await attacker.page.getByRole('heading', { name: 'Sign in' }).waitFor()
  t.same([dashboard.faults, attacker.faults], [[], []])
})

t.test('a workspace of others that a browser has stored is not opened', { skip }, async (t) => {
  const { app, dashboard, page } = await openWorld(t)
  await dashboard.open('/domains')
  await page.getByRole('link', { name: 'a.test', exact: true }).waitFor()
  const store = `for (const storage of [localStorage, sessionStorage]) storage.setItem('posthorn.workspace', '${app.otherWorkspaceId}')`
  await page.evaluate(store)
  await page.reload()
  await page.getByRole('link', { name: 'a.test', exact: true }).waitFor()
  await expectEqual(t, () => page.getByRole('link', { name: 'other.test' }).count(), 0)
  await dashboard.open(`/emails/${app.otherWorkspaceId}`)
  await page.getByRole('alert').waitFor()
  t.same(dashboard.faults, [])
})
