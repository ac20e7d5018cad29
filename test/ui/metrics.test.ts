/** The pages of metrics, of clicked links, and of usage. */
import t from 'tap'
import { testDaemon } from '../helpers/daemon/test-daemon.js'
import { CHROMIUM } from '../helpers/programs/chromium.js'
import { skipWithout } from '../helpers/programs/skip-without.js'
import { openSink } from '../helpers/smtp/scripted-sink.js'
import { expectPresentable, openDashboard } from '../helpers/ui/dashboard.js'
import { expectEqual, expectMatch } from '../helpers/ui/expect-shown.js'

const skip = skipWithout(CHROMIUM.split('/').at(-1) ?? '')

const DAY = 86_400_000
const HOSTILE = 'https://x.test/?a="><img src=x onerror=document.title=1>'

t.test('numbers of mail by tag, clicked links, and what is used of the plan', { skip }, async (t) => {
  const sink = await openSink({
    script: { rcpt: ({ line }) => (line.includes('nobody') ? '550 5.1.1 no such user' : '250 ok') },
  })
  t.teardown(() => sink.close())
  const settings = { limits: { plans: { small: { emails_per_month: 10 } } } }
  const app = await testDaemon(t, { routes: { 'b.test': sink }, settings })
  await app.cli('workspace', 'set-plan', app.workspaceId, 'small')
  const dashboard = await openDashboard(t, app)
  const { page } = dashboard
  const body = {
    from: 'app@a.test',
    to: ['bob@b.test', 'ann@b.test'],
    subject: 'Hi',
    text: 'hi',
    tags: [{ name: 'kind', value: 'news' }],
  }
  const { id } = (await app.rest('POST', '/v1/emails', { body })).json<{ id: string }>()
  await app.waitUntilSettled(id)
  const refused = { ...body, to: 'nobody@b.test', tags: [] }
  await app.waitUntilSettled((await app.rest('POST', '/v1/emails', { body: refused })).json<{ id: string }>().id)
  const today = app.now() - (app.now() % DAY)
  const [workspaceId, links] = [app.workspaceId, 'insert into link_metrics values (?, ?, ?, ?, ?, 2, ?, ?, 0)']
  await app.daemon.database.commit([
    {
      sql: `insert into email_metrics (workspace_id, domain, tag, bucket, delivered) values (?, '', '', ?, 1)`,
      parameters: [workspaceId, today - 40 * DAY],
    },
    { sql: links, parameters: [workspaceId, '', today, HOSTILE, 7, today, today] },
    ...Array.from({ length: 60 }, (_, place) => ({
      sql: links,
      parameters: [workspaceId, '', today, `https://x.test/${place}`, 3, today, today],
    })),
    {
      sql: `insert into usage values (?, 'sms-sent', ?, 42, 0), (?, 'sms-segments', ?, 51, 0)`,
      parameters: [workspaceId, today, workspaceId, today],
    },
  ])

  await dashboard.signIn()
  await page.getByRole('link', { name: 'Metrics', exact: true }).click()
  await page.getByText('More numbers').waitFor()
  await page.getByText('All 2 emails have 3 recipients:').waitFor()
  const until = await page.locator('.fact', { hasText: 'Time' }).locator('time').last().getAttribute('datetime')
  t.ok(Date.parse(until ?? '') <= app.now(), 'the time ends now, not at the next quarter of an hour')
  await page.getByText('0.3%: they refuse it').waitFor()
  await page.getByText('10%: Posthorn holds mail').waitFor()
  const providers = page.getByRole('table', { name: 'Mail by provider' }).locator('tbody tr')
  await expectMatch(t, () => providers.first().textContent(), /^b\.test210$/)
  const reasons = page.getByRole('table', { name: 'Bounces and failures by reason' }).locator('tbody tr')
  await expectMatch(t, () => reasons.first().textContent(), /^Bad mailboxThe mailbox does not exist\.1$/)
  await page.getByText('+100%, before 1').first().waitFor()
  await expectPresentable(t, dashboard, 'metrics')
  await page.getByLabel('Tag').fill('kind')
  await page.getByRole('button', { name: 'Filter' }).click()
  await page.waitForSelector('input[name="tag"][aria-invalid="true"]')
  await expectPresentable(t, dashboard, 'metrics with a wrong tag')
  await page.getByLabel('Tag').fill('kind:other')
  await page.getByRole('button', { name: 'Filter' }).click()
  await page.getByText('No email was accepted in this time').waitFor()
  await page.getByLabel('Tag').fill('kind:news')
  await page.getByRole('button', { name: 'Filter' }).click()
  await page.getByText('More numbers').waitFor()
  await expectMatch(t, () => page.locator('.figure').first().textContent(), /^Sent1/)
  await page.getByLabel('Time').selectOption('Between two days')
  await page.getByLabel('First day').fill('2020-01-01')
  await page.getByRole('button', { name: 'Filter' }).click()
  await page.waitForSelector('input[name="from"][aria-invalid="true"]')

  await page.getByRole('link', { name: 'Clicked links', exact: true }).click()
  await page.getByRole('rowheader', { name: HOSTILE }).waitFor()
  await expectEqual(t, () => page.title(), 'Clicked links · Posthorn', 'the link is text')
  await expectEqual(t, () => page.locator('tbody tr').count(), 50)
  await expectPresentable(t, dashboard, 'clicked links')
  await page.getByRole('button', { name: 'Next ›' }).click()
  await page.getByText('Page 2').waitFor()
  await page.locator('tbody tr').nth(11).waitFor({ state: 'detached' })
  await expectEqual(t, () => page.locator('tbody tr').count(), 11)

  await page.getByRole('link', { name: 'Usage and limits' }).click()
  await page.locator('.chart-title', { hasText: 'Codes by day' }).waitFor()
  await expectMatch(t, () => page.locator('.fact', { hasText: 'Codes today' }).textContent(), /42$/)
  await expectMatch(t, () => page.locator('.progress').first().textContent(), /2 of 10$/)
  await expectPresentable(t, dashboard, 'usage')
  t.same(dashboard.faults, [])
})

t.test('mail that was passed on is a success, and the figures add up', { skip }, async (t) => {
  const app = await testDaemon(t)
  const today = app.now() - (app.now() % DAY)
  await app.daemon.database.commit([
    {
      sql: `insert into email_metrics (workspace_id, domain, tag, bucket, sent, delivered, bounced) values (?, '', '', ?, 4, 4, 2)`,
      parameters: [app.workspaceId, today],
    },
  ])
  const dashboard = await openDashboard(t, app)
  const { page } = dashboard
  await dashboard.signIn()
  await dashboard.open('/metrics')
  const figure = (name: string) => page.locator('.figure', { has: page.getByText(name, { exact: true }) }).first()
  await expectMatch(t, () => figure('Sent').textContent(), /^Sent1080\s?% of them passed on or delivered$/)
  await expectMatch(t, () => figure('Delivered').textContent(), /^Delivered440\s?% of sent$/)
  await expectMatch(t, () => figure('Passed on').textContent(), /^Passed on440\s?% of sent$/)
  await expectMatch(t, () => figure('Bounced').textContent(), /^Bounced220\s?% of sent$/)
  await page.getByText('Passed on means that another server, such as a relay, has accepted the email').waitFor()
  await page.getByText('because no email was sent in the time before').waitFor()
  await expectPresentable(t, dashboard, 'metrics of mail that was passed on')
  t.same(dashboard.faults, [])
})
