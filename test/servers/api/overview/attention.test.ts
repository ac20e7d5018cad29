/** What pages show of a workspace beyond the API: only to its members, and only with a session. */
import t, { type Test } from 'tap'
import { storeFindings, storeRun } from '../../../../src/operations/doctor/findings-store.js'
import { type TestDaemon, testDaemon } from '../../../helpers/daemon/test-daemon.js'
import { givePassword, openBrowser } from '../../../helpers/http/browser-client.js'

interface Listed {
  readonly concerns: readonly { readonly key: string; readonly severity: string; readonly title: string }[]
}

async function openWorld(t: Test): Promise<{ app: TestDaemon; browser: ReturnType<typeof openBrowser> }> {
  const app = await testDaemon(t)
  await givePassword(app)
  const browser = openBrowser(app)
  t.equal((await browser.signIn('owner@a.test')).status, 201)
  return { app, browser }
}

t.test('what needs attention is listed, with what is in order left out', async (t) => {
  const { app, browser } = await openWorld(t)
  const { commit } = app.daemon.database
  t.same((await browser.ask('GET', '/attention')).json(), { concerns: [] })
  const { id: domainId } = (await app.rest('POST', '/v1/domains', { body: { domain: 'shop.test' } })).json<{
    id: string
  }>()
  const webhook = { url: 'https://8.8.8.8/', events: ['email.bounced'] }
  const ids: string[] = []
  for (let made = 0; made < 4; made += 1) {
    ids.push((await app.rest('POST', '/v1/webhooks', { body: webhook })).json<{ id: string }>().id)
  }
  const [gone, failing, , byUser] = ids
  const change = (sql: string, ...parameters: readonly unknown[]) => commit([{ sql, parameters }])
  await change(`update webhooks set enabled = 0, disabled_reason = 'gone', failing_since = 1000 where id = ?`, gone)
  await change('update webhooks set failing_since = 2000 where id = ?', failing)
  await change('update webhooks set enabled = 0 where id = ?', byUser)
  await change(
    `insert into sms_holds values (?, '+44770', ?, ?, 40, 1, null)`,
    ...[app.workspaceId, app.now(), app.now() + 3_600_000],
  )
  await change(
    `insert into breaker_states values (?, 'domain', 'a.test', 'held', 'bounces', ?, 1000, 124, 1000, null)`,
    ...[app.workspaceId, app.now()],
  )
  const { concerns } = (await browser.ask('GET', '/attention')).json<Listed>()
  t.match(concerns, [
    {
      severity: 'bad',
      title: 'The webhook at https://8.8.8.8 fails',
      text: /has failed since 1970-01-01T00:00:02\.000Z\./,
      link: { href: `/webhooks/${failing}` },
    },
    { severity: 'bad', title: 'The webhook at https://8.8.8.8 was disabled', link: { href: `/webhooks/${gone}` } },
    {
      severity: 'bad',
      title: 'Mail of the domain a.test is held',
      text: /12\.4 % of 1,000 messages of the last day bounced\./,
      remedy: [`posthorn breaker release a.test --workspace ${app.workspaceId}`],
    },
    { severity: 'bad', title: 'Verification codes to +44770 are held', text: /40 codes/, remedy: { length: 1 } },
    { severity: 'warn', title: 'shop.test is not verified yet', link: { href: `/domains/${domainId}` } },
  ])
  t.equal(concerns.length, 5)
})

t.test('those who act for the operator see what of the service needs attention, each thing once', async (t) => {
  const { app, browser } = await openWorld(t)
  const list = async () => (await browser.ask('GET', '/attention')).json<Listed>().concerns
  t.notOk((await list()).some(({ key }) => key === 'checks'))
  t.equal((await app.cli('workspace', 'set-operator', app.workspaceId)).status, 0)
  t.match((await list()).at(-1), { key: 'checks', severity: 'unanswered' })
  const { commit, node } = app.daemon.database
  await app.rest('POST', '/v1/domains', { body: { domain: 'shop.test' } })
  await commit([
    { sql: `update domains set status = 'failed', verified_at = 1 where domain = 'shop.test'`, parameters: [] },
  ])
  const at = app.now()
  const finding = { check: 'domains', subject: 'shop.test', state: 'warn', text: 'x', remedy: ['y'] } as const
  await commit([
    ...storeFindings([{ ...finding, failedAt: at, checkedAt: at, isNoticed: true }], node.name),
    ...storeRun({ at, noticedAt: at, totals: { ok: 1, warn: 1, fail: 0 }, unanswered: [] }, node.name),
  ])
  const found = await list()
  t.equal(found.filter(({ key }) => key === 'domain shop.test').length, 1)
  t.match(found[0], { severity: 'bad', title: 'Sending from shop.test has stopped' })
  await commit([{ sql: `update members set role = 'member'`, parameters: [] }])
  t.equal((await list()).length, 1, 'its members see their workspace alone')
})

t.test('the queue and the numbers of days are those of the workspace', async (t) => {
  const { app, browser } = await openWorld(t)
  const body = {
    ...{ from: 'app@a.test', to: 'bob@b.test', subject: 'Later', text: 'hi' },
    scheduled_for: new Date(app.now() + 3_600_000).toISOString(),
  }
  t.equal((await app.rest('POST', '/v1/emails', { body })).status, 201)
  t.match((await browser.ask('GET', '/queue')).json(), { scheduled: 1, waiting: 0, complete: true })
  const days = (await browser.ask('GET', '/metrics/daily?days=1&tz=Europe/Berlin')).json<{ data: unknown[] }>().data
  t.equal(days.length, 2)
  const wrong = await browser.ask('GET', '/metrics/daily?tz=Nowhere')
  t.match(wrong.json(), { error: { code: 'validation_error', details: { errors: [{ field: 'tz' }] } } })
})

t.test('they are closed to keys, strangers, and members of other workspaces', async (t) => {
  const { app, browser } = await openWorld(t)
  for (const path of ['/attention', '/queue', '/metrics/daily']) {
    t.equal((await browser.ask('GET', path)).status, 200, path)
    t.equal((await openBrowser(app).ask('GET', path)).status, 401, `${path} without a session`)
    t.equal((await app.rest('GET', `/ui/api${path}`)).status, 401, `${path} with a key`)
    const headers = { 'x-workspace-id': app.otherWorkspaceId }
    t.equal((await browser.ask('GET', path, { headers })).status, 403, `${path} of another workspace`)
    t.equal((await browser.ask('POST', path, { body: {} })).status, 405, `${path} is read only`)
  }
  for (const path of ['/v1/attention', '/v1/queue', '/v1/metrics/daily']) {
    t.equal((await app.rest('GET', path)).status, 404, `${path} is not in the API`)
  }
})
