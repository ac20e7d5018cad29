/** The pages of the suppression list: add, search, remove, import. */
import type { Page } from 'playwright-core'
import t from 'tap'
import { parseAddress } from '../../src/base/mail/address.js'
import { addSuppression } from '../../src/records/suppressions/suppressions.js'
import { type TestDaemon, testDaemon } from '../helpers/daemon/test-daemon.js'
import { CHROMIUM } from '../helpers/programs/chromium.js'
import { skipWithout } from '../helpers/programs/skip-without.js'
import { expectPresentable, openDashboard, waitForRows } from '../helpers/ui/dashboard.js'
import { expectEqual, expectMatch } from '../helpers/ui/expect-shown.js'
import { ATTACK } from '../helpers/ui/receiving.js'

const skip = skipWithout(CHROMIUM.split('/').at(-1) ?? '')

/** As delivery does it, with the reply of a hostile server. */
async function addBounce(app: TestDaemon, email: string): Promise<void> {
  const metadata = { bounce_type: 'hard', diagnostic_code: `550 ${ATTACK}` }
  const bounce = { workspaceId: app.workspaceId, email: parseAddress(email), metadata, at: app.now() }
  await app.daemon.database.commit([addSuppression({ ...bounce, reason: 'hard_bounce', sourceEmailId: 'e-1' })])
}

async function importFile(page: Page, text: string): Promise<void> {
  await page.getByLabel('CSV file').setInputFiles({ name: 'a.csv', mimeType: 'text/csv', buffer: Buffer.from(text) })
  await page.getByRole('button', { name: 'Import the file' }).click()
}

t.test('addresses are suppressed, searched and removed', { skip }, async (t) => {
  const app = await testDaemon(t)
  const dashboard = await openDashboard(t, app)
  const { page } = dashboard
  await dashboard.signIn()
  await page.getByRole('link', { name: 'Suppressions' }).click()
  await page.getByText('No address is suppressed').waitFor()
  await expectPresentable(t, dashboard, 'the empty list')
  await addBounce(app, 'gone@b.test')

  await page.getByRole('link', { name: 'Suppress an address' }).click()
  await page.getByLabel('Address', { exact: true }).fill('bob@')
  await page.getByRole('button', { name: 'Suppress the address' }).click()
  await page.waitForSelector('input[name="email"][aria-invalid="true"]')
  await expectPresentable(t, dashboard, 'the form with an error')
  await page.getByLabel('Address', { exact: true }).fill('Bob@b.test')
  await page.getByRole('button', { name: 'Suppress the address' }).click()
  await page.getByText('bob@b.test is suppressed.').waitFor()
  await page.getByText(`550 ${ATTACK}`).waitFor()
  await expectEqual(t, () => page.getByRole('link', { name: 'Open the email' }).getAttribute('href'), '/ui/emails/e-1')
  await expectPresentable(t, dashboard, 'the list')

  await page.getByLabel('Reason').selectOption('hard_bounce')
  await page.getByRole('button', { name: 'Filter' }).click()
  await waitForRows(dashboard, 1)
  await page.getByLabel('Address begins with').fill('BOB')
  await page.getByRole('button', { name: 'Filter' }).click()
  await page.getByText('No suppressed address matches the filters').waitFor()
  await page.getByLabel('Reason').selectOption('')
  await page.getByRole('button', { name: 'Filter' }).click()
  await page.getByRole('button', { name: 'Remove bob@b.test' }).click()
  await page.getByLabel('Type “bob@b.test” to confirm').fill('bob@b.test')
  await page.getByRole('button', { name: 'Remove the address' }).click()
  await page.getByText('bob@b.test is no longer suppressed.').waitFor()
  t.match((await app.rest('GET', '/v1/suppressions')).json<{ data: object[] }>().data, [{ email: 'gone@b.test' }])
  t.equal(await page.evaluate('typeof window.hacked'), 'undefined')
  t.same(dashboard.faults, [])
})

t.test('a short list is imported at once, a long one with its progress', { skip }, async (t) => {
  const app = await testDaemon(t)
  const dashboard = await openDashboard(t, app)
  const { page } = dashboard
  await dashboard.signIn()
  await dashboard.open('/suppressions/import')
  await page.getByRole('button', { name: 'Import the file' }).click()
  await page.getByText('Choose a CSV file.').waitFor()
  await importFile(page, 'name\nx\n')
  await page.getByRole('alert').waitFor()
  await importFile(page, `email,reason\na@b.test,unsubscribe\n"${ATTACK.replaceAll('"', '""')}",\n`)
  await page.getByRole('heading', { name: 'Result' }).waitFor()
  await page.getByRole('cell', { name: ATTACK }).waitFor()
  t.pass('a refused value is text')
  await expectPresentable(t, dashboard, 'the report')

  const excel = Buffer.from('email;reason\nj@b.test;\nJörg;\nJürgen;\n', 'latin1')
  await page.getByLabel('CSV file').setInputFiles({ name: 'list.csv', mimeType: 'text/csv', buffer: excel })
  await page.getByRole('button', { name: 'Import the file' }).click()
  await page.getByText('Windows-1252 (Western Europe)').waitFor()
  const refused = page.getByRole('table', { name: 'Refused lines' }).locator('tbody tr')
  await expectMatch(t, () => refused.textContent(), /not an e-mail address.*2.*3, 4.*Jörg/)

  const lines = Array.from({ length: 1_200 }, (_, at) => `user${at}@c.test`)
  await importFile(page, ['email', ...lines, 'wrong', ''].join('\n'))
  await page.getByRole('heading', { name: 'Import of suppressed addresses' }).waitFor()
  await page.getByRole('heading', { name: 'Refused lines' }).waitFor()
  await expectMatch(t, () => page.locator('.facts').textContent(), /Added1,200.*Refused lines1/)
  await expectPresentable(t, dashboard, 'an import')
  await dashboard.open('/suppressions?email=user&reason=manual')
  await page.getByRole('button', { name: 'Remove user0@c.test' }).waitFor()
  await page.getByRole('button', { name: 'Next' }).click()
  await page.getByText('Page 2').waitFor()
  t.equal(await page.evaluate('typeof window.hacked'), 'undefined')
  t.same(dashboard.faults, [])
})
