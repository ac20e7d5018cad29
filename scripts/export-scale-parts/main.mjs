// An export of very many emails beside a daemon at work.
//
// Rows a second; memory of the process, at a tenth of the time and at most; the time in which the main thread of the
// daemon did nothing else, and that of a request that stores an email, with and without an export; and the size of the
// WAL. The emails are exported in parts, one after the other, with a quiet time between them, so that a machine that
// does other work disturbs both sides.
import { spawn, spawnSync } from 'node:child_process'
import { mkdtempSync, rmSync, statSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { monitorEventLoopDelay } from 'node:perf_hooks'
import { setTimeout as sleep } from 'node:timers/promises'
import { pino } from 'pino'
import { Agent, request } from 'undici'
import { databaseFile } from '../../dist/src/base/storage/open.js'
import { startDaemon } from '../../dist/src/operations/daemon/daemon.js'
import { systemEdges } from '../../dist/src/operations/daemon/edges.js'
import { copySeed } from '../../dist/test/helpers/database/seed-data.js'
import { loopbackConfig } from '../lib/loopback-config.mjs'

const count = Number(process.argv[2] ?? 1_000_000)
const rounds = Number(process.argv[3] ?? 5)
/** The time of the first email, and milliseconds from one to the next: none is so old that it is removed. */
const STEP = 100
const BEGIN = Date.now() - 30 * 86_400_000
/** Milliseconds between two requests of the client. */
const PAUSE = 10
/** Milliseconds that the client works without an export. */
const QUIET = 15_000
const MB = 1_048_576

function runFill(file, workspaceId) {
  const words = [new URL('fill.mjs', import.meta.url).pathname, file, workspaceId, count, BEGIN, STEP].map(String)
  const { status } = spawnSync(process.execPath, words, { stdio: 'inherit' })
  if (status !== 0) throw new Error('the database cannot be filled')
}

function walSize(file) {
  return statSync(`${file}-wal`, { throwIfNoEntry: false })?.size ?? 0
}

/** What happens while `work` is under way: requests of a client, blocks of the main thread, memory, the WAL. */
async function observe({ daemon, file, key }, work) {
  const { port } = daemon.api[0]
  const words = [new URL('client.mjs', import.meta.url).pathname, port, key, daemon.tls.cert, PAUSE]
  const client = spawn(process.execPath, words.map(String), { stdio: ['pipe', 'pipe', 'inherit'] })
  let out = ''
  client.stdout.on('data', (text) => {
    out += text
  })
  const ended = new Promise((resolve) => client.once('close', resolve))
  await sleep(1_000)
  const delay = monitorEventLoopDelay({ resolution: 1 })
  delay.enable()
  let wal = 0
  const memory = []
  const timer = setInterval(() => {
    wal = Math.max(wal, walSize(file))
    memory.push(process.memoryUsage.rss())
  }, 500)
  const begun = performance.now()
  const result = await work()
  const seconds = (performance.now() - begun) / 1_000
  clearInterval(timer)
  delay.disable()
  client.stdin.end()
  await ended
  const times = JSON.parse(out).sort((one, other) => one - other)
  const at = (share) => times[Math.floor((times.length - 1) * share)]
  return {
    ...{ result, seconds, wal, memory, requests: times.length, median: at(0.5), p99: at(0.99) },
    block: delay.max / 1e6,
    block999: delay.percentile(99.9) / 1e6,
  }
}

function report(name, { seconds, wal, requests, median, p99, block, block999 }) {
  const parts = [
    `${requests} requests in ${seconds.toFixed(0)} s: median ${median.toFixed(1)} ms, p99 ${p99.toFixed(1)} ms`,
    `main thread: p99.9 ${block999.toFixed(1)} ms, longest ${block.toFixed(1)} ms`,
    `WAL ${(wal / MB).toFixed(0)} MB`,
  ]
  console.log(`  ${name.padEnd(16)} ${parts.join('; ')}`)
}

/** Requests an export of one part of the emails, and resolves to its record when it is finished. */
async function exportPart({ daemon, key }, round) {
  const dispatcher = new Agent({ connect: { ca: daemon.tls.cert, servername: 'localhost' } })
  const momentOf = (part) => new Date(BEGIN + Math.floor((count / rounds) * part) * STEP).toISOString()
  const answer = await request(`https://127.0.0.1:${daemon.api[0].port}/v1/exports`, {
    ...{ dispatcher, method: 'POST' },
    headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
    body: JSON.stringify({ type: 'email_logs', from_date: momentOf(round), to_date: momentOf(round + 1) }),
  })
  const { data } = await answer.body.json()
  await dispatcher.close()
  for (;;) {
    const [row] = daemon.database.read('select status, rows, bytes, error from exports where id = ?', [data.export_id])
    if (row.status !== 'processing') return row
    await sleep(200)
  }
}

function reportExport({ result, seconds, memory }) {
  const early = memory[Math.floor(memory.length / 10)] ?? 0
  const speed = `${(result.bytes / MB).toFixed(0)} MB, ${(result.rows / seconds).toFixed(0)} rows/s`
  const held = `${(early / MB).toFixed(0)} MB at a tenth, ${(Math.max(...memory) / MB).toFixed(0)} MB at most`
  console.log(`  ${result.status}: ${result.rows} rows, ${speed}; memory of the process ${held}`)
}

const folder = mkdtempSync(join(process.env.EXPORT_SCALE_FOLDER ?? tmpdir(), 'posthorn-export-scale-'))
try {
  const config = loopbackConfig(join(folder, 'data'))
  const file = databaseFile(config.service.data_dir)
  const { workspaceId, key } = await copySeed(file)
  const begun = performance.now()
  runFill(file, workspaceId)
  const gigabytes = statSync(file).size / 1e9
  const took = ((performance.now() - begun) / 1_000).toFixed(0)
  console.log(`export-scale: ${count} emails, ${gigabytes.toFixed(2)} GB, filled in ${took} s`)
  const log = pino({ level: 'warn' })
  const stopTimeouts = { listeners: 100, delivery: 100 }
  const daemon = await startDaemon({ config, clock: Date.now, log, edges: systemEdges(), stopTimeouts })
  const place = { daemon, file, key }
  await observe(place, () => sleep(3_000)) // warms up
  for (let round = 0; round < rounds; round += 1) {
    report('without export', await observe(place, () => sleep(QUIET)))
    const observed = await observe(place, () => exportPart(place, round))
    report('with export', observed)
    reportExport(observed)
  }
  await daemon.stop()
} finally {
  rmSync(folder, { recursive: true, force: true })
}
