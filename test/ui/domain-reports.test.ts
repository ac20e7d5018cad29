/** The tabs of a domain: reports about it, forwards, and its pace; and the release of held mail. */
import t, { type Test } from 'tap'
import { toJson } from '../../src/base/storage/tables/columns.js'
import { type TestDaemon, testDaemon } from '../helpers/daemon/test-daemon.js'
import { rowOf } from '../helpers/database/rows.js'
import { CHROMIUM } from '../helpers/programs/chromium.js'
import { skipWithout } from '../helpers/programs/skip-without.js'
import { openSink } from '../helpers/smtp/scripted-sink.js'
import { expectPresentable, openDashboard } from '../helpers/ui/dashboard.js'
import { expectEqual } from '../helpers/ui/expect-shown.js'
import { closeNotices } from '../helpers/ui/steps.js'
import { waitUntil } from '../helpers/wait-until.js'

const skip = skipWithout(CHROMIUM.split('/').at(-1) ?? '')
/** Milliseconds. */
const DAY = 86_400_000

async function idOfDomain(app: TestDaemon, name = 'a.test'): Promise<string> {
  const { data } = (await app.rest('GET', '/v1/domains')).json<{ data: readonly { id: string; domain: string }[] }>()
  return data.find(({ domain }) => domain === name)?.id ?? ''
}

/** Two DMARC reports of a known reporter, one of an unknown one, and one about TLS. */
async function storeReports(app: TestDaemon, domainId: string): Promise<void> {
  const { read, commit } = app.daemon.database
  const build = rowOf(read)
  const dmarc = {
    disposition: 'none',
    dkim: 'pass',
    spf: 'pass',
    header_from: 'a.test',
    spf_domain: '',
    spf_result: '',
  }
  const rows = [
    { ...dmarc, source_ip: '192.0.2.1', messages: 12, passed: true, dkim_domain: 'a.test', dkim_result: 'pass' },
    { ...dmarc, source_ip: '198.51.100.7', messages: 4, passed: false, dkim_domain: '', dkim_result: '' },
  ]
  const sessions = [
    {
      policy_type: 'sts',
      result: 'certificate-expired',
      sessions: 10,
      passed: false,
      source_ip: '',
      mx_host: 'mx.test',
    },
  ]
  const report = { workspace_id: app.workspaceId, domain_id: domainId, domain: 'a.test', policy: 'p=none' }
  const kinds = [
    { kind: 'dmarc_aggregate', reporter: 'b.test', rows, messages: 16, passed: 12 },
    { kind: 'dmarc_aggregate', reporter: 'b.test', rows, messages: 16, passed: 12 },
    { kind: 'dmarc_aggregate', reporter: 'forger.test', rows, messages: 16, passed: 12 },
    { kind: 'tls', reporter: 'b.test', rows: sessions, messages: 100, passed: 90 },
  ]
  const known = { workspace_id: app.workspaceId, domain: 'a.test', receiver: 'b.test', noted_at: app.now() }
  const writes = [await build('mail_receivers', known)]
  for (const [at, { rows: stored, ...kind }] of kinds.entries()) {
    const id = `0197b9e5-5c1c-7cf4-8d1f-0b6a2f6f4a1${at}`
    const ends = app.now() - at * DAY
    const times = { begins_at: ends - DAY, ends_at: ends, received_at: ends }
    const names = { organization: `org ${at}`, report_id: `r${at}` }
    writes.push(await build('domain_reports', { id, ...report, ...kind, ...times, ...names }))
    writes.push(
      await build('domain_report_rows', { workspace_id: app.workspaceId, report_id: id, rows: toJson(stored) }),
    )
  }
  await commit(writes)
}

t.test('who sends in the name of a domain, and how TLS went', { skip }, async (t) => {
  const app = await testDaemon(t)
  const id = await idOfDomain(app)
  const dashboard = await openDashboard(t, app)
  const { page, open } = dashboard
  await dashboard.signIn()
  await open(`/domains/${id}?tab=reports`)
  await page.getByText('No report in this time').waitFor()
  await storeReports(app, id)
  await open(`/domains/${id}?tab=reports`)
  const row = (name: string) => page.getByRole('row', { name: new RegExp(name.replaceAll('.', '\\.')) })
  await row('198.51.100.7').first().waitFor()
  await expectEqual(t, () => row('192.0.2.1').first().textContent(), '192.0.2.124240100%')
  await page.locator('.chart-title', { hasText: 'Messages by day' }).waitFor()
  await page.getByText('1 report is left out, because its author').waitFor()
  await page.getByText('Certificate expired').first().waitFor()
  await expectPresentable(t, dashboard, 'reports about a domain')
  await page.getByRole('link', { name: 'org 2' }).click()
  await page.getByText('This report counts nowhere').waitFor()
  await expectEqual(t, () => page.getByRole('row').count(), 3)
  await expectPresentable(t, dashboard, 'one report')
  await page.getByRole('link', { name: 'Reports' }).click()
  await page.getByRole('tab', { name: 'Reports', selected: true }).waitFor()
  t.same(dashboard.faults, [])
})

