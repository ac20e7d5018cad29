/** The page of health and the events of checks: one silent DNS server is one card, and events say what failed and why. */
import t from 'tap'
import { storeFindings, storeRun } from '../../src/operations/doctor/findings-store.js'
import { recordEvent } from '../../src/records/events/event-log.js'
import { testDaemon } from '../helpers/daemon/test-daemon.js'
import { CHROMIUM } from '../helpers/programs/chromium.js'
import { skipWithout } from '../helpers/programs/skip-without.js'
import { expectPresentable, openDashboard } from '../helpers/ui/dashboard.js'
import { expectEqual } from '../helpers/ui/expect-shown.js'

const skip = skipWithout(CHROMIUM.split('/').at(-1) ?? '')

const dns = {
  ...({ check: 'dns', subject: '127.0.0.1:5353', state: 'fail' } as const),
  text: 'DNS does not answer: no answer for gmail.com (CONNREFUSED); no mail goes out',
  remedy: ['dig @127.0.0.1 -p 5353 gmail.com MX', '[dns]', 'servers = ["ADDRESS"]'],
}

t.test(
  'a silent DNS server is one card, with its port, its checks, and settings to copy at once',
  { skip },
  async (t) => {
    const app = await testDaemon(t)
    t.equal((await app.cli('workspace', 'set-operator', app.workspaceId)).status, 0)
    const at = app.now()
    const { commit, node } = app.daemon.database
    const unanswered = ['ptr', 'helo', 'blocklist', 'spf', 'dkim'].map((check) => ({
      ...{ check, subject: 'a.test', text: 'DNS gave no answer (CONNREFUSED)', remedy: ['dig a.test'] },
    }))
    await commit([
      ...storeFindings([{ ...dns, failedAt: at, checkedAt: at, isNoticed: true }], node.name),
      ...storeRun({ at, noticedAt: at, totals: { ok: 1, warn: 5, fail: 1 }, unanswered }, node.name),
    ])
    const dashboard = await openDashboard(t, app)
    const { page } = dashboard
    await dashboard.signIn()
    await dashboard.open('/operator/health')
    const card = page.locator('.attention-item', {
      hasText: 'The DNS server 127.0.0.1:5353 does not answer; 5 checks could not be made',
    })
    await card.waitFor()
    t.equal(await page.getByText('No answer', { exact: true }).count(), 0, 'no card for each check')
    t.same(await card.locator('.attention-remedy code').allTextContents(), [
      'dig @127.0.0.1 -p 5353 gmail.com MX',
      '[dns]\nservers = ["ADDRESS"]',
    ])
    await card.getByText('Show 5 with this cause').click()
    await card.getByText('ptr a.test: DNS gave no answer (CONNREFUSED)').waitFor()
    await expectPresentable(t, dashboard, 'a silent DNS server')
    t.same(dashboard.faults, [])
  },
)

t.test('the event of a check says which one failed, why, and what to do', { skip }, async (t) => {
  const app = await testDaemon(t)
  const { workspaceId } = app
  const frame = { workspaceId, emailId: null, recipient: null, at: app.now() }
  const checked_at = new Date(app.now()).toISOString()
  await app.daemon.database.commit([
    recordEvent({ ...frame, type: 'service.check_failed', data: { ...dns, checked_at } }),
  ])
  const dashboard = await openDashboard(t, app)
  const { page } = dashboard
  await dashboard.signIn()
  await dashboard.open('/events')
  const row = page.locator('tbody tr')
  await row.getByText('dns: 127.0.0.1:5353').waitFor()
  await row.getByText(dns.text).first().waitFor()
  await row.getByText('Show', { exact: true }).click()
  await row.getByText('What to do').waitFor()
  await row.getByText('dig @127.0.0.1 -p 5353 gmail.com MX', { exact: true }).waitFor()
  await expectEqual(
    t,
    () => row.locator('.event-data').evaluate((data) => (data.textContent ?? '').includes('["dig')),
    false,
  )
  await expectPresentable(t, dashboard, 'the event of a check')
  t.same(dashboard.faults, [])
})
