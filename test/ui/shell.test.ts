/** The frame of the pages: navigation by keyboard, workspaces, unknown pages, the menu of small windows. */
import type { Page } from 'playwright-core'
import t from 'tap'
import { testDaemon } from '../helpers/daemon/test-daemon.js'
import { givePassword, PASSWORD } from '../helpers/http/browser-client.js'
import { CHROMIUM } from '../helpers/programs/chromium.js'
import { skipWithout } from '../helpers/programs/skip-without.js'
import { addMember } from '../helpers/ui/add-member.js'
import { expectPresentable, openDashboard } from '../helpers/ui/dashboard.js'
import { expectEqual } from '../helpers/ui/expect-shown.js'
import { chooseInAccountMenu } from '../helpers/ui/steps.js'

const skip = skipWithout(CHROMIUM.split('/').at(-1) ?? '')

async function waitForFocusedHeading(page: Page, text: string): Promise<void> {
  await page.locator('h1:focus', { hasText: text }).waitFor()
}

t.test('pages take the focus to their heading, and the content can be skipped to', { skip }, async (t) => {
  const app = await testDaemon(t)
  const dashboard = await openDashboard(t, app)
  const { page } = dashboard
  await dashboard.signIn()
  await page.getByRole('link', { name: 'API keys' }).press('Enter')
  await waitForFocusedHeading(page, 'API keys')
  await expectEqual(t, () => page.title(), 'API keys · Posthorn')
  await expectEqual(t, () => page.getByRole('link', { name: 'API keys' }).getAttribute('aria-current'), 'page')
  await page.reload()
  await waitForFocusedHeading(page, 'API keys')
  await page.getByRole('link', { name: 'Skip to the content' }).press('Enter')
  await expectEqual(t, () => page.evaluate('document.activeElement.id'), 'main')

  await dashboard.open('/nothing-here')
  await page.getByRole('heading', { name: 'Page not found' }).waitFor()
  await expectPresentable(t, dashboard, 'an unknown page')

  await page.setViewportSize({ width: 360, height: 700 })
  const menu = page.getByRole('button', { name: 'Menu' })
  await expectEqual(t, () => page.getByRole('link', { name: 'Domains' }).isVisible(), false)
  await menu.press('Enter')
  await expectEqual(t, () => menu.getAttribute('aria-expanded'), 'true')
  await page.getByRole('link', { name: 'Domains' }).click()
  await page.getByRole('heading', { level: 1, name: 'Domains' }).waitFor()
  await expectEqual(t, () => menu.getAttribute('aria-expanded'), 'false')
  t.same(dashboard.faults, [])
})

