// SIGKILLs the daemon at random moments while numbered messages are submitted over SMTP and REST
// and relayed, and others arrive as from other servers. Those over REST are tracked: a reader loads
// pixels and follows links, and a webhook gets every event. Beside that a broadcast is sent, whose contacts must each get
// one email.
//
// A life of the daemon ends up to `--pause` milliseconds after each listener has accepted a message in it; every fourth
// ends up to so many after the start, in which mail of other servers may not have come so far.
//
// A number counts as accepted when its 250, 201 or item of a 200 was read. After the last kill the
// daemon runs on until its queue is empty; then every accepted number must be in the database under
// the id that was answered, and must have reached the sink. Arriving twice is allowed (the crash
// fell between the remote's 250 and our record of it) and counted. What was sent under an
// idempotency key, again and again until it was answered, must be one email each.
import { execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { parseArgs } from 'node:util'
import Database from 'better-sqlite3'
import { fillAudience, openApi } from '../bench-parts/broadcast/api.mjs'
import { freePort, listening } from '../bench-parts/processes.mjs'
import { isExercised } from '../lib/exercised.mjs'
import { seeded } from '../lib/seeded.mjs'
import { balanceBroadcast } from './broadcast-balance.mjs'
import { openCountingSink } from './counting-sink.mjs'
import { Ledger } from './ledger.mjs'
import { readMessages } from './rest-reader.mjs'
import { postJson, submitByRest } from './rest-submitter.mjs'
import { submitBySmtp } from './smtp-submitter.mjs'
import { openWebhookCounter } from './webhook-counter.mjs'

const { values } = parseArgs({
  options: {
    kills: { type: 'string', default: '40' },
    sessions: { type: 'string', default: '8' },
    servers: { type: 'string', default: '3' },
    contacts: { type: 'string', default: '3000' },
    pause: { type: 'string', default: '900' },
    disk: { type: 'string', default: '.' },
    seed: { type: 'string', default: String(process.pid) },
  },
})
const kills = Number(values.kills)
/** Milliseconds until each listener must have accepted a message: on a busy machine seconds. */
const MAX_FIRST_WAIT = 30_000
const random = seeded(Number(values.seed))
const program = resolve('dist/src/main.js')
const folder = mkdtempSync(join(resolve(values.disk), '.crash-'))
const file = join(folder, 'posthorn.toml')
const port = await freePort()
const apiPort = await freePort()
const mxPort = await freePort()
const sink = await openCountingSink()
const webhook = await openWebhookCounter()

configure('')
const { workspace_id: workspace, api_key: key } = command(
  'setup',
  '--workspace',
  'Crash',
  '--email',
  'owner@crash.test',
)
command('domain', 'add', 'crash.test', '--inbound', '--force')
const contacts = Number(values.contacts)
const audienceId = fillAudience(
  { database: join(folder, 'data', 'posthorn.db'), workspaceId: workspace },
  contacts,
  (n) => `contact${n}@sink.test`,
)
configure(`[[submission.trusted]]\nnetwork = "127.0.0.0/8"\nworkspace = "${workspace}"\n`)

// The first start makes the certificate that REST clients trust.
const first = start()
await listening(port)
const rest = { port: apiPort, ca: readFileSync(join(folder, 'data', 'tls', 'cert.pem')), key }
await subscribe()
const broadcasts = openApi({ port: apiPort, ca: join(folder, 'data', 'tls', 'cert.pem'), key })
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
const reader = readMessages(over.signal, rest, sink.takeMessage, ledger)
const servers = Array.from({ length: Number(values.servers) }, () => submitBySmtp(over.signal, mx, ledger))

console.log(
  `seed ${values.seed}: ${kills} kills, ${submitters.length} clients, half of them REST, ${servers.length} servers`,
)
for (let kill = 1; kill <= kills; kill += 1) {
  ledger.beginLife()
  const daemon = start()
  await listening(port)
  if (kill % 4 !== 0) await ledger.allAccepting(MAX_FIRST_WAIT)
  await sleep(random() * Number(values.pause))
  daemon.kill('SIGKILL')
  await once(daemon, 'exit')
  if (kill % 10 === 0) console.log(`${kill} kills, ${ledger.size} accepted, ${sink.numbers.size} delivered`)
}

ledger.beginLife()
const daemon = start()
await listening(port)
over.abort()
await Promise.all([...submitters, ...servers])
const left = await drained(600)
const broadcast = await broadcasts.finished(broadcastId, 600)
const events = await webhook.balance(join(folder, 'data', 'posthorn.db'), 300)
const status = await ended(daemon, 'SIGTERM')
const { problems } = command('verify-data')
sink.close()
webhook.close()

const spooled = countSpooled()
const news = balanceBroadcast(join(folder, 'data', 'posthorn.db'), { broadcast, contacts, arrivals: sink.contacts })
const { lost, good: balanced, repeated } = ledger.balance(join(folder, 'data', 'posthorn.db'), sink.numbers)
const duplicated = [...sink.numbers.values()].filter((times) => times > 1).length
for (const problem of problems) console.log(`${problem.check}: ${problem.message}`)
console.log(
  `kills ${kills}, accepted ${ledger.size}, delivered ${sink.numbers.size}, lost ${lost}, duplicated ${duplicated}, left in the queue ${left}`,
)
console.log(`messages in spool files ${spooled}`)
console.log(news.line)
const answered = await reader
console.log(`${events.line}; pixels and links answered ${answered}`)
const exercised = isExercised({
  ...ledger.countAccepted(),
  'requests with an idempotency key repeated after a cut': repeated,
  'messages in spool files': spooled,
  'events of the webhook': events.count,
  'pixels and links answered': answered,
})
const good =
  balanced &&
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

async function subscribe() {
  const { status, body } = await postJson(rest, '/v1/webhooks', webhook.subscription)
  if (status !== 201) throw new Error(`the webhook was refused: ${status} ${body}`)
}

/** The exit status of a serving daemon after it was asked to stop. */
async function ended(daemon, signal) {
  await listening(port)
  daemon.kill(signal)
  const [status] = await once(daemon, 'exit')
  return status
}

function start() {
  return spawn(process.execPath, [program, 'serve', '--config', file], { stdio: ['ignore', 'ignore', 'inherit'] })
}

/** Entries that still wait when all is done, or when `seconds` are over. */
async function drained(seconds) {
  let left = 1
  for (let waited = 0; waited < seconds && left > 0; waited += 2) {
    await sleep(2000)
    left = command('queue', 'list').data.length + waitingInbound()
  }
  return left
}

/** Inbound mail that was not processed. */
function waitingInbound() {
  const database = new Database(join(folder, 'data', 'posthorn.db'), { readonly: true })
  const { waiting } = database.prepare(`select count(*) as waiting from inbound_emails where status = 'received'`).get()
  database.close()
  return waiting
}

function countSpooled() {
  const database = new Database(join(folder, 'data', 'posthorn.db'), { readonly: true })
  const { spooled } = database
    .prepare('select count(*) as spooled from raw_messages where spool_file is not null')
    .get()
  database.close()
  return spooled
}

function command(...words) {
  try {
    return JSON.parse(
      execFileSync(process.execPath, [program, ...words, '--json', '--config', file], {
        encoding: 'utf8',
        maxBuffer: 1 << 28,
      }),
    )
  } catch (error) {
    if (error.status === 1 && error.stdout !== '') return JSON.parse(error.stdout)
    throw error
  }
}

function configure(trusted) {
  writeFileSync(
    file,
    `[service]
hostname = "mail.crash.test"
public_url = "https://127.0.0.1:${apiPort}"
data_dir = ${JSON.stringify(join(folder, 'data'))}
[api]
listen = ["127.0.0.1:${apiPort}"]
[submission]
listen = ["127.0.0.1:${port}"]
listen_tls = []
[inbound]
listen = ["127.0.0.1:${mxPort}"]
connections_per_minute = 1000000
messages_per_minute = 1000000
bytes_per_minute = "1000GB"
[dns]
servers = ["127.0.0.1:9"]
${trusted}
[webhooks]
allowed_private_networks = ["127.0.0.0/8"]
[outbound]
routes = { "sink.test" = "127.0.0.1:${sink.port}" }
[log]
level = "error"
`,
  )
}
