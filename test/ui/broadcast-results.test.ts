/** What a broadcast became: its recipients by outcome and their export, a duplicate, and a second one to the others. */
import type { Page } from 'playwright-core'
import t, { type Test } from 'tap'
import { sendToFive, startWithRecipients } from '../helpers/broadcasts/sent-to-five.js'
import type { TestDaemon } from '../helpers/daemon/test-daemon.js'
import { CHROMIUM } from '../helpers/programs/chromium.js'
import { skipWithout } from '../helpers/programs/skip-without.js'
import type { ScriptedSink } from '../helpers/smtp/scripted-sink.js'
import { type Dashboard, expectPresentable, openDashboard } from '../helpers/ui/dashboard.js'

const skip = skipWithout(CHROMIUM.split('/').at(-1) ?? '')

interface World {
  readonly app: TestDaemon
  readonly sink: ScriptedSink
  readonly id: string
  readonly dashboard: Dashboard
  readonly page: Page
}

async function openWorld(t: Test): Promise<World> {
  const { app, sink } = await startWithRecipients(t)
  const id = await sendToFive(app)
  const dashboard = await openDashboard(t, app)
  await dashboard.signIn()
  return { app, sink, id, dashboard, page: dashboard.page }
}

const addressesOf = (page: Page): Promise<string[]> => page.locator('tbody th a').allTextContents()

t.test('each number leads to its recipients, who can be filtered and exported', { skip }, async (t) => {
  const { app, id, dashboard, page } = await openWorld(t)
  await dashboard.open(`/broadcasts/${id}`)
  await expectPresentable(t, dashboard, 'the results of a broadcast')
  await page.getByRole('link', { name: '1 Opened: show who' }).click()
  await page.getByRole('heading', { level: 1, name: 'Recipients of “May”' }).waitFor()
  await page.getByRole('link', { name: 'ann@b.test' }).waitFor()
  t.same(await addressesOf(page), ['ann@b.test'])
  await page.getByLabel('Show', { exact: true }).selectOption('Bounced')
  await page.getByRole('button', { name: 'Filter' }).click()
  await page.getByText('550 5.1.1 no such user').waitFor()
  t.same(await addressesOf(page), ['carl@gone.test'])
  t.match(page.url(), /\?status=bounced$/)
  await expectPresentable(t, dashboard, 'the recipients whose message bounced')
  await page.getByRole('button', { name: 'Export this list' }).click()
  await page.getByText('The list is being written to a file.').waitFor()
  await page.getByLabel('Show', { exact: true }).selectOption('Complained')
  await page.getByRole('button', { name: 'Filter' }).click()
  await page.getByText('Nobody has complained').waitFor()
  await page.getByRole('button', { name: 'Clear' }).click()
  await page.getByRole('link', { name: 'bob@b.test' }).waitFor()
  t.equal((await addressesOf(page)).length, 5)
  await page.getByRole('link', { name: 'bob@b.test' }).click()
  await page.getByRole('heading', { level: 1, name: 'News for bob' }).waitFor()
  await page.getByRole('link', { name: 'May', exact: true }).click()
  await page.getByRole('heading', { level: 1, name: 'May' }).waitFor()

  await dashboard.open('/exports')
  await page.getByRole('link', { name: 'Recipients of a broadcast', exact: true }).waitFor()
  await page.getByText('Bounced only').waitFor()
  await expectPresentable(t, dashboard, 'the export of recipients')

  await app.daemon.database.commit([{ sql: 'delete from emails', parameters: [] }])
  await dashboard.open(`/broadcasts/${id}/recipients`)
  await page.getByText('were removed because of their age').waitFor()
  await dashboard.open(`/broadcasts/${id}/recipients?status=unsubscribed`)
  await page.getByText('dan@b.test').waitFor()
  t.same(dashboard.faults, [])
})

