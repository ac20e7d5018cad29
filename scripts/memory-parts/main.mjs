// The load: messages of 34 MB to the MX listener and to the submission listener, emails of 15 MB with two
// attachments over REST, each over several sessions at once, and all that was submitted goes out to a
// host on this machine. Messages refused for lack of room are sent again, as servers do.
//
// The peak is the memory of the complete process tree, sampled ten times a second, with each page that
// processes share counted once; the sum of the resident sets, which counts the program text of Node.js in
// each of them, is printed too. Meanwhile /healthz is asked
// for again and again: its slowest answers are printed beside those of the idle daemon.
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { parseArgs } from 'node:util'
import Database from 'better-sqlite3'
import { startSink } from '../bench-parts/load.mjs'
import { bundleOnce } from '../lib/bundled.mjs'
import { manyFromOneAddress, setUpDaemon, stopDaemon } from '../lib/daemon.mjs'
import { listening, watchMemory } from '../lib/processes.mjs'
import { askForHealth, bring, postEmails, refusals } from './clients.mjs'
import { heavySignatures, plainMessage } from './messages.mjs'

const { values } = parseArgs({
  options: {
    messages: { type: 'string', default: '12' },
    sessions: { type: 'string', default: '6' },
    limit: { type: 'string', default: '512' },
    disk: { type: 'string', default: tmpdir() },
  },
})
const [messages, sessions, limit] = [values.messages, values.sessions, values.limit].map(Number)
const SIZE = 34 * 1_000_000

const folder = mkdtempSync(join(values.disk, 'posthorn-memory-'))
const sink = await startSink()
const daemon = await startDaemon()
let peak = 0
try {
  await sleep(5000)
  const idle = watchMemory(daemon.pid)
  const calm = await askForHealth(daemon.api, () => sleep(3000))
  show('idle', idle.end(), calm)

  const ordinary = plainMessage(SIZE)
  const load = (to) => ({ messages, sessions, raw: ordinary, ...to })
  await phase(
    'MX',
    () => bring(load(daemon.mx)),
    () => daemon.processed() === messages,
  )
  await phase(
    'submission, and out',
    () => bring(load(daemon.submission)),
    () => sink.count() >= messages,
  )
  await phase(
    'REST, and out',
    () => postEmails(daemon.api, { messages, sessions }),
    () => sink.count() >= 2 * messages,
  )
  await phase(
    'all of them',
    () =>
      Promise.all([
        bring(load(daemon.mx)),
        bring(load(daemon.submission)),
        postEmails(daemon.api, { messages, sessions }),
      ]),
    () => daemon.processed() === 2 * messages && sink.count() >= 4 * messages,
  )
  const costly = heavySignatures(SIZE)
  const six = { ...daemon.mx, messages: 6, sessions: 6, raw: costly }
  await phase(
    'six with ten signatures of parts of the body',
    () => bring(six),
    () => daemon.processed() === 2 * messages + 6,
  )
} finally {
  await daemon.stop()
  await sink.stop()
  rmSync(folder, { recursive: true, force: true })
}
console.log(`\npeak: ${peak.toFixed(0)} MB, at most ${limit} MB are allowed`)
process.exit(peak > limit ? 1 : 0)

/** Starts it with a workspace whose domain sends and receives. */
async function startDaemon() {
  const settings = {
    submission: { max_size: '35MB' },
    inbound: manyFromOneAddress,
    outbound: { routes: { 'sink.test': `127.0.0.1:${sink.port}` } },
  }
  const made = await setUpDaemon({ folder, domain: 'load.test', receives: true, settings, build: await bundleOnce() })
  const child = made.start()
  await listening(made.ports.mx)
  const database = new Database(made.database, { readonly: true, fileMustExist: true })
  const inbound = database.prepare('select count(*) from inbound_emails where status = ?').pluck()
  return {
    pid: child.pid,
    mx: { port: made.ports.mx, from: 'someone@stranger.test', to: 'inbox@load.test' },
    submission: { port: made.ports.submission, from: 'app@load.test', to: 'someone@sink.test' },
    api: { port: made.ports.api, key: made.key },
    processed: () => {
      const failed = inbound.get('failed')
      if (failed > 0) throw new Error(`${failed} messages were not read`)
      return inbound.get('processed')
    },
    stop: async () => {
      database.close()
      await stopDaemon(child)
    },
  }
}

/** One part of the load, until all of it is delivered. */
async function phase(name, work, isOver) {
  const memory = watchMemory(daemon.pid)
  const begun = Date.now()
  const before = refusals.count
  const health = await askForHealth(daemon.api, async () => {
    await work()
    for (let waited = 0; !isOver(); waited += 1) {
      if (waited > 6000) throw new Error(`${name}: not over in ten minutes`)
      await sleep(100)
    }
  })
  const found = memory.end()
  peak = Math.max(peak, found.proportional)
  const seconds = ((Date.now() - begun) / 1000).toFixed(0)
  show(`${name} (${seconds} s, ${refusals.count - before} times refused for now)`, found, health)
}

function show(name, { resident, proportional, processes }, { max, p50 }) {
  const parts = processes.map((megabytes) => megabytes.toFixed(0)).join(' + ')
  console.log(
    `${name}\n  peak ${resident.toFixed(0)} MB resident (${parts}), ${proportional.toFixed(0)} MB without what they share; ` +
      `/healthz median ${p50.toFixed(1)} ms, slowest ${max.toFixed(0)} ms`,
  )
}
