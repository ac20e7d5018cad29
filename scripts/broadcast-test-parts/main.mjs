// Sends one broadcast through the real daemon, kills that at random moments, and compares what the sink got, the API says
// and the database holds. A message whose 250 a kill has cut off may arrive twice: such are counted, and are at most as
// many as can be under way at the kills. Nothing is made twice and nobody is left out.
import { execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { parseArgs } from 'node:util'
import { fillAudience, openApi } from '../bench-parts/broadcast/api.mjs'
import { freePort, listening } from '../bench-parts/processes.mjs'
import { seeded } from '../lib/seeded.mjs'
import { environmentOfUnit } from '../lib/unit-environment.mjs'
import { compareWithRecount } from './recount.mjs'
import { openBouncingSink } from './sink.mjs'

const CONNECTIONS = 20

const { values } = parseArgs({
  options: {
    contacts: { type: 'string', default: '100000' },
    bounces: { type: 'string', default: '3' },
    kills: { type: 'string', default: '20' },
    disk: { type: 'string', default: '.' },
    seed: { type: 'string', default: String(process.pid) },
  },
})
const contacts = Number(values.contacts)
const kills = Number(values.kills)
const random = seeded(Number(values.seed))
const isGone = (n) => n % 100 < Number(values.bounces)
const gone = Array.from({ length: contacts }, (_, n) => n).filter(isGone).length
const program = resolve('dist/src/main.js')
const folder = mkdtempSync(join(resolve(values.disk), '.broadcast-'))
const file = join(folder, 'posthorn.toml')
const databaseFile = join(folder, 'data', 'posthorn.db')
const [port, apiPort] = [await freePort(), await freePort()]
const sink = await openBouncingSink(contacts)

configure()
const { workspace_id: workspaceId, api_key: key } = command('setup', '--workspace', 'News', '--email', 'o@news.test')
command('domain', 'add', 'news.test', '--force')
const addressOf = (n) => `${isGone(n) ? 'gone' : 'r'}${n}@sink.test`
const audienceId = fillAudience({ database: databaseFile, workspaceId }, contacts, addressOf)

console.log(`seed ${values.seed}: ${contacts} contacts, ${gone} of them gone, ${kills} kills`)
let daemon = await start()
const api = openApi({ port: apiPort, ca: join(folder, 'data', 'tls', 'cert.pem'), key })
const id = await api.send(audienceId, 'News <news@news.test>')
const begun = performance.now()
const memory = []
for (let kill = 1; kill <= kills; kill += 1) {
  // Each kill falls into its own part of the broadcast.
  await reached(((kill - 0.5 + random() * 0.5) / (kills + 1)) * (contacts - gone))
  daemon.kill('SIGKILL')
  await once(daemon, 'exit')
  daemon = await start()
}
for (let tenth = 1; kills === 0 && tenth < 10; tenth += 1) {
  await reached((tenth / 10) * (contacts - gone))
  memory.push(residentMegabytes(daemon.pid))
  console.log(`${sink.count()} arrived, ${memory.at(-1)} MB`)
}
const shown = await finished()
const seconds = Math.round((performance.now() - begun) / 1000)
const left = command('queue', 'list').data.length
daemon.kill('SIGTERM')
const [status] = await once(daemon, 'exit')
const { problems } = command('verify-data')
sink.close()

const missing = sink.arrivals.reduce((sum, times, n) => sum + (times === 0 && !isGone(n) ? 1 : 0), 0)
const twice = sink.arrivals.reduce((sum, times) => sum + Math.max(0, times - 1), 0)
const differences = compareWithRecount(databaseFile, shown, { contacts, gone })
for (const problem of problems) differences.push(`${problem.check}: ${problem.message}`)
if (left > 0) differences.push(`${left} are left in the queue`)
if (missing > 0) differences.push(`${missing} never arrived`)
if (twice > kills * CONNECTIONS) differences.push(`${twice} arrived again, more than were under way at the kills`)
if (status !== 0) differences.push(`the daemon ended with ${status}`)
if (memory.length > 0 && memory.at(-1) > memory[1] * 1.5 + 50) differences.push(`memory grew: ${memory.join(', ')} MB`)
for (const difference of differences) console.log(difference)
const rate = Math.round(contacts / seconds)
console.log(
  `${contacts} contacts in ${seconds} s (${rate} a second): ${shown.delivered} delivered, ${shown.bounced} bounced, ${missing} missing, ${twice} arrived again after ${kills} kills; rates ${JSON.stringify(shown.rates)}`,
)
if (differences.length === 0) rmSync(folder, { recursive: true, force: true })
else console.log(`the data is kept in ${folder}`)
process.exit(differences.length === 0 ? 0 : 1)

async function start() {
  const started = spawn(process.execPath, [program, 'serve', '--config', file], {
    env: environmentOfUnit(),
    stdio: ['ignore', 'ignore', 'inherit'],
  })
  await listening(port)
  return started
}

/** Waits until so many messages have arrived. */
async function reached(count) {
  let last = -1
  for (let still = 0; sink.count() < count; still += 1) {
    if (still > 600) throw new Error(`no message arrived for a minute: ${sink.count()}`)
    if (sink.count() !== last) still = 0
    last = sink.count()
    await sleep(100)
  }
}

/** Retries of attempts that a kill cut off are due at once, so the broadcast ends soon after its last message. */
async function finished() {
  await reached(contacts - gone)
  return api.finished(id, 600)
}

function residentMegabytes(pid) {
  const [, kilobytes] = /^VmRSS:\s+(\d+)/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))
  return Math.round(Number(kilobytes) / 1024)
}

function command(...words) {
  try {
    const said = execFileSync(process.execPath, [program, ...words, '--json', '--config', file], {
      encoding: 'utf8',
      maxBuffer: 1 << 28,
    })
    return JSON.parse(said)
  } catch (error) {
    if (error.status === 1 && error.stdout !== '') return JSON.parse(error.stdout)
    throw error
  }
}

function configure() {
  writeFileSync(
    file,
    `[service]
hostname = "mail.news.test"
data_dir = ${JSON.stringify(join(folder, 'data'))}
[api]
listen = ["127.0.0.1:${apiPort}"]
[submission]
listen = ["127.0.0.1:${port}"]
listen_tls = []
[inbound]
listen = []
[limits]
domain_emails_per_day = 100000000
[outbound]
routes = { "sink.test" = "127.0.0.1:${sink.port}" }
allowed_private_networks = ["127.0.0.0/8"]
max_connections_per_host = ${CONNECTIONS}
[log]
level = "error"
`,
  )
}