async function forwardsOf(app: TestDaemon, id: string) {
  return (await app.rest('GET', `/v1/domains/${id}/forwards`)).json<{ data: readonly object[] }>().data
}

t.test('a forward is added, changed and deleted', { skip }, async (t) => {
  const app = await testDaemon(t)
  const id = await idOfDomain(app)
  const dashboard = await openDashboard(t, app)
  const { page, open } = dashboard
  await dashboard.signIn()
  await open(`/domains/${id}?tab=receiving`)
  await page.getByText('Only a verified domain that receives mail can forward.').waitFor()
  await page.getByLabel('Receive mail').check()
  await page.getByRole('button', { name: 'Save the settings' }).click()
  await page.getByText('The settings are saved.').waitFor()
  await closeNotices(page)
  await page.getByRole('button', { name: 'Add a forward' }).click()
  await page.getByRole('button', { name: 'Save the forward' }).click()
  await page.waitForSelector('[aria-invalid="true"]')
  t.pass('an empty rule is refused at its field')
  await page.getByLabel('Mail to').fill('sales')
  await page.getByLabel('Send it on to').fill('ann@a.test\nbob@elsewhere.test')
  await expectPresentable(t, dashboard, 'the form of a forward')
  await page.getByRole('button', { name: 'Save the forward' }).click()
  await page.getByText('The forward is saved. New addresses are asked.').waitFor()
  await page.getByText('has not agreed yet').waitFor()
  t.match(await forwardsOf(app, id), [{ match: 'sales', unconfirmed: ['bob@elsewhere.test'], keep: true }])
  await page.getByRole('button', { name: 'Change the forward of sales@a.test' }).click()
  await page.getByLabel('Send it on to').fill('ann@a.test')
  await page.getByLabel('Keep a copy here').uncheck()
  await page.getByRole('button', { name: 'Save the forward' }).click()
  await page.getByRole('dialog').waitFor({ state: 'detached' })
  t.match(await forwardsOf(app, id), [{ to: ['ann@a.test'], keep: false, enabled: true }])
  await expectPresentable(t, dashboard, 'forwards')
  await page.getByRole('button', { name: 'Delete the forward of sales@a.test' }).click()
  await page.getByRole('button', { name: 'Delete the forward', exact: true }).click()
  await page.getByText('No mail is forwarded').waitFor()
  t.same(await forwardsOf(app, id), [])
  t.same(dashboard.faults, [])
})

async function trip(t: Test): Promise<TestDaemon> {
  const rcpt = ({ line }: { readonly line: string }): string =>
    line.includes('<gone') ? '550 5.1.1 no such user' : '250 ok'
  const sink = await openSink({ script: { rcpt } })
  t.teardown(() => sink.close())
  const limits = { breaker: { min_messages: 10, min_bounces: 4 } }
  const app = await testDaemon(t, { routes: { 'b.test': sink, 'a.test': sink }, settings: { limits } })
  for (const [count, name] of [
    [8, 'ann'],
    [4, 'gone'],
  ] as const) {
    const to = Array.from({ length: count }, (_, at) => `${name}-${at}@b.test`)
    await app.waitUntilSettled(await app.submitAccepted({ to }))
  }
  await waitUntil('the mail is held', async () => {
    const { data } = (await app.rest('GET', '/v1/breakers')).json<{ data: readonly { state: string }[] }>()
    return data.filter(({ state }) => state === 'held').length === 2
  })
  return app
}

t.test('held mail shows why, and is released', { skip }, async (t) => {
  const app = await trip(t)
  const dashboard = await openDashboard(t, app)
  const { page, open } = dashboard
  await dashboard.signIn()
  await open(`/domains/${await idOfDomain(app)}?tab=pace`)
  await page.getByText('33.33 % of 12 messages of the last day bounced').first().waitFor()
  await page.getByText('This server does not warm up new domains.').waitFor()
  await page.getByText('No provider limits this server now').waitFor()
  await expectPresentable(t, dashboard, 'the pace of a domain')
  await page.getByRole('link', { name: 'Bounces and complaints of all domains and broadcasts' }).click()
  await page.getByRole('button', { name: 'Release the mail of the whole workspace' }).click()
  await page.getByRole('dialog').getByRole('button', { name: 'Release' }).click()
  await page.getByText('The mail of the whole workspace is sent again.').waitFor()
  await page.getByText('In order', { exact: true }).waitFor()
  t.equal(await page.getByText('Held', { exact: true }).count(), 0)
  await expectPresentable(t, dashboard, 'bounces and complaints')
  t.same(dashboard.faults, [])
})
