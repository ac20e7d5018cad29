// Runs the load, lets the faults take turns, waits until what is left is done, and reports. scripts/soak tells the options.
import { cpSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { arch, cpus, loadavg, release } from 'node:os'
import { join, resolve } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { parseArgs } from 'node:util'
import { startServers } from '../crash-parts/servers.mjs'
import { createClient } from '../lib/https-client.mjs'
import { openRows } from '../lib/rows.mjs'
import { seeded } from '../lib/seeded.mjs'
import { EVENT_TYPES, openEndpoint } from '../lib/webhook-endpoint.mjs'
import { balance, checkIndexes } from './balance.mjs'
import { Supervised } from './daemon.mjs'
import { openDnsServer } from './dns-server.mjs'
import { allFaults } from './faults.mjs'
import { judgeAnswers, judgeDeaths, judgeErrors, judgeUse } from './judge.mjs'
import { Ledger } from './ledger.mjs'
import { createFakeClock, findTools, mountSmallDisk } from './machine.mjs'
import { askZone, browseDashboard, makeExports, readMessages, readMetrics, sendBroadcasts } from './people-load.mjs'
import { findPlace, printReport, writeMarkdown } from './report.mjs'
import { loadRest } from './rest-load.mjs'
import { prepare } from './setting.mjs'
import { openSink } from './sink.mjs'
import { loadSmtp } from './smtp-load.mjs'
import { Timeline } from './timeline.mjs'

const { values } = parseArgs({
  options: {
    minutes: { type: 'string', default: '60' },
    report: { type: 'string' },
    only: { type: 'string' },
    disk: { type: 'string', default: '/tmp' },
    seed: { type: 'string', default: String(process.pid) },
    storage: { type: 'string', default: 'sqlite' },
  },
})
if (!['sqlite', 'postgres'].includes(values.storage)) {
  console.error(`soak: --storage: found "${values.storage}", allowed: sqlite, postgres`)
  process.exit(2)
}
try {
  // Before the run of an hour, not after it.
  if (values.report !== undefined) findPlace(values.report, values.storage)
} catch (error) {
  console.error(`soak: --report: ${error.message}`)
  process.exit(2)
}
const MINUTE = 60_000
const MAX_DRAIN = 6 * MINUTE
const MAX_RECOVERY = 60_000
const listeners = ['smtp', 'smtps', 'rest', 'mx', 'sink']
const minutes = Number(values.minutes)
const random = seeded(Number(values.seed))
const tools = findTools()
const folder = mkdtempSync(join(resolve(values.disk), 'posthorn-soak-'))
// As many bytes as the messages take, beside the gigabyte that the daemon wants to be free.
const disk = tools.root ? mountSmallDisk(folder, 2_048 + Math.ceil(minutes * 60)) : null
const postgres = values.storage === 'postgres' ? await startServers(disk?.path ?? folder, { isPair: false }) : null
const clock = tools.faketime === null ? null : createFakeClock(folder, tools.faketime)
const ledger = new Ledger(folder)
const timeline = new Timeline()
const dns = await openDnsServer(random)
const sink = await openSink(ledger, random)
const endpoint = await openEndpoint()
const setting = await prepare({
  folder,
  data: join(disk?.path ?? folder, 'data'),
  dnsPort: dns.port,
  sinkPort: sink.port,
  storage: postgres?.url ?? '',
})
const daemon = new Supervised({ words: setting.words, environment: clock?.environment ?? {}, timeline, folder })
const over = new AbortController()
const api = { port: setting.ports.api, key: setting.key }
const run = { signal: over.signal, ledger, timeline, random, sink, api }

let interrupts = 0
process.on('SIGINT', () => {
  interrupts += 1
  if (interrupts > 1) process.exit(130)
  console.log('ending: the fault under way is undone first')
})
process.on('SIGTERM', () => process.exit(143))
process.on('exit', () => {
  daemon.killNow()
  postgres?.end()
  disk?.release()
})

const available = {
  ...{ strace: tools.strace, prlimit: tools.prlimit, faketime: clock !== null, disk: disk !== null },
  ...{ server: postgres !== null, file: postgres === null },
}
/** Faults of the other engine are not missing. */
const isOfEngine = ({ needs = [] }) => !needs.includes(postgres === null ? 'server' : 'file')
const isWanted = ({ name }) => values.only === undefined || values.only.split(',').some((part) => name.includes(part))
const isPossible = ({ needs = [] }) => needs.every((tool) => available[tool])
const faults = allFaults.filter((fault) => isWanted(fault) && isPossible(fault))
const missing = allFaults.filter((fault) => isOfEngine(fault) && !isPossible(fault)).map(({ name }) => name)

/** When the server of the database was away. */
const cuts = []
const begun = Date.now()
console.log(
  `seed ${values.seed}, ${minutes} minutes, ${faults.length} faults${missing.length === 0 ? '' : `; left out: ${missing}`}; ${folder}`,
)
await daemon.start()
await subscribe()
const load = startLoad()
await sleep(10_000)
const recoveries = await takeTurns()
const loadEnded = Date.now()
over.abort()
await Promise.race([Promise.all(load), sleep(60_000)])
const left = await drain()
const status = await daemon.stop()
await report()

async function subscribe() {
  const client = createClient(api)
  await client.demand('POST', '/v1/webhooks', { url: endpoint.url, events: EVENT_TYPES })
  client.close()
}

function startLoad() {
  const { submission: plain, tls, mx, metrics, zone } = setting.ports
  const smtp = { via: 'smtp', port: plain, pause: 350 }
  const smtps = { via: 'smtps', port: tls, tls: true, key: setting.key, pause: 500 }
  const inbound = { via: 'mx', port: mx, inbound: true, pause: 450 }
  return [
    ...[smtp, smtp, smtp, smtps, smtps, inbound, inbound, inbound].map((listener) => loadSmtp(run, listener)),
    loadRest(run, { batch: false, idempotent: true, pause: 350 }),
    loadRest(run, { batch: false, idempotent: false, pause: 350 }),
    loadRest(run, { batch: true, idempotent: true, pause: 2_000 }),
    browseDashboard(run, setting),
    readMessages(run),
    sendBroadcasts(run, setting.audienceId),
    makeExports(run),
    readMetrics(run, metrics),
    askZone(run, zone),
  ]
}

/** Until the time is over. Returns the time until all went on, by fault. */
async function takeTurns() {
  const found = new Map()
  const isLong = minutes >= 20
  for (let at = 0; Date.now() - begun < minutes * MINUTE && interrupts === 0; at += 1) {
    const fault = faults[at % faults.length]
    const share = (Date.now() - begun) / (minutes * MINUTE)
    // One life of the daemon lasts for half of the time, so that its memory can be judged.
    if (fault.isDeadly && isLong && share > 0.25 && share < 0.75) continue
    const seconds = await takeTurn(fault)
    const known = found.get(fault.name) ?? { turns: 0, slowest: 0, notes: new Set() }
    known.turns += 1
    known.slowest = Math.max(known.slowest, seconds)
    const note = timeline.turns.at(-1).note
    if (typeof note === 'string' && note !== '') known.notes.add(note)
    found.set(fault.name, known)
  }
  return found
}

/** Seconds until it had recovered. */
async function takeTurn(fault) {
  const turn = timeline.begin(fault)
  turn.note = await fault.run({ daemon, dns, sink, endpoint, disk, clock, random, postgres, cuts }).catch((error) => {
    ledger.surprise('fault', `${fault.name}: ${error.message}`, fault.name)
  })
  timeline.end()
  const ended = Date.now()
  const isBack = () => listeners.every((name) => (ledger.lastAt[name] ?? 0) > ended)
  while (!isBack() && Date.now() < ended + MAX_RECOVERY && interrupts === 0) await sleep(100)
  const seconds = (Date.now() - ended) / 1_000
  const late = listeners.filter((name) => (ledger.lastAt[name] ?? 0) <= ended)
  if (late.length > 0 && interrupts === 0)
    ledger.surprise('recovery', `nothing over ${late} a minute after ${fault.name}`, fault.name)
  const time = Math.round((ended - begun) / 1_000)
  console.log(
    `${String(time).padStart(5)} s  ${fault.name.padEnd(26)} recovered after ${seconds.toFixed(1)} s; accepted ${ledger.accepted.size}, arrived ${ledger.arrivals.size}, errors ${daemon.errors.length}${turn.note ? `; ${turn.note}` : ''}`,
  )
  await sleep(2_500)
  return seconds
}

/** What still waits when everything is done, or when the time for that is over. */
async function drain() {
  await daemon.serving(60)
  const rows = await openRows(setting.database)
  let found = null
  for (const end = Date.now() + MAX_DRAIN; Date.now() < end && interrupts < 2; await sleep(3_000)) {
    found = await countWaiting(rows)
    if (Object.values(found).every((count) => count === 0)) break
  }
  await rows.close()
  return { ...found, seconds: Math.round((Date.now() - loadEnded) / 1_000) }
}

async function countWaiting(rows) {
  const types = EVENT_TYPES.map((type) => `'${type}'`).join(', ')
  const [found] = await rows.read(
    `select (select count(*) from queue) as queued,
      (select count(*) from inbound_emails where status = 'received') as inbound,
      (select count(*) from webhook_deliveries where status = 'pending') as deliveries,
      (select count(*) from exports where status = 'processing') as exports,
      (select count(*) from events, webhooks where events.type in (${types}) and events.seq > webhooks.event_cursor and not exists (
        select 1 from webhook_cursors where webhook_id = webhooks.id and seq >= events.seq)) as "eventsWithoutDelivery"`,
    [],
  )
  return found
}

async function report() {
  const errors = judgeErrors(daemon.errors, timeline)
  const answers = judgeAnswers(ledger.unexpected)
  const results = await collectResults(errors.result, answers.result)
  const good = results.every((result) => result.good)
  const made = {
    ...{ date: new Date().toISOString().slice(0, 10), good, results, missing, folder, title: describeRun() },
    details: [...errors.details, ...answers.details],
    explained: errors.explained,
    faults: describeFaults(),
    served: Object.entries(ledger.served)
      .map(([kind, times]) => `${times} ${kind}`)
      .join(', '),
  }
  printReport(made)
  if (values.report !== undefined) writeMarkdown(values.report, values.storage, made)
  await end(good)
}

async function collectResults(errors, answers) {
  const rest = `${left.queued} in the queue, ${left.inbound} inbound, ${left.deliveries} deliveries to the webhook, ${left.exports} exports`
  return [
    ...(await balance({ database: setting.database, ledger, endpoint, deaths: daemon.deaths, cuts, timeline })),
    { name: 'left to do', text: `${rest}, ${left.seconds} s after the load had ended`, good: true },
    await verifyData(),
    { name: 'exit status of the last daemon', text: String(status), good: status === 0 },
    judgeDeaths(daemon.deaths),
    errors,
    answers,
    ...judgeUse(daemon.samples),
  ]
}

/** PostgreSQL checks its own files: each index against the rows of its table. */
async function verifyData() {
  if (postgres !== null) return { name: 'indexes (amcheck)', ...(await checkIndexes(setting.database)) }
  const { problems } = setting.command('verify-data')
  const text = problems.length === 0 ? 'no problem' : JSON.stringify(problems).slice(0, 800)
  return { name: 'verify-data', text, good: problems.length === 0 }
}

function describeRun() {
  const seconds = (loadEnded - begun) / 1_000
  const rate = (ledger.accepted.size / seconds).toFixed(1)
  const work = `${timeline.turns.length} turns of ${recoveries.size} faults, ${ledger.accepted.size} messages accepted (${rate} a second)`
  const machine = `Node.js ${process.version}, Linux ${release()} ${arch()}, ${cpus().length} CPUs, load ${loadavg()[0].toFixed(1)}`
  const starts = `starts of the daemon at most ${Math.max(...daemon.startTimes)} ms`
  return `${(seconds / 60).toFixed(1)} minutes of load with ${work}, seed ${values.seed}, data in ${postgres === null ? 'SQLite' : 'PostgreSQL'}; ${machine}, ${starts}.`
}

function describeFaults() {
  return [...recoveries].map(([name, { turns, slowest, notes }]) => ({
    ...{ name, turns, slowest: `${slowest.toFixed(1)} s`, notes: [...notes].join('; ') },
    what: allFaults.find((fault) => fault.name === name).what,
  }))
}

async function end(good) {
  sink.close()
  dns.close()
  endpoint.close()
  await ledger.close()
  writeFileSync(join(folder, 'samples.json'), JSON.stringify(daemon.samples))
  if (!good && disk !== null && postgres === null) setting.command('backup', join(folder, 'posthorn.db'))
  await postgres?.server.stop()
  // It can be started again from there.
  if (!good && disk !== null && postgres !== null)
    cpSync(postgres.server.folder, join(folder, 'postgres'), { recursive: true })
  disk?.unmount()
  if (good) rmSync(folder, { recursive: true, force: true })
  process.exit(good ? 0 : 1)
}
