/** The overview: what needs attention, the numbers of mail, the queue. */
import t from 'tap'
import { parseAddress } from '../../src/base/mail/address.js'
import { toJson } from '../../src/base/storage/tables/columns.js'
import { insertDraft } from '../../src/outbound/broadcasts/broadcast-records.js'
import { insertHold } from '../../src/workspaces/sms/holds.js'
import { type TestDaemon, testDaemon } from '../helpers/daemon/test-daemon.js'
import { CHROMIUM } from '../helpers/programs/chromium.js'
import { skipWithout } from '../helpers/programs/skip-without.js'
import { openSink } from '../helpers/smtp/scripted-sink.js'
import { expectPresentable, openDashboard } from '../helpers/ui/dashboard.js'
import { expectEqual, expectMatch, expectSame } from '../helpers/ui/expect-shown.js'

const skip = skipWithout(CHROMIUM.split('/').at(-1) ?? '')

const HOSTILE = '"><img src=x onerror=document.title=1>'
const DAY = 86_400_000

/** A domain without records, a webhook that was switched off, a paused broadcast, a held prefix, held mail. */
async function causeTrouble(app: TestDaemon): Promise<string> {
  const { commit } = app.daemon.database
  const { id } = (await app.rest('POST', '/v1/domains', { body: { domain: 'shop.test' } })).json<{ id: string }>()
  const webhook = { url: `https://8.8.8.8/${encodeURI('<b>')}`, events: ['email.bounced'] }
  t.equal((await app.rest('POST', '/v1/webhooks', { body: webhook })).status, 201)
  const [now, workspaceId] = [app.now(), app.workspaceId]
  const draft = {
    ...{ id: 'bc_paused', workspaceId, name: HOSTILE, audience_id: 'aud', subject: 'Hi', html: null, text: 'hi', now },
    ...{
      sender: toJson({ address: parseAddress('app@a.test'), name: '' }),
      reply_to: toJson([]),
      template_id: null,
      blocks: null,
    },
  }
  await commit([
    { sql: `update webhooks set enabled = 0, disabled_reason = 'failing'`, parameters: [] },
    insertDraft(draft),
    { sql: `update broadcasts set status = 'paused', note = ? where id = 'bc_paused'`, parameters: [HOSTILE] },
    insertHold({
      ...{ workspace_id: workspaceId, prefix: '+44770', held_at: now, until_at: now + DAY, sent: 40, verified: 1 },
      since: 0,
    }),
  ])
  return id
}

async function sendMail(app: TestDaemon): Promise<void> {
  const email = { from: 'app@a.test', subject: 'Hi', text: 'hi' }
  const later = new Date(app.now() + DAY).toISOString()
  const [sent, held, heldByMember] = await Promise.all(
    [
      { ...email, to: 'bob@b.test' },
      { ...email, to: 'held@b.test', scheduled_for: later },
      { ...email, to: 'held-by-member@b.test', scheduled_for: later },
      { ...email, to: 'later@b.test', scheduled_for: later },
    ].map(async (body) => (await app.rest('POST', '/v1/emails', { body })).json<{ id: string }>().id),
  )
  await app.waitUntilSettled(sent ?? '')
  await app.daemon.database.commit([
    { sql: 'update queue set held = 1 where email_id = ?', parameters: [held] },
    { sql: 'update queue set held = 3 where email_id = ?', parameters: [heldByMember] },
  ])
}

t.test('it shows what needs attention and the numbers of mail', { skip }, async (t) => {
  const sink = await openSink()
  t.teardown(() => sink.close())
  const app = await testDaemon(t, { routes: { 'b.test': sink } })
  const dashboard = await openDashboard(t, app)
  const { page } = dashboard
  await dashboard.signIn()
  await page.getByRole('heading', { level: 1, name: 'Overview' }).waitFor()
  await page.getByText('Nothing. Domains, webhooks, limits and broadcasts are in order.').waitFor()
  await expectPresentable(t, dashboard, 'an overview without mail')

  const domainId = await causeTrouble(app)
  await sendMail(app)
  await dashboard.open('/overview')
  const attention = page.locator('.attention')
  await attention.getByText('shop.test is not verified yet').waitFor()
  await page.getByRole('button', { name: 'Show 1 more' }).click()
  await expectEqual(t, () => page.evaluate('document.activeElement.closest("li.attention-item") !== null'), true)
  await expectSame(
    t,
    async () => (await attention.locator('h3').allTextContents()).toSorted(),
    [
      'Mail is held Failure',
      'Members hold mail Warning',
      'The webhook at https://8.8.8.8 was disabled Failure',
      'Verification codes to +44770 are held Failure',
      `The broadcast “${HOSTILE}” is paused Warning`,
      'shop.test is not verified yet Warning',
    ].toSorted(),
  )
  await expectEqual(t, () => page.title(), 'Overview · Posthorn', 'the name of the broadcast is text')
  await expectMatch(t, () => attention.textContent(), /posthorn sms release \+44770/)
  const repair = attention.getByRole('link', { name: 'Show the records' })
  await expectEqual(t, () => repair.getAttribute('href'), `/ui/domains/${domainId}`)

  const figure = (name: string) => page.locator('.figure', { has: page.getByText(name, { exact: true }) })
  await expectMatch(t, () => figure('Delivered').textContent(), /^Delivered1100\s?% of sent$/)
  await expectMatch(t, () => figure('Scheduled').textContent(), /^Scheduled1/)
  await expectMatch(t, () => figure('Held').textContent(), /^Held1/)
  await page.locator('.chart-plot canvas').first().waitFor()
  await page.getByText('Numbers as a table').first().click()
  const table = page.getByRole('table', { name: 'Mail by day' })
  await expectEqual(t, () => table.locator('tbody tr').count(), 30)
  await expectSame(t, () => table.locator('tbody tr').last().locator('td').allTextContents(), [
    '1',
    '0',
    '1',
    '0',
    '0',
    '0',
  ])
  await expectPresentable(t, dashboard, 'an overview with everything')
  await page.getByRole('button', { name: '7 days' }).click()
  await page.getByRole('heading', { name: 'Mail of the last 7 days' }).waitFor()
  await expectMatch(t, () => page.url(), /days=7/)
  await repair.click()
  await page.getByRole('heading', { level: 1, name: 'shop.test' }).waitFor()
  t.same(dashboard.faults, [])
})

t.test('the operator sees what of the service needs attention', { skip }, async (t) => {
  const app = await testDaemon(t)
  t.equal((await app.cli('workspace', 'set-operator', app.workspaceId)).status, 0)
  const dashboard = await openDashboard(t, app)
  const { page } = dashboard
  await dashboard.signIn()
  await page.getByRole('heading', { name: 'The daily checks have not run yet' }).waitFor()
  await page.getByRole('link', { name: 'Open Health' }).click()
  await page.getByRole('heading', { name: 'The daily checks have not run yet' }).waitFor()
  t.same(dashboard.faults, [])
})
