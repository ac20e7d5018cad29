/**
 * The time of each observer, called as often as in hours of full load, and of a scrape. Prints CPU time of this thread,
 * so that other programs on the machine change little.
 *
 * "A message" is what one email over SMTP to one recipient calls: a session of its own, its reply, a share of one batch
 * of the writer, and its attempt; an inbound one has results and a verdict instead of the attempt.
 */
import { performance } from 'node:perf_hooks'
import { allChecks } from '../../dist/src/operations/doctor/checks/all-checks.js'
import { createMonitoring } from '../../dist/src/operations/monitoring/monitoring.js'
import { reportProcess } from '../../dist/src/operations/monitoring/process-metrics.js'
import { reportUpkeep } from '../../dist/src/operations/monitoring/upkeep-metrics.js'

const ROUNDS = 400_000
const SCRAPES = 300

const { observers, metrics, collect } = createMonitoring({
  clock: () => performance.now() * 1_000_000,
  onFault: (error) => {
    throw error
  },
})
const idle = () => 0
const { stop } = reportProcess(metrics, { writer: idle, signing: idle, authentication: idle, webhooks: idle })

/** A certificate for each of so many names, of which a hundred are shown. */
const certificates = Array.from({ length: 5_000 }, (_, n) => ({
  name: `mail${n}.test`,
  from: 0,
  to: (n * 7919) % 5_000,
}))
reportUpkeep(metrics, {
  clock: () => 0,
  listCertificates: () => certificates,
  doctor: {
    checks: allChecks.map(({ name }) => name),
    readRun: () => ({ at: 1, totals: { ok: 30, warn: 2, fail: 1 } }),
    listFindings: () => [],
  },
  readStandbyLag: () => 100,
  readBackupSettings: () => ({ folder: null, maxAge: 0 }),
})

const hosts = ['aspmx.l.google.com', 'a-b.mail.protection.outlook.com', 'mx.example.org', 'mx00.gmx.net', 'mx.b.test']
const submission = observers.observeListener('submission')
const results = {
  spf: { result: 'pass' },
  dkim: [{ result: 'pass' }, { result: 'fail' }],
  dmarc: { result: 'pass' },
  arc: { result: 'none' },
  iprev: { result: 'pass' },
}

const attempt = (round) =>
  observers.onAttempt({
    outcome: 'accepted',
    reason: null,
    mx: hosts[round % 5],
    enqueuedAt: 0,
    endedAt: round % 9_000,
  })

const cases = {
  onSession: () => submission.onSession(),
  onMessage: (round) => submission.onMessage(250, round % 40),
  'onAttempt, accepted': attempt,
  'onAttempt, deferred': (round) =>
    observers.onAttempt({
      outcome: 'deferred',
      reason: 'greylisted',
      mx: hosts[round % 5],
      enqueuedAt: 0,
      endedAt: 1,
    }),
  onBatch: (round) => observers.onBatch({ requests: 1 + (round % 60), syncTime: 0.1 + (round % 20) }),
  onRequest: (round) =>
    observers.onRequest({ method: 'POST', route: '/emails', status: 201, milliseconds: round % 30 }),
  onAuthenticated: () => observers.onAuthenticated(results),
  onSpamVerdict: () => observers.onSpamVerdict('clean'),
  onWebhookAttempt: () => observers.onWebhookAttempt('delivered'),
  onHitsRecorded: () => observers.onHitsRecorded('open', 20),
  'a message out': (round) => {
    submission.onSession()
    submission.onMessage(250, round % 40)
    observers.onBatch({ requests: 1, syncTime: 3 })
    attempt(round)
  },
  'a message in': (round) => {
    submission.onSession()
    submission.onMessage(250, round % 40)
    observers.onBatch({ requests: 1, syncTime: 3 })
    observers.onAuthenticated(results)
    observers.onSpamVerdict('clean')
  },
}

/** Microseconds of CPU time. */
function cpuTime() {
  const { user, system } = process.cpuUsage()
  return user + system
}

for (const [name, run] of Object.entries(cases)) {
  for (let round = 0; round < ROUNDS / 10; round += 1) run(round)
  const begun = cpuTime()
  for (let round = 0; round < ROUNDS; round += 1) run(round)
  console.log(`${name.padEnd(24)} ${((cpuTime() - begun) / ROUNDS).toFixed(2).padStart(6)} µs`)
}

let text = ''
const begun = cpuTime()
for (let scrape = 0; scrape < SCRAPES; scrape += 1) text = await collect()
const each = (cpuTime() - begun) / SCRAPES / 1_000
const samples = text.split('\n').filter((line) => line !== '' && !line.startsWith('#')).length
console.log(`${'a scrape'.padEnd(24)} ${each.toFixed(2).padStart(6)} ms, ${samples} samples, ${text.length} bytes`)
stop()
