/** What pages show of a workspace beyond the API: only to its members, and only with a session. */
import t, { type Test } from 'tap'
import { type TestDaemon, testDaemon } from '../../../helpers/daemon/test-daemon.js'
import { givePassword, openBrowser } from '../../../helpers/http/browser-client.js'

const nothing = { domains: [], webhooks: [], broadcasts: [], sms_holds: [], certificate: null }

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
  t.same((await browser.ask('GET', '/attention')).json(), nothing)
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
  t.match((await browser.ask('GET', '/attention')).json(), {
    domains: [{ id: domainId, domain: 'shop.test', status: 'pending', fails_at: null }],
    webhooks: [
      { id: failing, url: 'https://8.8.8.8/', disabled_reason: null, failing_since: '1970-01-01T00:00:02.000Z' },
      { id: gone, disabled_reason: 'gone' },
    ],
    sms_holds: [{ prefix: '+44770' }],
    certificate: null,
  })
  t.equal((await browser.ask('GET', '/attention')).json<{ webhooks: unknown[] }>().webhooks.length, 2)
})

t.test('the certificate is shown in the workspace of the operator', async (t) => {
  const { app, browser } = await openWorld(t)
  t.equal((await app.cli('workspace', 'set-operator', app.workspaceId)).status, 0)
  const { certificate } = (await browser.ask('GET', '/attention')).json<{ certificate: { expires_at: string } }>()
  t.ok(Date.parse(certificate.expires_at) > app.now())
  await app.daemon.database.commit([{ sql: `update members set role = 'member'`, parameters: [] }])
  t.equal((await browser.ask('GET', '/attention')).json()['certificate'], null, 'not to its members')
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
