/** The search over everything: opened by key and button, walked by arrow keys, and its links. */
import t from 'tap'
import { testDaemon } from '../helpers/daemon/test-daemon.js'
import { CHROMIUM } from '../helpers/programs/chromium.js'
import { skipWithout } from '../helpers/programs/skip-without.js'
import { openSink } from '../helpers/smtp/scripted-sink.js'
import { expectPresentable, openDashboard } from '../helpers/ui/dashboard.js'
import { expectEqual } from '../helpers/ui/expect-shown.js'

const skip = skipWithout(CHROMIUM.split('/').at(-1) ?? '')
const HOSTILE = `"><img src=x onerror=alert(1)>`

t.test('everything is found from one field, by keyboard alone', { skip }, async (t) => {
  const sink = await openSink()
  t.teardown(() => sink.close())
  const app = await testDaemon(t, { routes: { 'b.test': sink } })
  for (let n = 0; n < 7; n += 1) {
    const body = { from: 'app@a.test', to: 'bob@b.test', subject: `Invoice ${n} ${HOSTILE}`, text: 'x' }
    const { id } = (await app.rest('POST', '/v1/emails', { body })).json<{ readonly id: string }>()
    await app.waitUntilSettled(id)
  }
  await app.rest('POST', '/v1/contacts', { body: { email: 'bob@b.test', first_name: HOSTILE } })
  await app.rest('POST', '/v1/audiences', { body: { name: 'Readers of zebras' } })
  await app.rest('POST', '/v1/suppressions', { body: { email: 'bob@b.test', reason: 'manual' } })
  const dashboard = await openDashboard(t, app)
  const { page } = dashboard
  await dashboard.signIn()
  await page.getByRole('heading', { level: 1, name: 'Overview' }).waitFor()

  const dialog = page.getByRole('dialog', { name: 'Search' })
  const field = dialog.getByRole('searchbox')
  await page.keyboard.press('/')
  await field.waitFor()
  await expectEqual(t, () => page.evaluate('document.activeElement.type'), 'search', 'the field has the focus')
  await expectPresentable(t, dashboard, 'the empty search')
  await page.keyboard.type('bob@b.test')
  await dialog.getByRole('heading', { name: 'Emails' }).waitFor()
  await dialog.getByRole('heading', { name: 'Contacts' }).waitFor()
  await dialog.getByRole('heading', { name: 'Suppressed addresses' }).waitFor()
  await expectEqual(t, () => dialog.getByRole('link', { name: /^Invoice/ }).count(), 5)
  await expectPresentable(t, dashboard, 'what the search has found')
  await page.keyboard.press('ArrowDown')
  await page.keyboard.press('ArrowDown')
  await page.keyboard.press('ArrowUp')
  await page.keyboard.press('Enter')
  await page.getByRole('heading', { level: 1, name: /^Invoice 6/ }).waitFor()
  await expectEqual(t, () => dialog.count(), 0, 'the dialog is closed')

  await page.keyboard.press('Control+k')
  await field.fill('nvoice')
  await dialog.getByRole('link', { name: 'Show all: emails' }).click()
  await page.locator('tbody tr').nth(6).waitFor()
  await page.getByLabel('Address, subject or Message-ID').focus()
  await page.keyboard.press('/')
  await expectEqual(t, () => dialog.count(), 0, 'a slash in a field is a slash')

  await page.getByLabel('Status').focus()
  await page.keyboard.press('/')
  await field.waitFor()
  const topOf = async (): Promise<number | undefined> => (await field.boundingBox())?.y
  const top = await topOf()
  for (const [word, label] of [
    ['dark', 'Account: password, sessions, color scheme'],
    ['footer', 'Workspace'],
    ['certificate', 'Domains'],
  ] as const) {
    await field.fill(word)
    await dialog.getByRole('link', { name: label, exact: true }).waitFor()
  }
  await field.fill('nvoice')
  await dialog
    .getByRole('link', { name: /^Invoice/ })
    .first()
    .waitFor()
  t.equal(await topOf(), top, 'the field stays in its place')
  await page.keyboard.press('Escape')
  await page.getByRole('button', { name: 'Search', exact: true }).click()
  await field.fill('webhook')
  await dialog.getByText('1 found.').waitFor()
  await field.press('Enter')
  await page.getByRole('heading', { level: 1, name: 'Webhooks' }).waitFor()
  await page.keyboard.press('Control+k')
  await field.fill('zzzz')
  await dialog.getByText('Nothing was found.').waitFor()
  await page.keyboard.press('Escape')
  await expectEqual(t, () => dialog.count(), 0)
  await page.keyboard.press('Control+k')
  await field.fill('readers')
  await dialog.getByRole('heading', { name: 'Audiences' }).waitFor()
  await field.press('Enter')
  await page.getByRole('heading', { level: 1, name: 'Readers of zebras' }).waitFor()
  await page.setViewportSize({ width: 360, height: 700 })
  await page.getByRole('button', { name: 'Search', exact: true }).first().click()
  await field.fill('bob@b.test')
  await dialog
    .getByRole('link', { name: /^bob@b\.test/ })
    .first()
    .waitFor()
  await expectPresentable(t, dashboard, 'the search on a phone')
  t.same(dashboard.faults, [])
})