t.test('groups of the navigation close and stay closed, and the account has a menu', { skip }, async (t) => {
  const app = await testDaemon(t)
  t.equal((await app.cli('workspace', 'set-operator', app.workspaceId)).status, 0)
  const dashboard = await openDashboard(t, app)
  const { page } = dashboard
  await page.setViewportSize({ width: 1280, height: 860 })
  await dashboard.signIn()
  const navigation = page.getByRole('navigation', { name: 'Pages' })
  const link = (name: string) => navigation.getByRole('link', { name, exact: true })
  const excess = () => navigation.evaluate((element) => element.scrollHeight - element.clientHeight)
  await link('Audit log').waitFor()
  t.ok((await excess()) <= 0, 'all entries fit into 860 pixels')
  await page.setViewportSize({ width: 1280, height: 850 })
  t.ok((await excess()) <= 0, 'and into 850')
  await expectEqual(t, () => link('Queue').count(), 0)
  await navigation.getByRole('button', { name: 'Operator' }).press('Enter')
  await link('Queue').waitFor()
  const isInView = `((link) => {
    const [own, list] = [link, link.closest('nav')].map((element) => element.getBoundingClientRect())
    return own.top >= list.top && own.bottom <= list.bottom
  })(document.querySelector('nav a[href="/ui/operator/log"]'))`
  await expectEqual(t, () => page.evaluate(isInView), true, 'a group that is opened is shown as a whole')
  const another = await dashboard.context.newPage()
  await another.setViewportSize({ width: 1280, height: 850 })
  await another.addInitScript('localStorage.removeItem("posthorn.navigation")')
  await another.goto(page.url().replace(/\/ui\/.*/, '/ui/operator/health'))
  await another.getByRole('heading', { level: 1, name: 'Health' }).waitFor()
  t.equal(await another.evaluate(isInView), true, 'the pages of the operator are in view')
  t.equal(
    await another.evaluate(
      `(({ scrollHeight, clientHeight }) => scrollHeight - clientHeight)(document.querySelector('nav'))`,
    ),
    0,
  )
  await another.close()
  await link('Health').click()
  await page.getByRole('heading', { level: 1, name: 'Health' }).waitFor()
  t.equal(await link('Contacts').count(), 1, 'no group closes when a page opens')
  await navigation.getByRole('button', { name: 'Audience' }).press('Space')
  await expectEqual(t, () => link('Contacts').count(), 0)
  await page.reload()
  await link('Queue').waitFor()
  await expectEqual(t, () => link('Contacts').count(), 0, 'the choice is kept')

  const menu = page.getByRole('button', { name: 'Account: ' })
  await menu.press('Enter')
  await page.getByText('owner@a.test').last().waitFor()
  await expectPresentable(t, dashboard, 'the menu of the account')
  await page.setViewportSize({ width: 1280, height: 860 })
  await page.keyboard.press('Escape')
  await expectEqual(t, () => page.locator('.account-content').count(), 0)
  await expectEqual(t, () => menu.evaluate((element) => element === element.ownerDocument.activeElement), true)
  const focused = () => page.evaluate<string>('document.activeElement.textContent')
  for (const [key, item] of [
    ['ArrowDown', 'Account'],
    ['ArrowDown', 'Documentation'],
    ['End', 'Sign out'],
    ['ArrowDown', 'Account'],
    ['ArrowUp', 'Sign out'],
    ['Home', 'Account'],
  ] as const) {
    await page.keyboard.press(key)
    await expectEqual(t, focused, item, key)
  }
  await page.getByRole('group', { name: 'Color scheme' }).getByText('Color scheme').waitFor()
  for (const [key, item] of [
    ['ArrowRight', 'Account'],
    ['End', 'Sign out'],
    ['ArrowUp', 'Dark'],
    ['ArrowLeft', 'Light'],
    ['ArrowRight', 'Dark'],
  ] as const) {
    await page.keyboard.press(key)
    await expectEqual(t, focused, item, key)
  }
  await page.keyboard.press('Tab')
  await expectEqual(t, () => page.locator('.account-content').count(), 0, 'Tab closes it')
  await menu.press('ArrowUp')
  await expectEqual(t, focused, 'Sign out', 'it opens at its end')
  await page.keyboard.press('Escape')
  await expectEqual(t, () => menu.evaluate((element) => element === element.ownerDocument.activeElement), true)
  await menu.press('Enter')
  await page.locator('main').click()
  await expectEqual(t, () => page.locator('.account-content').count(), 0, 'a click elsewhere closes it')
  t.same(dashboard.faults, [])
})

t.test('rows of lists are short on phones', { skip }, async (t) => {
  const app = await testDaemon(t)
  const later = new Date(app.now() + 86_400_000).toISOString()
  const email = { from: 'app@a.test', to: 'bob.miller@b.test', subject: 'Your order is on its way', text: 'hi' }
  for (let sent = 0; sent < 25; sent += 1) {
    await app.rest('POST', '/v1/emails', { body: { ...email, scheduled_for: later } })
  }
  const dashboard = await openDashboard(t, app)
  const { page } = dashboard
  await dashboard.signIn()
  await page.setViewportSize({ width: 360, height: 740 })
  await dashboard.open('/emails')
  await page.getByRole('link', { name: 'Your order' }).first().waitFor()
  await expectEqual(t, () => page.locator('tbody tr').count(), 20, 'fewer rows than on a desk')
  const height = await page.evaluate<number>('document.documentElement.scrollHeight')
  t.ok(height < 3_000, `the list has ${height} pixels`)
})

t.test('a change of the workspace shows the things of that one alone', { skip }, async (t) => {
  const app = await testDaemon(t)
  const made = await app.cli('workspace', 'create', '<script>Second</script>', '--email', 'owner@a.test')
  t.equal(made.status, 0, made.err)
  const dashboard = await openDashboard(t, app)
  const { page } = dashboard
  await dashboard.signIn()
  await dashboard.open('/domains')
  await page.getByRole('link', { name: 'a.test', exact: true }).waitFor()
  await page.getByLabel('Workspace').selectOption({ label: '<script>Second</script>' })
  await page.getByRole('heading', { level: 1, name: 'Overview' }).waitFor()
  await page.getByRole('link', { name: 'Domains', exact: true }).click()
  await page.getByText('No domain yet').waitFor()
  await expectEqual(t, () => page.getByRole('link', { name: 'a.test', exact: true }).count(), 0)
  await expectPresentable(t, dashboard, 'an empty list')
  await page.reload()
  await page.getByText('No domain yet').waitFor()
  await page.getByLabel('Workspace').selectOption({ label: 'Own' })
  await page.getByRole('heading', { level: 1, name: 'Overview' }).waitFor()
  await page.getByRole('link', { name: 'Domains', exact: true }).click()
  await page.getByRole('link', { name: 'a.test', exact: true }).waitFor()
  t.same(dashboard.faults, [])
})

