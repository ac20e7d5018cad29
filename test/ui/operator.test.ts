/** The pages of the operator: workspaces, the queue, spam training, suppressions of the service, health, log. */
import t, { type Test } from 'tap'
import { parseAddress } from '../../src/base/mail/address.js'
import { nodeKeyOf, setServiceState } from '../../src/base/storage/db/service-state.js'
import { SERVICE_WORKSPACE } from '../../src/base/storage/tables/tables.js'
import { storeFindings, storeRun } from '../../src/operations/doctor/findings-store.js'
import { suppress } from '../../src/records/suppressions/suppressions.js'
import { insertHold } from '../../src/workspaces/sms/holds.js'
import { type TestDaemon, testDaemon } from '../helpers/daemon/test-daemon.js'
import { rowOf } from '../helpers/database/rows.js'
import { openBrowser } from '../helpers/http/browser-client.js'
import { CHROMIUM } from '../helpers/programs/chromium.js'
import { skipWithout } from '../helpers/programs/skip-without.js'
import { type Dashboard, expectPresentable, openDashboard } from '../helpers/ui/dashboard.js'
import { expectEqual } from '../helpers/ui/expect-shown.js'
import { expectText, HOSTILE, listHolds, openOperatorWorld } from '../helpers/ui/operator-world.js'

const skip = skipWithout(CHROMIUM.split('/').at(-1) ?? '')

t.test('the operator works on workspaces and on the queue', { skip }, async (t) => {
  const { app, dashboard } = await openOperatorWorld(t)
  const { page } = dashboard
  await makeWorkspace(t, app, dashboard)

  const subject = `Subject: hi ${HOSTILE}`
  const raw = (to: string): string => `From: app@a.test\r\nTo: ${to}\r\n${subject}\r\n\r\nx\r\n`
  for (const to of ['one@b.test', 'two@b.test', 'three@b.test']) {
    await app.waitUntilAttempted(await app.submitAccepted({ to: [to], raw: raw(to) }))
  }
  await page.getByRole('link', { name: 'Queue', exact: true }).click()
  await page.getByRole('link', { name: 'b.test' }).waitFor()
  await expectPresentable(t, dashboard, 'the queue by domain')
  await page.getByRole('tab', { name: 'By reason' }).click()
  await expectText(page, 'answer 450 4.2.0')
  await expectPresentable(t, dashboard, 'the queue by reason')
  await page.getByRole('tab', { name: 'By domain' }).click()
  await page.getByRole('link', { name: 'b.test' }).click()

  await page.getByRole('button', { name: 'Hold one@b.test' }).click()
  await page.getByRole('button', { name: 'Release one@b.test' }).waitFor()
  t.same(await listHolds(app), ['1', '0', '0'])
  await expectText(page, `hi ${HOSTILE}`)
  await expectPresentable(t, dashboard, 'entries of the queue')
  await page.getByRole('button', { name: 'Delete two@b.test' }).click()
  await expectEqual(
    t,
    () => page.getByRole('button', { name: 'Delete from the queue' }).isDisabled(),
    true,
    'the name is asked for',
  )
  await page.getByLabel('to confirm').fill('two@b.test')
  await expectPresentable(t, dashboard, 'the dialog of a deletion')
  await page.getByRole('button', { name: 'Delete from the queue' }).click()
  await page.getByRole('rowheader', { name: 'two@b.test' }).waitFor({ state: 'detached' })
  t.same(await listHolds(app), ['1', '0'])
  await page.getByRole('button', { name: 'Hold all' }).click()
  await page.getByRole('dialog').getByRole('button', { name: 'Hold all' }).click()
  await expectText(page, 'Hold all: completed')
  t.same(await listHolds(app), ['1', '1'])
  await expectPresentable(t, dashboard, 'the end of an act on all')
  const acts = await app.rows<{ action: string; actor: string }>(
    "select action, actor from audit_log where action like 'queue.%' order by seq",
  )
  t.same(
    acts.map(({ action }) => action),
    ['queue.held', 'queue.deleted', 'queue.held'],
  )
  t.ok(
    acts.every(({ actor }) => actor !== 'operator'),
    'the log names the user',
  )
  t.same(dashboard.faults, [])
})