t.test('a broadcast is duplicated, and sent again to those who did not open it', { skip }, async (t) => {
  const { app, sink, id, dashboard, page } = await openWorld(t)
  await dashboard.open(`/broadcasts/${id}`)
  await page.getByRole('button', { name: 'Duplicate' }).click()
  await page.getByText('The draft “Copy: May” is made.').waitFor()
  await page.getByRole('heading', { level: 1, name: 'Copy: May' }).waitFor()
  t.equal(await page.getByRole('button', { name: 'Send again' }).count(), 0, 'nobody has got it yet')

  await dashboard.open(`/broadcasts/${id}`)
  await page.getByRole('button', { name: 'Send again to those who did not open' }).click()
  await page.getByText('have neither opened it nor followed a link').waitFor()
  await expectPresentable(t, dashboard, 'the dialog of a second broadcast')
  await page.getByLabel('Name of the draft').fill('Second try')
  await page.getByRole('button', { name: 'Make the draft' }).click()
  await page.getByRole('heading', { level: 1, name: 'Second try' }).waitFor()
  await page.getByText('Contacts who got').waitFor()
  await page.getByRole('link', { name: '“May”' }).waitFor()
  await expectPresentable(t, dashboard, 'a draft to those who did not open')
  const before = sink.messages.length
  await page.getByRole('button', { name: 'Send', exact: true }).click()
  await page.getByText('This broadcast goes only to subscribed contacts').waitFor()
  await page.getByRole('button', { name: 'Send now' }).click()
  await page.getByText('The broadcast is being sent.').waitFor()
  await page.locator('.badge', { hasText: 'Sent' }).waitFor()
  await page.getByRole('link', { name: '1 recipients: show who' }).waitFor()
  t.match(
    sink.messages.slice(before).map(({ rcptTo }) => rcptTo),
    [[/bob@b\.test/]],
  )
  await app.daemon.database.commit([{ sql: 'delete from emails', parameters: [] }])
  await dashboard.open(`/broadcasts/${id}`)
  await page.getByRole('button', { name: 'Send again to those who did not open' }).click()
  await page.getByRole('button', { name: 'Make the draft' }).click()
  await page.getByText('emails of the first broadcast were removed', { exact: false }).first().waitFor()
  t.same(dashboard.faults, [])
})

t.test('an email of a broadcast is found by its recipient, and leads back to the broadcast', { skip }, async (t) => {
  const { dashboard, page } = await openWorld(t)
  await dashboard.open('/emails')
  await page.getByText('Emails of broadcasts are not in this list.').waitFor()
  await expectPresentable(t, dashboard, 'a list without emails of broadcasts')
  await page.getByLabel('Address, subject or Message-ID').fill('carl@gone.test')
  await page.getByRole('button', { name: 'Filter' }).click()
  await page.getByRole('link', { name: 'a broadcast', exact: true }).waitFor()
  await expectPresentable(t, dashboard, 'emails found by an address')
  await page.getByRole('link', { name: 'News for car' }).click()
  await page.getByRole('link', { name: 'its recipients' }).waitFor()
  await expectPresentable(t, dashboard, 'the story of an email of a broadcast')
  await page.getByRole('link', { name: 'May', exact: true }).click()
  await page.getByRole('heading', { level: 1, name: 'May' }).waitFor()

  await page.route('**/ui/api/emails?*', async (route) => {
    if (route.request().url().includes('text=slow')) await new Promise((resolve) => setTimeout(resolve, 1_500))
    await route.continue().catch(() => {})
  })
  await dashboard.open('/emails')
  await page.getByText('Emails of broadcasts are not in this list.').waitFor()
  const slow = page.waitForResponse((response) => response.url().includes('text=slow'))
  for (const text of ['slow', 'carl@gone.test']) {
    await page.getByLabel('Address, subject or Message-ID').fill(text)
    await page.getByRole('button', { name: 'Filter' }).click()
  }
  await page.getByRole('link', { name: 'News for car' }).waitFor()
  await slow
  await page.waitForTimeout(200)
  t.equal(
    await page.getByText('Emails of broadcasts are not').count(),
    0,
    'an answer that comes too late changes nothing',
  )
  await page.unroute('**/ui/api/emails?*')

  await dashboard.open('/emails?subject=news')
  await page.getByRole('button', { name: 'Show emails of broadcasts too' }).click()
  await page.locator('tbody tr').nth(4).waitFor()

  await dashboard.open('/contacts')
  await page.getByRole('link', { name: 'carl@gone.test' }).click()
  await page.getByRole('heading', { name: 'Emails to this address' }).waitFor()
  await page.getByRole('link', { name: 'News for car' }).waitFor()
  await expectPresentable(t, dashboard, 'the mail of a contact')
  await page.getByRole('link', { name: 'All emails to this address' }).click()
  await page.getByRole('heading', { level: 1, name: 'Emails', exact: true }).waitFor()
  await page.getByRole('link', { name: 'News for car' }).waitFor()
  t.match(page.url(), /\/emails\?recipient=carl%40gone\.test$/)

  await page.keyboard.press('Control+k')
  const dialog = page.getByRole('dialog', { name: 'Search' })
  await dialog.getByRole('searchbox').fill('carl@gone.test')
  await dialog.getByText('of a broadcast').waitFor()
  t.same(dashboard.faults, [])
})