t.test('a tab that is open during an upgrade or without a network says what to do', { skip }, async (t) => {
  const app = await testDaemon(t)
  const dashboard = await openDashboard(t, app)
  const { context, page } = dashboard
  await dashboard.signIn()
  const removed = /\/assets\/template-list-page/
  await page.route(removed, (route) => route.fulfill({ status: 404 }))
  await page.getByRole('link', { name: 'Templates' }).click()
  await page.getByText('Posthorn has been updated since this page was opened, or the network was away.').waitFor()
  await expectPresentable(t, dashboard, 'a page whose code is gone')
  await page.unroute(removed)
  await page.getByRole('button', { name: 'Load the page again' }).click()
  await waitForFocusedHeading(page, 'Templates')
  t.same(dashboard.faults, [])

  await context.setOffline(true)
  await page.getByRole('link', { name: 'Exports' }).click()
  await waitForFocusedHeading(page, 'This page is not loaded')
  await page.getByText('The server does not answer.').waitFor()
  await context.setOffline(false)
  const isReachable = () => page.evaluate("fetch('/ui/', { method: 'HEAD' }).then(({ ok }) => ok, () => false)")
  await expectEqual(t, isReachable, true, 'the browser has its network again')
  await page.getByRole('button', { name: 'Try again' }).click()
  await page.getByText('No export yet').waitFor()
})

t.test('the tabs of a browser agree on who is signed in, and in which role', { skip }, async (t) => {
  const app = await testDaemon(t)
  await addMember(app, 'ann@a.test', 'admin')
  await givePassword(app, 'ann@a.test')
  const dashboard = await openDashboard(t, app)
  const { context, page } = dashboard
  await dashboard.signIn('ann@a.test')
  await dashboard.open('/keys')
  await page.getByRole('link', { name: 'Create a key' }).waitFor()
  const show = (): Promise<void> => page.evaluate("document.dispatchEvent(new Event('visibilitychange'))")

  const becomesMember = `update members set role = 'member' where role = 'admin'`
  await app.daemon.database.commit([{ sql: becomesMember, parameters: [] }])
  await show()
  await page.getByRole('link', { name: 'Create a key' }).waitFor({ state: 'detached' })

  const other = await context.newPage()
  await other.goto(page.url())
  await chooseInAccountMenu(other, 'Sign out')
  await other.getByRole('heading', { name: 'Sign in' }).waitFor()
  await show()
  await page.getByText('Your session has ended.').waitFor()

  await givePassword(app, 'owner@a.test')
  await other.getByLabel('E-mail address').fill('owner@a.test')
  await other.getByLabel('Password', { exact: true }).fill(PASSWORD)
  await other.getByRole('button', { name: 'Sign in' }).click()
  await other.getByRole('link', { name: 'Create a key' }).waitFor()
  await show()
  await page.getByRole('link', { name: 'Create a key' }).waitFor()
  await expectEqual(t, () => page.locator('.user-name').getAttribute('title'), 'owner@a.test')
  t.same(dashboard.faults, [])
})

t.test('a second click while signing out sends nothing', { skip }, async (t) => {
  const app = await testDaemon(t)
  const { page, signIn, faults } = await openDashboard(t, app)
  await signIn()
  let requests = 0
  await page.route('**/ui/api/session', async (route) => {
    if (route.request().method() !== 'DELETE') return route.continue()
    requests += 1
    await new Promise((resolve) => setTimeout(resolve, 1_000))
    return route.continue()
  })
  await page.getByRole('button', { name: 'Account: ' }).click()
  await page.getByRole('menuitem', { name: 'Sign out' }).click()
  const waiting = page.getByRole('menuitem', { name: 'Signing out …' })
  await expectEqual(t, () => waiting.getAttribute('aria-busy'), 'true')
  await waiting.click({ force: true })
  await page.getByRole('heading', { name: 'Sign in' }).waitFor()
  t.equal(requests, 1)
  t.same(faults, [])
})
