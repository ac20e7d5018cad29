// Each round: a fresh primary under load, SIGKILL to its whole process group (so that its standby process copies nothing
// more), a restore from the standby folder on "another machine", and the difference between both.
//
// Lost is what a client was answered 250 for and the rebuilt database does not have. The window is the time from the
// oldest lost answer to the kill. A loss of what was answered longer ago than the interval and a second fails the run.
import { once } from 'node:events'
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { parseArgs } from 'node:util'
import SQLite from 'better-sqlite3'
import { parse, stringify } from 'smol-toml'
import { runCommand, setUpDaemon } from '../lib/daemon.mjs'
import { isExercised } from '../lib/exercised.mjs'
import { submitBySmtp } from '../lib/numbered-load.mjs'
import { listening } from '../lib/processes.mjs'
import { openSink } from '../lib/smtp-sink.mjs'
import { median } from '../lib/statistics.mjs'

const { values } = parseArgs({
  options: {
    kills: { type: 'string', default: '10' },
    sessions: { type: 'string', default: '8' },
    interval: { type: 'string', default: '1s' },
    seconds: { type: 'string', default: '5' },
    disk: { type: 'string', default: '.' },
  },
})
const folder = mkdtempSync(join(resolve(values.disk), '.standby-loss-'))
const sink = await openSink(() => undefined)
const rounds = []
try {
  for (let round = 1; round <= Number(values.kills); round += 1) {
    const result = await killOnce(join(folder, String(round)))
    rounds.push(result)
    const { accepted, lost, window, rebuildMs, problems } = result
    console.log(
      `kill ${round}: acknowledged ${accepted}, not at the standby ${lost}, window ${window} ms, rebuilt in ${rebuildMs} ms, problems ${problems}`,
    )
  }
} finally {
  sink.close()
  rmSync(folder, { recursive: true, force: true })
}
const sum = (name) => rounds.reduce((total, round) => total + round[name], 0)
const windows = rounds.map(({ window }) => window).toSorted((a, b) => a - b)
console.log(
  `interval ${values.interval}: acknowledged ${sum('accepted')}, not at the standby ${sum('lost')}, window ${windows[0]} to ${windows.at(-1)} ms, median ${median(windows)} ms`,
)
const exercised = isExercised({ 'messages acknowledged before a kill': sum('accepted') })
process.exit(!exercised || sum('problems') > 0 || windows.at(-1) > milliseconds(values.interval) + 1000 ? 1 : 0)

async function killOnce(root) {
  const standby = join(root, 'standby')
  mkdirSync(standby, { recursive: true })
  const settings = {
    api: { listen: [] },
    outbound: { routes: { 'sink.test': `127.0.0.1:${sink.port}` }, allowed_private_networks: ['127.0.0.0/8'] },
    standby: { folder: standby, interval: values.interval },
  }
  const primary = await setUpDaemon({ folder: root, domain: 'loss.test', settings })
  const port = primary.ports.submission
  const daemon = primary.start({ stdio: 'ignore', detached: true, env: process.env })
  await listening(port)
  const answered = new Map()
  let number = 0
  const ledger = {
    nextNumber: () => (number += 1),
    accepted: (_listener, _number, id) => answered.set(id, performance.now()),
    refused: () => undefined,
    unanswered: () => undefined,
    strange: () => undefined,
  }
  const over = new AbortController()
  const listener = { name: 'smtp', port, from: 'app@loss.test', to: 'someone@sink.test' }
  const clients = Array.from({ length: Number(values.sessions) }, () => submitBySmtp(over.signal, listener, ledger))
  await waitForSnapshot(primary.command)
  await sleep(Number(values.seconds) * 1000 + Math.random() * 1000)
  process.kill(-daemon.pid, 'SIGKILL')
  const killedAt = performance.now()
  await once(daemon, 'exit')
  over.abort()
  await Promise.all(clients)
  return compare(root, { primary: primary.file, answered, killedAt, standby })
}

function compare(root, { primary, answered, killedAt, standby }) {
  const other = configureOther(root, primary)
  const begun = performance.now()
  runCommand(other, ['standby', 'restore', standby, '--hold-queue'])
  const rebuildMs = Math.round(performance.now() - begun)
  const { problems } = runCommand(other, ['verify-data'])
  const database = new SQLite(join(root, 'other-data', 'posthorn.db'), { readonly: true })
  const stored = new Set(database.prepare('select id from emails').pluck().all())
  database.close()
  const before = [...answered].filter(([, at]) => at <= killedAt)
  const lost = before.filter(([id]) => !stored.has(id))
  const window = lost.length === 0 ? 0 : Math.round(killedAt - Math.min(...lost.map(([, at]) => at)))
  return { accepted: before.length, lost: lost.length, window, rebuildMs, problems: problems.length }
}

/** The configuration of the machine that takes over: the same, with data of its own and without a standby. */
function configureOther(root, primary) {
  const { standby, ...settings } = parse(readFileSync(primary, 'utf8'))
  settings.service.data_dir = join(root, 'other-data')
  const file = join(root, 'other.toml')
  writeFileSync(file, stringify(settings))
  return file
}

async function waitForSnapshot(command) {
  for (let attempt = 0; attempt < 600; attempt += 1) {
    try {
      if (command('standby', 'status').snapshot_at !== null) return
    } catch {
      // There is no status yet, or no snapshot.
    }
    await sleep(100)
  }
  throw new Error('the standby folder has no snapshot after a minute')
}

function milliseconds(text) {
  const [, count, unit] = /^(\d+)(ms|s|m)$/.exec(text)
  return Number(count) * { ms: 1, s: 1000, m: 60_000 }[unit]
}
