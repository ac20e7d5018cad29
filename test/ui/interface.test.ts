/** The documentation of the interface in a browser, and an operation that is tried with the user's own session. */
import t from 'tap'
import { testDaemon } from '../helpers/daemon/test-daemon.js'
import { CHROMIUM } from '../helpers/programs/chromium.js'
import { skipWithout } from '../helpers/programs/skip-without.js'
import { expectPresentable, openDashboard } from '../helpers/ui/dashboard.js'
import { expectEqual, expectMatch } from '../helpers/ui/expect-shown.js'

const skip = skipWithout(CHROMIUM.split('/').at(-1) ?? '')

t.test('a resource has a short page, and the search finds an operation', { skip }, async (t) => {
  const app = await testDaemon(t)
  const dashboard = await openDashboard(t, app)
  const { page } = dashboard
  await dashboard.open('/docs')
  await expectPresentable(t, dashboard, 'the first page of the documentation')
  await page.getByLabel('Search').fill('replay range')
  await page.keyboard.press('Enter')
  await page.getByText('1 result has these words.').waitFor()
  await page.getByRole('link', { name: '/v1/webhooks/{id}/replay' }).click()
  await page.getByRole('heading', { level: 1, name: 'Webhooks' }).waitFor()
  t.ok((await page.evaluate<number>('document.body.scrollHeight')) < 12_000)
  const operation = page.locator('#post_webhooks_id_replay')
  await operation.getByText("curl '").waitFor()
  await operation.getByText('Python', { exact: true }).click()
  await operation.getByText('import requests').waitFor()
  await expectEqual(t, () => operation.getByText("curl '").isVisible(), false, 'one language at a time')
  await expectPresentable(t, dashboard, 'a resource of the documentation')
  t.same(dashboard.faults, [])
})

t.test('an operation is tried in the chosen workspace, and a change asks first', { skip }, async (t) => {
  const app = await testDaemon(t)
  const dashboard = await openDashboard(t, app)
  const { page } = dashboard
  await dashboard.open('/docs/suppressions')
  await page.locator('#post_suppressions').getByRole('link', { name: 'Try it in the dashboard' }).click()
  await page.getByLabel('Password').waitFor()
  await dashboard.signIn()
  await dashboard.open('/try/post_suppressions')
  const send = page.getByRole('button', { name: 'Send the request' })
  await page.getByLabel('Body').fill('{"email": ')
  await send.click()
  await page.getByText('This is no JSON').waitFor()
  await expectPresentable(t, dashboard, 'a trial with an error')
  await page.getByLabel('Body').fill('{"email": "tried@b.test"}')
  await send.click()
  const question = page.getByRole('dialog')
  await question.getByText('/v1/suppressions').waitFor()
  t.match((await app.rest('GET', '/v1/suppressions')).json(), { data: [] }, 'nothing is sent before the answer')
  await question.getByRole('button', { name: 'Send POST' }).click()
  await page.getByRole('heading', { name: 'Answer' }).waitFor()
  await expectMatch(t, () => page.locator('pre').textContent(), /"tried@b\.test"/)
  t.match((await app.rest('GET', '/v1/suppressions')).json(), { data: [{ email: 'tried@b.test' }] })
  await expectPresentable(t, dashboard, 'a trial with its answer')

  await dashboard.open('/try/get_suppressions')
  await page.getByLabel('limit').fill('1000')
  await send.click()
  await expectMatch(t, () => page.locator('pre').textContent(), /validation_error/, 'a reading is sent at once')
  await page.getByLabel('limit').fill('1')
  await send.click()
  await expectMatch(t, () => page.locator('pre').textContent(), /tried@b\.test/)
  await dashboard.open('/try/nothing')
  await page.getByText('There is no such operation').waitFor()
  t.same(dashboard.faults, [])
})
