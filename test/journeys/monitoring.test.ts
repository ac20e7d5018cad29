/** Metrics through the whole daemon: what happened is counted, and the series are the same before and after. */
import { mkdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import type { Finding } from '../../src/operations/doctor/finding.js'
import { type TestDaemon, testDaemon } from '../helpers/daemon/test-daemon.js'
import { temporaryFolder } from '../helpers/database/database.js'
import { isOnPostgres, skipOnPostgres } from '../helpers/database/test-engine.js'
import { givePassword, openBrowser } from '../helpers/http/browser-client.js'
import { webhookReceiver } from '../helpers/http/webhook-receiver.js'
import { parseMetrics, type ScrapedMetrics } from '../helpers/parse-metrics.js'
import { runProgram } from '../helpers/programs/run-program.js'
import { skipWithout } from '../helpers/programs/skip-without.js'
import { deliverInbound, inboundText } from '../helpers/smtp/deliver-inbound.js'
import { openSink } from '../helpers/smtp/scripted-sink.js'
import { waitUntil } from '../helpers/wait-until.js'

const settings = {
  metrics: { listen: ['127.0.0.1:0'] },
  sms: { provider: 'log', allowed_countries: ['DE'] },
}

async function fetchMetrics({ daemon }: TestDaemon): Promise<string> {
  const [endpoint] = daemon.metrics
  const answer = await fetch(`http://127.0.0.1:${endpoint?.port}/metrics`)
  if (answer.status !== 200) throw new Error(`answered ${answer.status}`)
  return answer.text()
}

/** Waits for a scrape of which this holds; scrapes within a second share one collection. */
function scrapeUntil(
  app: TestDaemon,
  what: string,
  holds: (scraped: ScrapedMetrics) => boolean,
): Promise<ScrapedMetrics> {
  return waitUntil(what, async () => {
    const scraped = parseMetrics(await fetchMetrics(app))
    return holds(scraped) && scraped
  })
}

const seriesOf = ({ samples }: ScrapedMetrics): string[] => samples.map(({ series }) => series)

const MAX_SERIES = 1_000

interface SummarizedQueue {
  readonly groups: readonly { readonly reason: string; readonly count: number }[]
}

async function sendToMany(t: Test, app: TestDaemon, domains: readonly string[]): Promise<void> {
  const client = await app.openSession()
  for (const domain of domains) {
    await client.sendCommand('MAIL FROM:<app@a.test>')
    await client.sendCommand(`RCPT TO:<bob@${domain}>`)
    await client.sendCommand('DATA')
    t.match(await client.sendCommand('From: app@a.test\r\nSubject: hello\r\n\r\na line\r\n.'), /^250/)
  }
}

t.test('a journey is counted, and the series do not change', async (t) => {
  const replies = ['451 4.7.1 come again', '452 4.2.2 full', '550 5.1.1 no such user', '550 5.7.1 blocked', '421 busy']
  const sinks = await Promise.all(
    Array.from({ length: 30 }, (_, n) => openSink({ script: n < 10 ? {} : { rcpt: replies[n % 5] ?? 'drop' } })),
  )
  t.teardown(() => Promise.all(sinks.map((sink) => sink.close())))
  const routes = Object.fromEntries(sinks.map((sink, n) => [`d${n}.test`, sink]))
  const app = await testDaemon(t, { routes, settings })
  const before = parseMetrics(await fetchMetrics(app))
  t.ok(before.samples.length < MAX_SERIES, `${before.samples.length} series`)

  await sendToMany(t, app, Object.keys(routes))
  const stored = await app.rest('POST', '/v1/emails', {
    body: { from: 'app@a.test', to: 'bob@d0.test', subject: 'over REST', text: 'hello' },
  })
  t.equal(stored.status, 201)
  t.equal((await app.rest('GET', '/v1/emails/none', { key: 'wrong' })).status, 401)
  const raw = inboundText({ to: 'x@a.test' })
  t.match(await deliverInbound(t, app, { to: ['x@relay.test'], raw }), /^550/)
  const sms = await app.rest('POST', '/v1/sms/verify/send', { body: { phone: '+4915123456789' } })
  t.equal(sms.status, 200)
  await app.rest('POST', '/v1/sms/verify/send', { body: { phone: '+12025550123' } })
  await app.rest('POST', '/v1/sms/verify/check', { body: { phone: '+4915123456789', code: '0' } })

  const after = await scrapeUntil(
    app,
    'all attempts are counted',
    ({ readValue }) =>
      readValue('posthorn_delivery_seconds_count') === 11 &&
      readValue('posthorn_queue_entries{state="deferred"}') === 12,
  )
  const { readValue } = after
  t.equal(readValue('posthorn_attempts_total{outcome="accepted",provider="other"}'), 11)
  t.equal(readValue('posthorn_attempts_total{outcome="bounced",provider="other"}'), 8)
  t.equal(readValue('posthorn_attempts_total{outcome="deferred",provider="other"}'), 12)
  t.equal(readValue('posthorn_attempt_failures_total{reason="bad-mailbox"}'), 4)
  t.equal(readValue('posthorn_messages_total{listener="submission",class="2xx"}'), 30)
  t.equal(readValue('posthorn_acceptance_seconds_count{listener="submission"}'), 30)
  t.equal(readValue('posthorn_acceptance_seconds_count{listener="rest"}'), 1)
  t.ok(readValue('posthorn_acceptance_seconds_sum{listener="submission"}') > 0)
  t.equal(readValue('posthorn_sessions_total{listener="submission"}'), 1)
  t.equal(readValue('posthorn_sessions_open{listener="submission"}'), 1)
  t.equal(readValue('posthorn_turned_away_total{listener="mx",reason="relay-denied"}'), 1)
  t.equal(readValue('posthorn_queue_reason_entries{reason="mailbox-full"}'), 4)
  t.equal(readValue('posthorn_queue_reason_entries{reason="hold-rule"}'), 0)
  t.equal(readValue('posthorn_queue_aged_entries{older_than="5m"}'), 0)
  t.ok(readValue('posthorn_commits_total') > 10)
  t.ok(readValue('posthorn_commit_sync_seconds_count') > 10)
  t.ok(readValue('posthorn_commit_sync_seconds_sum') > 0)
  t.ok(readValue('posthorn_commit_batch_requests_sum') >= readValue('posthorn_commit_batch_requests_count'))
  t.ok(readValue('posthorn_requests_total{class="4xx"}') >= 1)
  t.equal(readValue('posthorn_sms_sends_total{outcome="sent"}'), 1)
  t.equal(readValue('posthorn_sms_sends_total{outcome="refused"}'), 1)
  t.equal(readValue('posthorn_sms_checks_total{status="invalid"}'), 1)
  if (!isOnPostgres()) t.ok(readValue('posthorn_thread_busy_seconds_total{thread="writer"}') > 0)
  t.ok(readValue('posthorn_thread_busy_seconds_total{thread="signing"}') > 0)
  t.ok(readValue('posthorn_certificate_expiry_timestamp_seconds') > app.now() / 1_000)
  t.ok(readValue('posthorn_database_bytes') > 0)
  t.ok(readValue('posthorn_disk_free_bytes') > 0)
  t.ok(readValue('process_open_fds') > 10)
  t.equal(readValue('posthorn_nodes_living'), 1)
  t.same(seriesOf(after), seriesOf(before), 'no series came or went')

  const { groups } = (await app.cli('queue', 'summary', '--json')).json() as SummarizedQueue
  const summary = new Map<string, number>()
  for (const { reason, count } of groups) summary.set(reason, (summary.get(reason) ?? 0) + count)
  for (const [reason, count] of summary) t.equal(readValue(`posthorn_queue_reason_entries{reason="${reason}"}`), count)
  await app.cli('queue', 'rules', 'add', '--pattern', '*@*')
  await scrapeUntil(
    app,
    'held by a rule',
    (scraped) => scraped.readValue('posthorn_queue_reason_entries{reason="hold-rule"}') === 12,
  )

  app.advance(2 * 3_600_000)
  const later = await scrapeUntil(app, 'age', (scraped) => scraped.readValue('posthorn_queue_oldest_seconds') > 7_000)
  t.equal(later.readValue('posthorn_queue_aged_entries{older_than="1h"}'), 12)
  t.equal(later.readValue('posthorn_queue_aged_entries{older_than="4h"}'), 0)
  t.same(app.errors, [])
})

t.test('inbound mail: authentication, spam, sessions', async (t) => {
  const app = await testDaemon(t, { settings })
  await app.cli('domain', 'add', 'home.test', '--inbound', '--force', '--workspace', app.workspaceId)
  t.match(await deliverInbound(t, app, { to: ['info@home.test'], raw: inboundText({}) }), /^250/)
  const { readValue } = await scrapeUntil(app, 'a verdict', (scraped) =>
    scraped.samples.some(({ name, value }) => name === 'posthorn_spam_verdicts_total' && value === 1),
  )
  t.equal(readValue('posthorn_authentication_results_total{method="dkim",result="none"}'), 1)
  const ofMethod = (method: string): number =>
    ['pass', 'fail', 'softfail', 'neutral', 'none', 'policy', 'temperror', 'permerror']
      .map((result) => readValue(`posthorn_authentication_results_total{method="${method}",result="${result}"}`))
      .reduce((sum, value) => sum + value, 0)
  for (const method of ['spf', 'dkim', 'dmarc', 'arc', 'iprev']) t.equal(ofMethod(method), 1, method)
  t.equal(readValue('posthorn_messages_total{listener="mx",class="2xx"}'), 1)
  t.equal(readValue('posthorn_sessions_total{listener="mx"}'), 1)
})

t.test('webhooks, opens and clicks, exports, broadcasts', async (t) => {
  const [sink, endpoint] = [await openSink(), await webhookReceiver(t)]
  t.teardown(() => sink.close())
  const onLoopback = { ...settings, webhooks: { allowed_private_networks: ['127.0.0.0/8'] } }
  const app = await testDaemon(t, { routes: { 'b.test': sink }, settings: onLoopback })
  endpoint.answer((response) => response.writeHead(endpoint.requests.length % 2 === 1 ? 500 : 200).end())
  const hook = await app.rest('POST', '/v1/webhooks', { body: { url: endpoint.url, events: ['email.delivered'] } })
  t.equal(hook.status, 201)
  const html = '<body><a href="https://example.org/">link</a></body>'
  const body = { from: 'app@a.test', to: ['bob@b.test'], subject: 'hello', html }
  const { id } = (await app.rest('POST', '/v1/emails', { body })).json<{ readonly id: string }>()
  await app.waitUntilSettled(id)
  t.equal((await app.rest('GET', `/v1/track/open/${id}`, { key: null })).status, 200)
  const [link] = await app.rows<{ id: string }>('select id from links where email_id = ?', id)
  t.equal((await app.rest('GET', `/v1/track/click/${link?.id}`, { key: null })).status, 302)
  const day = new Date(app.now()).toISOString().slice(0, 10)
  const requested = { type: 'email_logs', from_date: day, to_date: day }
  t.equal((await app.rest('POST', '/v1/exports', { body: requested })).status, 202)
  const { readValue } = await scrapeUntil(
    app,
    'all of it',
    ({ readValue: read }) =>
      read('posthorn_webhook_attempts_total{outcome="pending"}') === 1 &&
      read('posthorn_hits_recorded_total{kind="open"}') === 1 &&
      read('posthorn_hits_recorded_total{kind="click"}') === 1 &&
      read('posthorn_exports_total{outcome="completed"}') === 1,
  )
  t.equal(readValue('posthorn_webhooks_enabled'), 1)
  t.equal(readValue('posthorn_webhooks_failing'), 1)
  t.equal(readValue('posthorn_exports_under_way'), 0)
  t.equal(readValue('posthorn_broadcasts_under_way{status="sending"}'), 0)
  t.ok(readValue('posthorn_thread_busy_seconds_total{thread="webhooks"}') > 0)
  app.advance(120_000)
  await scrapeUntil(
    app,
    'the retry',
    (scraped) => scraped.readValue('posthorn_webhook_attempts_total{outcome="delivered"}') === 1,
  )
})

t.test(
  'certificates, daily checks, standby and backups',
  { skip: skipOnPostgres('its files are copied') },
  async (t) => {
    const folder = temporaryFolder(t)
    const [standby, backups] = [join(folder, 'standby'), join(folder, 'backups')]
    mkdirSync(standby)
    mkdirSync(backups)
    const app = await testDaemon(t, {
      settings: {
        ...settings,
        standby: { folder: standby, interval: '1s' },
        doctor: { backup_folder: backups, mx_domains: [], time_url: '', block_lists: [] },
      },
    })
    t.match(await app.cli('backup', backups), { status: 0 })
    await app.cli('workspace', 'set-operator', app.workspaceId)
    await givePassword(app)
    const browser = openBrowser(app)
    await browser.signIn('owner@a.test')
    const run = (await browser.ask('POST', '/operator/doctor')).json() as { readonly findings: readonly Finding[] }
    const wrong = run.findings.filter(({ state }) => state === 'fail')
    t.ok(wrong.length > 0, 'the test network lacks most records')
    const { readValue, samples } = await scrapeUntil(
      app,
      'the run and the first copy',
      (scraped) =>
        scraped.readValue('posthorn_doctor_run_timestamp_seconds') > 0 &&
        scraped.readValue('posthorn_standby_usable') === 1,
    )
    const failures = samples.filter(({ series }) => /^posthorn_doctor_check_findings.*state="fail"/.test(series))
    t.equal(
      failures.reduce((sum, { value }) => sum + value, 0),
      wrong.length,
    )
    t.equal(readValue('posthorn_doctor_findings{state="fail"}'), wrong.length)
    t.equal(readValue('posthorn_standby_enabled'), 1)
    t.ok(readValue('posthorn_standby_lag_seconds') < 60)
    t.equal(readValue('posthorn_backup_max_age_seconds'), 2 * 86_400)
    t.ok(Math.abs(readValue('posthorn_backup_timestamp_seconds') - Date.now() / 1_000) < 600)
    const { hostname } = app.config.service
    t.equal(
      readValue(`posthorn_name_certificate_expiry_timestamp_seconds{name="${hostname}"}`),
      readValue('posthorn_certificate_expiry_timestamp_seconds'),
    )
    t.equal(readValue('posthorn_certificates'), 1)
    t.same(app.errors, [])
  },
)

t.test('docs/monitoring.md describes each metric, and no other', async (t) => {
  const app = await testDaemon(t, { settings })
  const { names } = parseMetrics(await fetchMetrics(app))
  const documented = [
    ...readFileSync('docs/monitoring.md', 'utf8').matchAll(/^\| `((?:posthorn|process|nodejs)_\w+)`/gm),
  ]
  t.same(documented.map(([, name]) => name).sort(), [...names].sort())
})

t.test('promtool finds no fault in names, types and texts', { skip: skipWithout('promtool') }, async (t) => {
  const app = await testDaemon(t, { settings })
  const { status, stdout, stderr } = await runProgram(['promtool', 'check', 'metrics'], await fetchMetrics(app))
  t.same({ status, stdout, stderr }, { status: 0, stdout: '', stderr: '' })
})

t.test('without the setting nothing listens', async (t) => {
  t.same((await testDaemon(t)).daemon.metrics, [])
})
