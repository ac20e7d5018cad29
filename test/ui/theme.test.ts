/** The color scheme: that of the system until the user chooses one, without a flash, also in charts. */
import t from 'tap'
import { testDaemon } from '../helpers/daemon/test-daemon.js'
import { CHROMIUM } from '../helpers/programs/chromium.js'
import { skipWithout } from '../helpers/programs/skip-without.js'
import { openDashboard } from '../helpers/ui/dashboard.js'
import { expectEqual } from '../helpers/ui/expect-shown.js'

const skip = skipWithout(CHROMIUM.split('/').at(-1) ?? '')
const BACKGROUND = 'getComputedStyle(document.body).backgroundColor'
const [LIGHT, DARK] = ['rgb(245, 246, 248)', 'rgb(15, 18, 22)']

t.test('the scheme is that of the system, or the one that the user has chosen', { skip }, async (t) => {
  const app = await testDaemon(t)
  const dashboard = await openDashboard(t, app)
  const { page } = dashboard
  const background = () => page.evaluate<string>(BACKGROUND)
  await page.emulateMedia({ colorScheme: 'light' })
  await dashboard.signIn()
  await expectEqual(t, background, LIGHT)
  await page.emulateMedia({ colorScheme: 'dark' })
  await expectEqual(t, background, DARK, 'it follows the system')

  const menu = page.getByRole('button', { name: 'Account: ' })
  await menu.click()
  const light = page.getByRole('menuitemradio', { name: 'Light' })
  await light.click()
  await expectEqual(t, background, LIGHT)
  await expectEqual(t, () => light.getAttribute('aria-checked'), 'true')
  await page.keyboard.press('Escape')

  await page.addInitScript(`
    const record = () => (window.shown ??= []).push(document.documentElement.dataset.theme)
    new PerformanceObserver((list) => { for (const _ of list.getEntries()) record() }).observe({ type: 'paint', buffered: true })
  `)
  await page.reload()
  await page.getByRole('heading', { level: 1 }).waitFor()
  t.equal(await background(), LIGHT, 'the choice is kept')
  t.same(await page.evaluate('[...new Set(window.shown ?? [])]'), ['light'], 'the first paint has it')
  const places = `[...document.head.children].map((element) => element.src ?? element.rel ?? '')`
  const [first = ''] = await page.evaluate<readonly string[]>(places)
  t.match(first, /\/ui\/assets\/first-theme-/, 'a script of the head sets it before the first paint')

  for (const path of ['/docs', '/docs/emails', '/docs?q=email']) {
    await dashboard.open(path)
    await expectEqual(t, background, 'rgb(255, 255, 255)', `the reference ${path} has it too`)
  }
  await dashboard.open('/')

  await menu.click()
  await page.getByRole('menuitemradio', { name: 'System' }).click()
  await expectEqual(t, background, DARK)
  t.equal(await page.evaluate(`localStorage.getItem('posthorn.theme')`), null)
  await dashboard.open('/docs')
  await expectEqual(t, background, 'rgb(20, 23, 27)', 'the reference follows the system')
  t.same(dashboard.faults, [])
})

t.test('charts are drawn again in the other colors', { skip }, async (t) => {
  const app = await testDaemon(t)
  const { id } = (
    await app.rest('POST', '/v1/emails', { body: { from: 'app@a.test', to: 'bob@b.test', subject: 'Hi', text: 'hi' } })
  ).json<{ id: string }>()
  t.ok(id)
  const dashboard = await openDashboard(t, app)
  const { page } = dashboard
  await page.emulateMedia({ colorScheme: 'light' })
  await dashboard.signIn()
  await dashboard.open('/metrics')
  await page.locator('canvas').first().waitFor()
  const canvas = await page.locator('canvas').first().elementHandle()
  await page.getByRole('button', { name: 'Account: ' }).click()
  await page.getByRole('menuitemradio', { name: 'Dark' }).click()
  await expectEqual(t, async () => canvas?.evaluate((element) => element.isConnected), false, 'the plot is a new one')
  await page.locator('canvas').first().waitFor()
  t.same(dashboard.faults, [])
})