async function makeWorkspace(t: Test, app: TestDaemon, dashboard: Dashboard): Promise<void> {
  const { page } = dashboard
  await page.getByRole('link', { name: 'All workspaces' }).click()
  await page.getByRole('link', { name: 'Create a workspace' }).click()
  await page.getByLabel('Name').fill(`Shop ${HOSTILE}`)
  await page.getByLabel('E-mail address of the owner').fill('nonsense')
  await page.getByRole('button', { name: 'Create the workspace' }).click()
  await page.waitForSelector('input[name="email"][aria-invalid="true"]')
  await expectPresentable(t, dashboard, 'the form of a workspace with an error')
  await page.getByLabel('E-mail address of the owner').fill('new@shop.test')
  await page.getByRole('button', { name: 'Create the workspace' }).click()
  const url = (await page.locator('.copy code').textContent()) ?? ''
  t.match(url, /\/ui\/set-password#token=[\w-]{43}$/)
  await expectPresentable(t, dashboard, 'the link of a new owner')
  t.equal((await app.rows("select 1 from api_keys where name = 'first key'")).length, 2, 'no key was made')
  await page.getByRole('link', { name: 'Open the workspace' }).click()
  await page.getByRole('heading', { name: `Shop ${HOSTILE}` }).waitFor()
  await page.getByLabel('Plan').selectOption('small')
  await page.getByRole('button', { name: 'Change the plan' }).click()
  await expectText(page, '0 of 5')
  await page.getByRole('button', { name: 'Make a link' }).click()
  await page.locator('.copy code', { hasText: 'set-password' }).waitFor()
  await expectPresentable(t, dashboard, 'a workspace')
  await page.getByRole('link', { name: 'All workspaces' }).last().click()
  await page.getByLabel('The name begins with').fill('shop')
  await page.getByRole('button', { name: 'Filter' }).click()
  await page.getByRole('rowheader', { name: HOSTILE }).waitFor()
  await page.getByRole('rowheader').nth(1).waitFor({ state: 'detached' })
  await expectEqual(t, () => page.getByRole('rowheader').count(), 1, 'the others are not shown')
  await expectPresentable(t, dashboard, 'all workspaces')
}

t.test('the operator looks at the service', { skip }, async (t) => {
  const { app, dashboard } = await openOperatorWorld(t)
  const { page, open } = dashboard
  const email = parseAddress('gone@b.test')
  const added = { workspaceId: SERVICE_WORKSPACE, email, reason: 'hard_bounce', at: app.now() } as const
  await suppress(app.daemon.database, { ...added, sourceEmailId: null, metadata: {} })
  await page.getByRole('link', { name: 'Service suppressions' }).click()
  await page.getByRole('button', { name: 'Remove gone@b.test' }).click()
  await page.getByLabel('to confirm').fill('gone@b.test')
  await expectPresentable(t, dashboard, 'suppressions of the service')
  await page.getByRole('button', { name: 'Remove from the list' }).click()
  await expectText(page, 'No address is suppressed')
  t.equal((await app.rows("select 1 from suppressions where workspace_id = 'service'")).length, 0)

  await page.getByRole('link', { name: 'Spam training' }).click()
  await expectText(page, 'At most 2 points')
  await expectPresentable(t, dashboard, 'spam training')
  await page.getByRole('link', { name: 'Health' }).click()
  await expectText(page, 'self-signed')
  await expectText(page, 'Commits since the start')
  await expectPresentable(t, dashboard, 'health')
  await lookAtNodes(t, dashboard)
  await lookAtFindings(t, app, dashboard)
  await page.getByRole('link', { name: 'Log', exact: true }).click()
  await page.getByRole('rowheader').first().waitFor()
  await expectPresentable(t, dashboard, 'log')
  await open('/operator/log?level=error')
  await expectText(page, 'No line of this level')
  t.same(dashboard.faults, [])
})

/** They are shown if there are several. */
async function lookAtNodes(t: Test, dashboard: Dashboard): Promise<void> {
  const { page, open } = dashboard
  t.equal(await page.getByRole('heading', { name: 'Nodes' }).count(), 0)
  const path = '**/ui/api/operator/health'
  const at = '2026-11-28T15:04:05.120Z'
  const one = { name: 'one', state: 'working', version: '0.1.0', last_beat: at, started_at: at, entries: 1_234 }
  const nodes = [
    { ...one, leads: true, adopted_by: null },
    { ...one, name: 'two', state: 'stopped', last_beat: null, entries: 0, leads: false, adopted_by: 'one' },
  ]
  await page.route(path, async (route) => {
    const response = await route.fetch()
    await route.fulfill({ response, json: { ...(await response.json()), answered_by: 'one', nodes } })
  })
  await open('/operator/health')
  await expectText(page, 'about the node one')
  const rows = page.getByRole('table', { name: 'Nodes' }).locator('tbody tr')
  t.match(await rows.allTextContents(), [/^oneWorking0\.1\.0.*1,234Yes–$/, /^twoStopped0\.1\.0–0Noone$/])
  await expectPresentable(t, dashboard, 'nodes')
  await page.unroute(path)
}

/** One list has the faults, worst first, and the checks without an answer; the counts are those of the list. */
async function lookAtFindings(t: Test, { daemon, now, workspaceId }: TestDaemon, dashboard: Dashboard): Promise<void> {
  const { page, open } = dashboard
  const calm = page.getByText('Nothing needs attention')
  await hideLoad(dashboard)
  await open('/operator/health')
  await page.getByRole('heading', { name: 'The daily checks have not run yet' }).waitFor()
  t.equal(await calm.count(), 0)
  const { commit, node } = daemon.database
  const at = now()
  const run = { at, noticedAt: at, totals: { ok: 40, warn: 1, fail: 0 }, unanswered: [] }
  await commit([...storeRun(run, node.name)])
  await open('/operator/health')
  await expectText(page, 'Nothing needs attention')
  const webhook = {
    ...{ id: 'whk_1', workspace_id: workspaceId, url: 'https://h.test/', enabled: 1, events: '["email.delivered"]' },
    ...{ failing_since: at, created_at: at, updated_at: at },
  }
  const finding = { failedAt: at, checkedAt: at, isNoticed: true, remedy: ['dig mx.a.test'] }
  const silent = { check: 'ptr', subject: '192.0.2.1', text: 'DNS gave no answer', remedy: ['dig -x 192.0.2.1'] }
  await commit([
    await rowOf(daemon.database.read)('webhooks', webhook),
    ...storeFindings(
      [
        { ...finding, check: 'dmarc', subject: 'a.test', state: 'warn', text: 'there is no policy' },
        { ...finding, check: 'helo', subject: 'mx.a.test', state: 'fail', text: 'the name has no address' },
        { ...finding, check: 'webhooks', subject: 'webhooks', state: 'fail', text: 'of yesterday' },
      ],
      node.name,
    ),
    ...storeRun({ ...run, unanswered: [silent] }, node.name),
  ])
  await open('/operator/health')
  await expectText(page, 'The check “helo” has found this since')
  t.match(await page.locator('.attention h3').allTextContents(), [
    'mx.a.test: the name has no address',
    /^webhooks: 1 of 1 that are enabled fail/,
    'a.test: there is no policy',
    '192.0.2.1: DNS gave no answer',
  ])
  await expectText(page, '1 failure, 2 warnings, 1 check without an answer')
  t.equal(await calm.count(), 0)
  await expectPresentable(t, dashboard, 'findings')
  await open('/overview')
  await expectText(page, 'mx.a.test: the name has no address')
  await expectText(page, 'The webhook at https://h.test fails')
  await open('/operator/health')
}

/** A machine that is busy with tests has delays, which would be in the list. */
async function hideLoad({ page }: Dashboard): Promise<void> {
  for (const path of ['**/ui/api/operator/concerns', '**/ui/api/attention']) {
    await page.route(path, async (route) => {
      const response = await route.fetch()
      const body: { readonly concerns: readonly { readonly key: string }[] } = await response.json()
      const concerns = body.concerns.filter(({ key }) => !key.startsWith('check event-loop'))
      await route.fulfill({ response, json: { ...body, concerns } })
    })
  }
}

async function goOnAfterRestart(t: Test, { folder }: TestDaemon): Promise<void> {
  const app = await testDaemon(t, { folder })
  const dashboard = await openDashboard(t, app)
  const { page } = dashboard
  await dashboard.signIn()
  await dashboard.open('/operator/queue')
  await page.getByText('Hold all: interrupted').waitFor()
  await expectText(page, '100 changed, 0 left as they were')
  await expectPresentable(t, dashboard, 'an act that was interrupted')
  await page.getByRole('button', { name: 'Continue' }).click()
  await page.getByText('Hold all: completed').waitFor()
  await expectEqual(t, () => page.getByRole('button', { name: 'Continue' }).count(), 0)
  t.same(dashboard.faults, [])
}

t.test(
  'the operator releases a prefix that is held, and goes on with an act that a restart interrupted',
  { skip },
  async (t) => {
    const { app, dashboard } = await openOperatorWorld(t)
    const { page } = dashboard
    const { commit } = app.daemon.database
    const { node } = app.daemon.database
    const now = app.now()
    const hold = {
      workspace_id: app.workspaceId,
      held_at: now - 60_000,
      until_at: now + 3_600_000,
      sent: 40,
      verified: 2,
    }
    await commit(['+43664', '+43699'].map((prefix) => insertHold({ ...hold, prefix, since: 0 })))
    await page.getByRole('link', { name: 'SMS holds' }).click()
    await page.getByRole('rowheader', { name: '+43699' }).waitFor()
    await expectPresentable(t, dashboard, 'SMS holds')
    await page.getByRole('button', { name: /^Release \+43664/ }).click()
    await page.getByRole('dialog').getByRole('button', { name: 'Release' }).click()
    await page.getByText('may send codes to +43664 again.').waitFor()
    await page.getByRole('rowheader', { name: '+43664' }).waitFor({ state: 'detached' })
    t.match(await app.rows("select target, actor from audit_log where action = 'sms.hold_released'"), [
      { target: '+43664', actor: /^01/ },
    ])
    const again = { body: { workspace_id: app.workspaceId, prefix: '+43664' } }
    const browser = openBrowser(app)
    await browser.signIn('owner@a.test')
    t.equal((await browser.ask('POST', '/operator/sms-holds/release', again)).status, 404)
    await page.getByRole('button', { name: /^Release \+43699/ }).click()
    await page.getByRole('dialog').getByRole('button', { name: 'Release' }).click()
    await page.getByText('No prefix is held').waitFor()

    const work = {
      act: 'hold',
      filter: { domain: 'b.test' },
      state: 'running',
      changed: 100,
      missed: 0,
      startedAt: now,
    }
    await commit([
      setServiceState({
        key: nodeKeyOf('queue_work', node.name),
        value: JSON.stringify({ ...work, endedAt: null, error: null }),
      }),
    ])
    t.same(dashboard.faults, [])
    await dashboard.context.close()
    await app.stop()
    await goOnAfterRestart(t, app)
  },
)

t.test('a member of another workspace sees none of it', { skip }, async (t) => {
  const { app } = await openOperatorWorld(t)
  const other = await openDashboard(t, app)
  await other.signIn('owner@other.test')
  await expectEqual(t, () => other.page.getByRole('link', { name: 'All workspaces' }).count(), 0)
  await other.open('/operator/queue')
  await other.page.getByRole('heading', { name: 'Page not found' }).waitFor()
})
