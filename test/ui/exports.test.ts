/** The page of exports: ask for one, follow it, download its file, delete it. */
import { text } from 'node:stream/consumers'
import t from 'tap'
import { testDaemon } from '../helpers/daemon/test-daemon.js'
import { CHROMIUM } from '../helpers/programs/chromium.js'
import { skipWithout } from '../helpers/programs/skip-without.js'
import { expectPresentable, openDashboard } from '../helpers/ui/dashboard.js'

const skip = skipWithout(CHROMIUM.split('/').at(-1) ?? '')
const HOSTILE = '<img src=x onerror="document.title=1">'

t.test('an export is requested, written, downloaded and deleted', { skip }, async (t) => {
  const app = await testDaemon(t)
  const body = { from: 'app@a.test', to: 'bob@b.test', subject: HOSTILE, text: 't' }
  t.equal((await app.rest('POST', '/v1/emails', { body })).status, 201)
  const dashboard = await openDashboard(t, app)
  const { page } = dashboard
  await dashboard.signIn()
  await page.getByRole('link', { name: 'Exports' }).click()
  await page.getByText('No export yet').waitFor()
  await page.getByRole('button', { name: 'Export records' }).click()
  await page.getByLabel('To', { exact: true }).fill('2020-01-01')
  await page.getByLabel('Domain').fill('not a domain')
  await page.getByRole('button', { name: 'Export', exact: true }).click()
  await page.waitForSelector('input[name="domain"][aria-invalid="true"]')
  await expectPresentable(t, dashboard, 'the form of an export with errors')
  await page.getByLabel('Domain').fill('a.test')
  await page.getByRole('button', { name: 'Export', exact: true }).click()
  await page.getByText('Must not be before from_date').waitFor()
  await page.getByLabel('To', { exact: true }).fill(new Date(app.now()).toISOString().slice(0, 10))
  await page.getByRole('button', { name: 'Export', exact: true }).click()
  await page.getByText('The export is being written.').waitFor()
  await page.getByText('Completed').waitFor()
  await page.getByText('a.test only').waitFor()
  t.pass('it is shown')
  await expectPresentable(t, dashboard, 'the list of exports')

  const [download] = await Promise.all([
    page.waitForEvent('download'),
    page.getByRole('link', { name: 'Download Emails' }).click(),
  ])
  t.match(download.suggestedFilename(), /^email_logs-\d{4}-\d\d-\d\d\.csv$/)
  t.match(await text(await download.createReadStream()), 'bob@b.test')

  await page.getByRole('button', { name: 'Delete Emails' }).click()
  await page.getByLabel('to confirm').fill('Emails')
  await page.getByRole('button', { name: 'Delete the export' }).click()
  await page.getByText('No export yet').waitFor()
  t.match((await app.rest('GET', '/v1/exports')).json(), { data: { length: 0 } })
  t.same(dashboard.faults, [])
})
