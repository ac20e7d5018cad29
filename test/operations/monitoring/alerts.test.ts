/** The shipped alert rules: promtool judges their form, and each fires for its fault and for no other. */
import { readFileSync, writeFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import t from 'tap'
import { temporaryFolder } from '../../helpers/database/database.js'
import { runProgram } from '../../helpers/programs/run-program.js'
import { skipWithout } from '../../helpers/programs/skip-without.js'

const RULES = 'config/monitoring/alerts.yml'
const skip = skipWithout('promtool')

/** Series in the notation of promtool, one value a minute: `0+5x60` begins at 0 and adds 5 sixty times. */
type Series = Readonly<Record<string, string>>

interface RuleCase {
  readonly alert: string
  readonly fires: Series
  /** The same fault, but for one thing. */
  readonly quiet: Series
  /** When the rules are judged. Default: after two hours. */
  readonly at?: string
}

const HOUR = 3_600
const DAY = 24 * HOUR
const constant = (value: number | string): string => `${value}x500`
const rising = (step: number): string => `0+${step}x500`

const attempts = (outcome: string, provider: string): string =>
  `posthorn_attempts_total{instance="a",outcome="${outcome}",provider="${provider}"}`
const queued = (state: string): string => `posthorn_queue_entries{instance="a",state="${state}"}`
const aged = 'posthorn_queue_aged_entries{instance="a",older_than="4h"}'
const acceptance = (le: string): string => `posthorn_acceptance_seconds_bucket{instance="a",listener="rest",le="${le}"}`
const sync = (le: string): string => `posthorn_commit_sync_seconds_bucket{instance="a",le="${le}"}`
const turnedAway = (reason: string): string =>
  `posthorn_turned_away_total{instance="a",listener="submission",reason="${reason}"}`
const expiry = 'posthorn_name_certificate_expiry_timestamp_seconds{instance="a",name="mail.test"}'
const lifetime = 'posthorn_name_certificate_lifetime_seconds{instance="a",name="mail.test"}'
const findings = (state: string): string => `posthorn_doctor_check_findings{instance="a",check="ptr",state="${state}"}`
const standby = (enabled: number, usable: number, interval = 1): Series => ({
  'posthorn_standby_interval_seconds{instance="a"}': constant(interval),
  'posthorn_standby_enabled{instance="a"}': constant(enabled),
  'posthorn_standby_usable{instance="a"}': constant(usable),
})
/** `at`: when the newest backup was written, in seconds of the test; null: there is none. */
const backup = (maxAge: number, at: number | null): Series => ({
  'posthorn_backup_max_age_seconds{instance="a"}': constant(maxAge),
  'posthorn_backup_timestamp_seconds{instance="a"}': constant(at ?? 0),
})
const node = (name: string, state: string): string => `posthorn_node_info{instance="a",name="${name}",state="${state}"}`
const smsSends = (outcome: string): string => `posthorn_sms_sends_total{instance="a",outcome="${outcome}"}`

const GB = 1e9

const cases: readonly RuleCase[] = [
  { alert: 'PosthornDown', fires: { 'up{job="posthorn"}': constant(0) }, quiet: { 'up{job="posthorn"}': constant(1) } },
  {
    alert: 'PosthornRestarts',
    fires: { 'process_start_time_seconds{job="posthorn"}': '100x70 200x9 300x9 400x200' },
    quiet: { 'process_start_time_seconds{job="posthorn"}': '100x70 200x200' },
    at: '100m',
  },
  {
    alert: 'PosthornNodeAway',
    fires: { [node('one', 'working')]: constant(1), [node('two', 'stopped')]: constant(1) },
    quiet: { [node('one', 'working')]: constant(1), [node('two', 'draining')]: constant(1) },
  },
  {
    alert: 'PosthornCertificateExpires',
    fires: { [expiry]: constant(13 * DAY), [lifetime]: constant(90 * DAY) },
    quiet: { [expiry]: constant(3 * DAY), [lifetime]: constant(6 * DAY) },
  },
  {
    alert: 'PosthornCheckFails',
    fires: { [findings('fail')]: constant(2), [findings('warn')]: constant(0) },
    quiet: { [findings('fail')]: constant(0), [findings('warn')]: constant(2) },
  },
  {
    alert: 'PosthornEventLoopSlow',
    fires: { 'posthorn_event_loop_delay_seconds{instance="a",percentile="99"}': constant(0.2) },
    quiet: { 'posthorn_event_loop_delay_seconds{instance="a",percentile="99"}': constant(0.05) },
  },
  {
    alert: 'PosthornThreadBusy',
    fires: { 'posthorn_thread_busy_seconds_total{instance="a",thread="signing"}': rising(59) },
    quiet: { 'posthorn_thread_busy_seconds_total{instance="a",thread="signing"}': rising(50) },
  },
  {
    alert: 'PosthornFileDescriptors',
    fires: { 'process_open_fds{job="posthorn"}': constant(900), 'process_max_fds{job="posthorn"}': constant(1024) },
    quiet: { 'process_open_fds{job="posthorn"}': constant(900), 'process_max_fds{job="posthorn"}': constant(65_536) },
  },
  {
    alert: 'PosthornClientsTurnedAway',
    fires: { [turnedAway('connections')]: rising(60) },
    quiet: { [turnedAway('connections')]: rising(1), [turnedAway('relay-denied')]: rising(60) },
  },
  {
    alert: 'PosthornKeyGuessing',
    fires: { [turnedAway('banned')]: rising(60) },
    quiet: { [turnedAway('banned')]: rising(6) },
  },
  {
    alert: 'PosthornAcceptanceSlow',
    fires: { [acceptance('5')]: rising(60), [acceptance('10')]: rising(100), [acceptance('+Inf')]: rising(100) },
    quiet: { [acceptance('5')]: rising(100), [acceptance('10')]: rising(100), [acceptance('+Inf')]: rising(100) },
  },
  {
    alert: 'PosthornDatabaseOutage',
    fires: { 'posthorn_database_outage{instance="a"}': constant(1) },
    quiet: { 'posthorn_database_outage{instance="a"}': constant(0) },
  },
  {
    alert: 'PosthornDiskFull',
    fires: { 'posthorn_disk_accepts_mail{instance="a"}': constant(0) },
    quiet: { 'posthorn_disk_accepts_mail{instance="a"}': constant(1) },
  },
  {
    alert: 'PosthornDiskFilling',
    fires: {
      'posthorn_disk_free_bytes{instance="a"}': `${35 * GB}-${0.05 * GB}x500`,
      'posthorn_disk_size_bytes{instance="a"}': constant(100 * GB),
    },
    quiet: {
      'posthorn_disk_free_bytes{instance="a"}': `${35 * GB}-${0.005 * GB}x500`,
      'posthorn_disk_size_bytes{instance="a"}': constant(100 * GB),
    },
  },
  {
    alert: 'PosthornSyncSlow',
    fires: { [sync('0.5')]: rising(60), [sync('1')]: rising(100), [sync('+Inf')]: rising(100) },
    quiet: { [sync('0.5')]: rising(100), [sync('1')]: rising(100), [sync('+Inf')]: rising(100) },
  },
  {
    alert: 'PosthornWalLarge',
    fires: { 'posthorn_database_wal_bytes{instance="a"}': constant(2 * GB) },
    quiet: { 'posthorn_database_wal_bytes{instance="a"}': constant(0.03 * GB) },
  },
  {
    alert: 'PosthornStandbyBehind',
    fires: { ...standby(1, 1), 'posthorn_standby_lag_seconds{instance="a"}': constant(400) },
    quiet: { ...standby(1, 1), 'posthorn_standby_lag_seconds{instance="a"}': constant(200) },
  },
  {
    alert: 'PosthornStandbyBehind',
    fires: { ...standby(1, 1, 3_600), 'posthorn_standby_lag_seconds{instance="a"}': constant(4_000) },
    quiet: { ...standby(1, 1, 3_600), 'posthorn_standby_lag_seconds{instance="a"}': constant(3_600) },
  },
  {
    alert: 'PosthornStandbyBehind',
    fires: { ...standby(1, 0), 'posthorn_standby_lag_seconds{instance="a"}': constant(0) },
    quiet: { ...standby(0, 0), 'posthorn_standby_lag_seconds{instance="a"}': constant(0) },
  },
  {
    alert: 'PosthornBackupOld',
    fires: backup(2 * HOUR, -3 * HOUR),
    quiet: backup(2 * HOUR, 0),
  },
  {
    alert: 'PosthornBackupOld',
    fires: backup(2 * HOUR, null),
    quiet: backup(0, null),
    at: '4h',
  },
  {
    alert: 'PosthornNothingSent',
    fires: { [queued('queued')]: constant(500), [attempts('accepted', 'google')]: constant(40) },
    quiet: { [queued('queued')]: constant(500), [attempts('accepted', 'google')]: rising(40) },
  },
  {
    alert: 'PosthornQueueAging',
    fires: { [aged]: constant(600), [queued('deferred')]: constant(900), [queued('queued')]: constant(100) },
    quiet: { [aged]: constant(400), [queued('deferred')]: constant(900), [queued('queued')]: constant(50) },
  },
  {
    alert: 'PosthornQueueGrowing',
    fires: { [queued('queued')]: '11000+10x500' },
    quiet: { [queued('queued')]: '90000-10x500' },
  },
  {
    alert: 'PosthornProviderDefers',
    fires: { [attempts('deferred', 'google')]: rising(10), [attempts('accepted', 'google')]: rising(1) },
    quiet: { [attempts('deferred', 'other')]: rising(10), [attempts('accepted', 'google')]: rising(1) },
  },
  {
    alert: 'PosthornBouncesHigh',
    fires: { [attempts('bounced', 'other')]: rising(2), [attempts('accepted', 'other')]: rising(10) },
    quiet: { [attempts('bounced', 'other')]: rising(1), [attempts('accepted', 'other')]: rising(10) },
  },
  {
    alert: 'PosthornBlocked',
    fires: { 'posthorn_attempt_failures_total{instance="a",reason="spam-block"}': rising(1) },
    quiet: { 'posthorn_attempt_failures_total{instance="a",reason="bad-mailbox"}': rising(1) },
  },
  {
    alert: 'PosthornWebhookBacklog',
    fires: { 'posthorn_webhook_backlog_events{instance="a"}': constant(20_000) },
    quiet: { 'posthorn_webhook_backlog_events{instance="a"}': constant(900) },
  },
  {
    alert: 'PosthornSmsFails',
    fires: { [smsSends('rejected')]: rising(3), [smsSends('sent')]: rising(5) },
    quiet: { [smsSends('refused')]: rising(30), [smsSends('sent')]: rising(5) },
  },
]

const toSeries = (series: Series): unknown[] =>
  Object.entries(series).map(([name, values]) => ({ series: name, values }))

/** `expected`: the only alert that fires; null: none. */
function toRuleTest(series: Series, at: string, expected: string | null): unknown {
  return {
    interval: '1m',
    input_series: toSeries(series),
    promql_expr_test: [
      {
        expr: 'count by (alertname) (ALERTS{alertstate="firing"})',
        eval_time: at,
        exp_samples: expected === null ? [] : [{ labels: `{alertname="${expected}"}`, value: 1 }],
      },
    ],
  }
}

const shipped = readFileSync(RULES, 'utf8')
const shippedNames = [...shipped.matchAll(/^ +- alert: (\w+)$/gm)].map(([, name]) => name ?? '')

t.test('promtool accepts the shipped files', { skip }, async (t) => {
  t.equal((await runProgram(['promtool', 'check', 'rules', RULES])).status, 0)
  t.equal((await runProgram(['promtool', 'check', 'config', 'config/monitoring/prometheus.yml'])).status, 0)
})

t.test('each alert fires for its fault alone', { skip }, async (t) => {
  t.same([...new Set(cases.map(({ alert }) => alert))], shippedNames, 'each alert has its case')
  const file = join(temporaryFolder(t), 'rules-test.json')
  const tests = cases.flatMap(({ alert, fires, quiet, at = '2h' }) => [
    toRuleTest(fires, at, alert),
    toRuleTest(quiet, at, null),
  ])
  writeFileSync(file, JSON.stringify({ rule_files: [resolve(RULES)], evaluation_interval: '5m', tests }))
  const { status, stdout, stderr } = await runProgram(['promtool', 'test', 'rules', file])
  t.equal(status, 0, `${stdout}${stderr}`)
})

t.test('each alert says what is wrong, what to do, and where more is written', async (t) => {
  const sections = new Set(
    [...readFileSync('docs/monitoring.md', 'utf8').matchAll(/^### (\w+)$/gm)].map(([, title]) => title),
  )
  for (const text of shipped.split(/^ +- alert: /m).slice(1)) {
    const name = text.slice(0, text.indexOf('\n'))
    t.match(text, /^ +summary: '.{10,}'$/m, name)
    t.match(text, /^ +description: '.{40,}'$/m, name)
    t.match(text, /^ +labels: \{ severity: (critical|warning) \}$/m, name)
    t.match(text, new RegExp(`^ +runbook_url: docs/monitoring\\.md#${name.toLowerCase()}$`, 'm'), name)
    t.ok(sections.has(name), `docs/monitoring.md has a section ${name}`)
  }
  t.same(
    [...sections].filter((title) => title?.startsWith('Posthorn')),
    shippedNames,
  )
})
