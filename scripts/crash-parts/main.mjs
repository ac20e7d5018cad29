// SIGKILLs the daemon at random moments while numbered messages are submitted over SMTP and REST
// and relayed, and others arrive as from other servers. Those over REST are tracked: a reader loads
// pixels and follows links, and a webhook gets every event. Beside that a broadcast is sent, whose contacts must each get
// one email.
//
// A life of the daemon ends up to `--pause` milliseconds after each listener has accepted a message in it; every fourth
// ends up to so many after the start, in which mail of other servers may not have come so far.
//
// With `--stops` or `--failovers` the daemon lives throughout, and its server of PostgreSQL is killed instead. Then a temporary
// refusal must mean that nothing was accepted, and no message may arrive twice but those that were under way.
//
// A number counts as accepted when its 250, 201 or item of a 200 was read. After the last kill the
// daemon runs on until its queue is empty; then every accepted number must be in the database under
// the id that was answered, and must have reached the sink. Arriving twice is allowed (the crash
// fell between the remote's 250 and our record of it) and counted. What was sent under an
// idempotency key, again and again until it was answered, must be one email each.
import { once } from 'node:events'
import { mkdtempSync, openSync, rmSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { parseArgs } from 'node:util'
import { fillAudience, openBroadcasts } from '../lib/broadcasts.mjs'
import { manyFromOneAddress, setUpDaemon } from '../lib/daemon.mjs'
import { isExercised } from '../lib/exercised.mjs'
import { createClient } from '../lib/https-client.mjs'
import { submitBySmtp } from '../lib/numbered-load.mjs'
import { listening } from '../lib/processes.mjs'
import { readRows } from '../lib/rows.mjs'
import { seeded } from '../lib/seeded.mjs'
import { openSink } from '../lib/smtp-sink.mjs'
import { EVENT_TYPES, openEndpoint } from '../lib/webhook-endpoint.mjs'
import { Arrivals, balanceBroadcast, balanceEvents } from './arrivals.mjs'
import { countTwice, cutServer, killDaemon } from './cuts.mjs'
import { Ledger } from './ledger.mjs'
import { readMessages, submitByRest } from './rest-clients.mjs'
import { startServers } from './servers.mjs'

const { values } = parseArgs({
  options: {
    kills: { type: 'string', default: '40' },
    stops: { type: 'string', default: '0' },
    failovers: { type: 'string', default: '0' },
    sessions: { type: 'string', default: '8' },
    servers: { type: 'string', default: '3' },
    contacts: { type: 'string', default: '3000' },
    pause: { type: 'string', default: '900' },
    disk: { type: 'string', default: '.' },
    seed: { type: 'string', default: String(process.pid) },
    storage: { type: 'string', default: 'sqlite' },
  },
})
const [what] = ['failovers', 'stops'].filter((name) => values[name] !== '0').concat('kills')
const count = Number(values[what])
const random = seeded(Number(values.seed))
const folder = mkdtempSync(join(resolve(values.disk), '.crash-'))
const postgres = values.storage === 'postgres' ? await startServers(folder, { isPair: what === 'failovers' }) : null
if (what !== 'kills' && postgres === null) throw new TypeError(`--${what} needs --storage postgres`)
let running
// After a fault of this program nothing stays behind.
process.once('exit', () => {
  running?.kill('SIGKILL')
  postgres?.end()
})
const arrivals = new Arrivals()
const sink = await openSink((message) => arrivals.take(message))
const webhook = await openEndpoint()
const made = await setUpDaemon({
  ...{ folder, domain: 'crash.test', receives: true, storage: postgres?.url ?? '' },
  settings: ({ api }) => ({
    service: { public_url: `https://127.0.0.1:${api}` },
    inbound: manyFromOneAddress,
    dns: { servers: ['127.0.0.1:9'] },
    webhooks: { allowed_private_networks: ['127.0.0.0/8'] },
    outbound: { routes: { 'sink.test': `127.0.0.1:${sink.port}` } },
    log: { level: 'warn' },
  }),
})
const { database, command, key } = made
const { submission: port, mx: mxPort, api: apiPort } = made.ports
const contacts = Number(values.contacts)
const audienceId = await fillAudience(made, contacts, (n) => `contact${n}@sink.test`)

const logFile = openSync(join(folder, 'daemon.log'), 'a')
const first = start()
await listening(port)
const rest = { port: apiPort, key }
const client = createClient(rest)
while ((await client.ask('GET', '/readyz'))?.status !== 200) await sleep(50)
await client.demand('POST', '/v1/webhooks', { url: webhook.url, events: EVENT_TYPES })
client.close()
const broadcasts = openBroadcasts(rest)
const broadcastId = await broadcasts.send(audienceId, 'News <news@crash.test>', '<p>To {{email}}</p>')
await ended(first, 'SIGTERM')

const ledger = new Ledger()
const over = new AbortController()
const kinds = [false, true].flatMap((idempotent) => [false, true].map((batch) => ({ batch, idempotent })))
const submission = { name: 'smtp', port, from: 'app@crash.test', to: 'someone@sink.test' }
const mx = { name: 'mx', port: mxPort, from: 'stranger@elsewhere.test', to: 'anybody@crash.test' }
const submitters = Array.from({ length: Number(values.sessions) }, (_, at) =>
  at % 2 === 0
    ? submitBySmtp(over.signal, submission, ledger)
    : submitByRest(over.signal, rest, kinds[((at - 1) / 2) % kinds.length], ledger),
)
const reader = readMessages(over.signal, rest, () => arrivals.takeMessage(), ledger)
const servers = Array.from({ length: Number(values.servers) }, () => submitBySmtp(over.signal, mx, ledger))

console.log(
  `seed ${values.seed}: ${count} ${what}, ${submitters.length} clients, half of them REST, ${servers.length} servers`,
)
const how = {
  count,
  random,
  ledger,
  arrivals,
  start,
  postgres,
  pause: Number(values.pause),
  serving: () => listening(port),
}
const { daemon, times, waits } = await (what === 'kills' ? killDaemon(how) : cutServer(how))
const isAlive = daemon.exitCode === null && daemon.signalCode === null
over.abort()
await Promise.all([...submitters, ...servers])
const left = await drained(600)
const broadcast = await broadcasts.finished(broadcastId, 600)
broadcasts.close()
const events = await balanceEvents(database, webhook.times, 300)
const status = await ended(daemon, 'SIGTERM')
// The checks of verify-data are about our own files.
const { problems } = postgres === null ? command('verify-data') : { problems: [] }
sink.close()
webhook.close()

const spooled = await countRows('raw_messages where spool_file is not null')
const news = await balanceBroadcast(database, { broadcast, contacts, arrivals: arrivals.contacts })
const { lost, good: balanced, repeated, refused } = await ledger.balance(database, arrivals.numbers)
const { twice, underWay } = countTwice(arrivals.numbers, times)
for (const problem of problems) console.log(`${problem.check}: ${problem.message}`)
console.log(
  `${what} ${count}, accepted ${ledger.size}, delivered ${arrivals.numbers.size}, lost ${lost}, delivered twice ${twice}, of which under way ${underWay}, left in the queue ${left}`,
)
if (waits)
  console.log(`all listeners accepted again after ${waits.map((wait) => (wait / 1000).toFixed(1)).join(', ')} s`)
console.log(`messages in spool files ${spooled}`)
console.log(news.line)
const answered = await reader
console.log(`${events.line}; pixels and links answered ${answered}`)
const exercised = isExercised({
  ...ledger.countAccepted(),
  'requests with an idempotency key repeated after a cut': repeated,
  ...(what !== 'kills' && { 'temporary refusals': refused }),
  ...(postgres === null && { 'messages in spool files': spooled }),
  'events of the webhook': events.count,
  'pixels and links answered': answered,
})
const good =
  balanced &&
  isAlive &&
  twice === underWay &&
  exercised &&
  news.good &&
  lost === 0 &&
  events.missing === 0 &&
  problems.length === 0 &&
  left === 0 &&
  status === 0
if (good) rmSync(folder, { recursive: true, force: true })
else console.log(`the data is kept in ${folder}`)
process.exit(good ? 0 : 1)

/** The exit status of a serving daemon after it was asked to stop. */
async function ended(daemon, signal) {
  await listening(port)
  daemon.kill(signal)
  const [status] = await once(daemon, 'exit')
  return status
}

function start() {
  running = made.start({ stdio: ['ignore', logFile, logFile], env: process.env })
  return running
}

/** Entries that still wait when all is done, or when `seconds` are over. */
async function drained(seconds) {
  let left = 1
  for (let waited = 0; waited < seconds && left > 0; waited += 2) {
    await sleep(2000)
    left = command('queue', 'list').data.length + (await countRows(`inbound_emails where status = 'received'`))
  }
  return left
}

async function countRows(rows) {
  const [{ count }] = await readRows(database, `select count(*) as count from ${rows}`)
  return count
}
