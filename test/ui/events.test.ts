/** The log of events with its filters, and files that are stored for their key. */
import t from 'tap'
import { testDaemon } from '../helpers/daemon/test-daemon.js'
import { CHROMIUM } from '../helpers/programs/chromium.js'
import { skipWithout } from '../helpers/programs/skip-without.js'
import { openSink } from '../helpers/smtp/scripted-sink.js'
import { expectPresentable, openDashboard, waitForRows } from '../helpers/ui/dashboard.js'
import { expectEqual } from '../helpers/ui/expect-shown.js'

const skip = skipWithout(CHROMIUM.split('/').at(-1) ?? '')

t.test('events are filtered, and lead to their email', { skip }, async (t) => {
  const sink = await openSink()
  t.teardown(() => sink.close())
  const app = await testDaemon(t, {
    routes: { 'b.test': sink },
    settings: { sms: { provider: 'log', allowed_countries: ['DE'] } },
  })
  const sent = await app.submitAccepted({ to: ['bob@b.test'] })
  await app.waitUntilSettled(sent)
  t.equal((await app.rest('POST', '/v1/sms/verify/send', { body: { phone: '+4915123456701' } })).status, 200)
  const dashboard = await openDashboard(t, app)
  const { page, open } = dashboard
  await dashboard.signIn()
  await open('/events')
  await page.getByText('Email delivered').last().waitFor()
  await expectPresentable(t, dashboard, 'the log of events')
  await page.getByLabel('What happened').selectOption('SMS: code sent')
  await page.getByRole('button', { name: 'Filter', exact: true }).click()
  await waitForRows(dashboard, 1)
  await page.getByText('+4915123456701').first().waitFor()
  await page.getByText('Show', { exact: true }).click()
  await page.getByText('Country').waitFor()
  await open('/events?recipient=bob@b.test&type=email.delivered')
  await waitForRows(dashboard, 1)
  await page.getByRole('link', { name: 'bob@b.test' }).click()
  await expectEqual(t, async () => new URL(page.url()).pathname, `/ui/emails/${sent}`)
  t.same(dashboard.faults, [])
})

t.test('a file is stored, and its key shown', { skip }, async (t) => {
  const app = await testDaemon(t)
  const dashboard = await openDashboard(t, app)
  const { page, open } = dashboard
  await dashboard.signIn()
  await open('/files')
  await page.getByRole('button', { name: 'Store the file' }).click()
  await page.getByText('Choose a file.').waitFor()
  const terms = { name: 'terms.pdf', mimeType: 'application/pdf', buffer: Buffer.from('the terms') }
  await page.getByLabel('File', { exact: true }).setInputFiles(terms)
  await page.getByRole('button', { name: 'Store the file' }).click()
  await page.getByText('The file is stored.').waitFor()
  const key = (await page.locator('.fact code').textContent()) ?? ''
  t.match(key, /^file_/)
  t.same(await app.rows('select key, name from cached_files'), [{ key, name: 'terms.pdf' }])
  await expectPresentable(t, dashboard, 'a stored file')
  t.same(dashboard.faults, [])
})
