// Each round: a fresh primary under load, SIGKILL to its whole process group (so that its standby process copies nothing
// more), a restore from the standby folder on "another machine", and the difference between both.
//
// Lost is what a client was answered 250 for and the rebuilt database does not have. The window is the time from the
// oldest lost answer to the kill. A loss of what was answered longer ago than the interval and a second fails the run.
import { execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { parseArgs } from 'node:util'
import SQLite from 'better-sqlite3'
import { freePort, listening } from '../bench-parts/processes.mjs'
import { openCountingSink } from '../crash-parts/counting-sink.mjs'
import { submitBySmtp } from '../crash-parts/smtp-submitter.mjs'
import { isExercised } from '../lib/exercised.mjs'

const { values } = parseArgs({
  options: {
    kills: { type: 'string', default: '10' },
    sessions: { type: 'string', default: '8' },
    interval: { type: 'string', default: '1s' },
    seconds: { type: 'string', default: '5' },
    disk: { type: 'string', default: '.' },
  },
})
const program = resolve('dist/src/main.js')
const folder = mkdtempSync(join(resolve(values.disk), '.standby-loss-'))
const sink = await openCountingSink()
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
  `interval ${values.interval}: acknowledged ${sum('accepted')}, not at the standby ${sum('lost')}, window ${windows[0]} to ${windows.at(-1)} ms, median ${windows[Math.floor(windows.length / 2)]} ms`,
)
const exercised = isExercised({ 'messages acknowledged before a kill': sum('accepted') })
process.exit(!exercised || sum('problems') > 0 || windows.at(-1) > milliseconds(values.interval) + 1000 ? 1 : 0)

async function killOnce(root) {
  const port = await freePort()
  const standby = join(root, 'standby')
  mkdirSync(standby, { recursive: true })
  const primary = configure(root, 'primary', port, standby, '')
  const { workspace_id: workspace } = command(primary, 'setup', '--workspace', 'Loss', '--email', 'owner@loss.test')
  command(primary, 'domain', 'add', 'loss.test', '--force')
  configure(
    root,
    'primary',
    port,
    standby,
    `[[submission.trusted]]\nnetwork = "127.0.0.0/8"\nworkspace = "${workspace}"\n`,
  )
  const daemon = spawn(process.execPath, [program, 'serve', '--config', primary], { stdio: 'ignore', detached: true })
  await listening(port)
  const answered = new Map()
  let number = 0
  const ledger = {
    nextNumber: () => (number += 1),
    accepted: (_listener, _number, id) => answered.set(id, performance.now()),
    strange: () => undefined,
  }
  const over = new AbortController()
  const listener = { name: 'smtp', port, from: 'app@loss.test', to: 'someone@sink.test' }
  const clients = Array.from({ length: Number(values.sessions) }, () => submitBySmtp(over.signal, listener, ledger))
  await waitForSnapshot(primary)
  await sleep(Number(values.seconds) * 1000 + Math.random() * 1000)
  process.kill(-daemon.pid, 'SIGKILL')
  const killedAt = performance.now()
  await once(daemon, 'exit')
  over.abort()
  await Promise.all(clients)
  return compare(root, { answered, killedAt, standby })
}

function compare(root, { answered, killedAt, standby }) {
  const other = configure(root, 'other', 0, '', '')
  const begun = performance.now()
  command(other, 'standby', 'restore', standby, '--hold-queue')
  const rebuildMs = Math.round(performance.now() - begun)
  const { problems } = verify(other)
  const database = new SQLite(join(root, 'other-data', 'posthorn.db'), { readonly: true })
  const stored = new Set(database.prepare('select id from emails').pluck().all())
  database.close()
  const before = [...answered].filter(([, at]) => at <= killedAt)
  const lost = before.filter(([id]) => !stored.has(id))
  const window = lost.length === 0 ? 0 : Math.round(killedAt - Math.min(...lost.map(([, at]) => at)))
  return { accepted: before.length, lost: lost.length, window, rebuildMs, problems: problems.length }
}

function configure(root, name, port, standby, trusted) {
  const file = join(root, `${name}.toml`)
  writeFileSync(
    file,
    `[service]
hostname = "mail.loss.test"
data_dir = ${JSON.stringify(join(root, `${name}-data`))}
[api]
listen = []
[submission]
listen = ["127.0.0.1:${port}"]
listen_tls = []
[inbound]
listen = []
${trusted}
[outbound]
routes = { "sink.test" = "127.0.0.1:${sink.port}" }
allowed_private_networks = ["127.0.0.0/8"]
[standby]
folder = ${JSON.stringify(standby)}
interval = "${values.interval}"
[log]
level = "warn"
`,
  )
  return file
}

function command(file, ...words) {
  return JSON.parse(
    execFileSync(process.execPath, [program, ...words, '--json', '--config', file], { encoding: 'utf8' }),
  )
}

function verify(file) {
  try {
    return command(file, 'verify-data')
  } catch (error) {
    return JSON.parse(error.stdout)
  }
}

async function waitForSnapshot(file) {
  for (let attempt = 0; attempt < 600; attempt += 1) {
    try {
      if (command(file, 'standby', 'status').snapshot_at !== null) return
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
