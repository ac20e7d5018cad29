// The time of every page of the dashboard, and of its lists with filters, beside very many emails and contacts.
//
// For each page: requests, milliseconds until its data is there (loaded as the first page with an empty cache: median
// and maximum; opened from another page: the same), the CPU of the daemon, of its longest statement, and the longest
// time for which anything held its main thread up. For each request: the time of its answer, and the same. The aim: data within 200 ms, no
// statement over 5 ms. A machine that does other work makes all of them longer: the load is printed.
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, statfsSync, statSync, writeFileSync } from 'node:fs'
import { loadavg, tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { parseArgs } from 'node:util'
import SQLite from 'better-sqlite3'
import { databaseFile } from '../../dist/src/base/storage/open.js'
import { copySeed } from '../../dist/test/helpers/database/seed-data.js'
import { fillStore } from '../lib/store/fill.mjs'
import { DAY } from '../lib/store/values.mjs'
import { openClient } from './client.mjs'
import { loadPage, openDashboard, showPage } from './pages.mjs'
import { listPages, listRequests } from './requests.mjs'

const EMAIL = 'owner@a.test'
const PASSWORD = 'correct horse battery'
/** Bytes on disk for each email, with all that belongs to it, twice while it is filled. */
const BYTES = 9_000
const MAX_TIME = 200
const MAX_STATEMENT = 5

const { values } = parseArgs({
  options: {
    data: { type: 'string' },
    count: { type: 'string', default: '1000000' },
    runs: { type: 'string', default: '5' },
    only: { type: 'string', default: '' },
    part: { type: 'string', default: 'requests and pages' },
  },
})
const runs = Number(values.runs)

/** The folder is filled once for each number of emails. */
async function prepareData(folder, count) {
  const note = join(folder, 'filled.json')
  if (existsSync(note)) {
    const filled = JSON.parse(readFileSync(note, 'utf8'))
    if (filled.count === count) return filled
  }
  const { bavail, bsize } = statfsSync(folder)
  if (bavail * bsize < count * BYTES)
    throw new Error(`dashboard-scale: ${(count * BYTES) / 1e9} GB are needed in ${folder}`)
  rmSync(join(folder, 'data'), { recursive: true, force: true })
  const file = databaseFile(join(folder, 'data'))
  const accounts = await copySeed(file)
  const end = Date.now()
  fillStore(file, { workspace: accounts.workspaceId, other: accounts.otherWorkspaceId, count, end })
  const filled = { count, end, workspaceId: accounts.workspaceId, took: Date.now() - end }
  writeFileSync(note, JSON.stringify(filled))
  return filled
}

/** Nothing of the queue becomes due while it is measured. */
function postponeQueue(file) {
  const db = new SQLite(file)
  db.prepare('update queue set next_attempt_at = ? + next_attempt_at % ?').run(Date.now() + 4 * 3_600_000, DAY)
  db.pragma('wal_checkpoint(truncate)')
  db.close()
}

function startDaemon(folder, workspaceId) {
  const child = spawn(
    process.execPath,
    [new URL('daemon.mjs', import.meta.url).pathname, folder, workspaceId, EMAIL, PASSWORD],
    {
      stdio: ['ignore', 'inherit', 'inherit', 'ipc'],
    },
  )
  child.once('exit', (code) => {
    if (code !== 0) process.exit(1)
  })
  const ask = async (message) => {
    child.send(message)
    const [answer] = await once(child, 'message')
    return answer
  }
  const stop = async () => {
    child.send('stop')
    await once(child, 'exit')
  }
  return { child, ask, stop }
}

const at = (times, share) => times.toSorted((one, other) => one - other)[Math.ceil(times.length * share) - 1]

/** `work` several times, and what the daemon noted meanwhile. */
async function measure(daemon, work) {
  await daemon.ask('begin')
  const results = []
  for (let run = 0; run < runs; run += 1) results.push(await work())
  return { results, daemon: await daemon.ask('end') }
}

const overs = []

function print(name, columns, { longest, block, sql, statements, cpu }) {
  const figures = [...columns, statements / runs, cpu / runs, longest, block].map((value) =>
    value.toFixed(value < 10 ? 1 : 0).padStart(8),
  )
  console.log(`  ${name.padEnd(40)} ${figures.join('')}`)
  if (longest > MAX_STATEMENT)
    overs.push(`${name}: a statement of ${longest.toFixed(1)} ms: ${sql.replace(/\s+/g, ' ').slice(0, 300)}`)
}

function printHead(what, columns) {
  const titles = [...columns, 'stmts', 'CPU', 'longest', 'block'].map((title) => title.padStart(8)).join('')
  console.log(`\n  ${what.padEnd(40)} ${titles}    load ${loadavg()[0].toFixed(1)}`)
}

async function measureRequests(daemon, client, end) {
  printHead('requests, milliseconds', ['first', 'p50', 'max', 'KB'])
  for (const [name, path] of Object.entries(listRequests(end)).filter(([name]) => name.includes(values.only))) {
    const { results, daemon: noted } = await measure(daemon, () => client.get(path))
    const times = results.map(({ time }) => time)
    print(name, [times[0], at(times, 0.5), at(times, 1), results[0].bytes / 1_000], noted)
    if (at(times, 0.5) > MAX_TIME) overs.push(`${name}: ${at(times, 0.5).toFixed(0)} ms`)
  }
}

async function measurePages(daemon, dashboard, pages) {
  printHead('pages, milliseconds', ['requests', 'cold p50', 'max', 'warm p50', 'max', 'request'])
  for (const [name, path] of pages.filter(([name]) => name.includes(values.only))) {
    const { results, daemon: noted } = await measure(daemon, async () => ({
      cold: await loadPage(dashboard, path),
      warm: await showPage(dashboard, path),
    }))
    const [cold, warm] = ['cold', 'warm'].map((kind) => results.map((result) => result[kind].ready))
    const slowest = at(
      results.map(({ warm }) => warm.slowest),
      0.5,
    )
    const figures = [results[0].warm.requests, at(cold, 0.5), at(cold, 1), at(warm, 0.5), at(warm, 1), slowest]
    print(name, figures, noted)
    if (at(warm, 0.5) > MAX_TIME) overs.push(`page ${name}: ${at(warm, 0.5).toFixed(0)} ms`)
  }
}

const folder =
  values.data === undefined ? mkdtempSync(join(tmpdir(), 'posthorn-dashboard-scale-')) : resolve(values.data)
mkdirSync(folder, { recursive: true })
try {
  const { count, end, workspaceId, took } = await prepareData(folder, Number(values.count))
  const file = databaseFile(join(folder, 'data'))
  postponeQueue(file)
  const gigabytes = (statSync(file).size / 1e9).toFixed(2)
  console.log(
    `dashboard-scale: ${count} emails, ${count} contacts, ${gigabytes} GB, filled in ${((took ?? 0) / 1_000).toFixed(0)} s`,
  )
  const daemon = startDaemon(join(folder, 'data'), workspaceId)
  const [{ port }] = await once(daemon.child, 'message')
  const client = await openClient({ port, workspaceId, email: EMAIL, password: PASSWORD })
  const dashboard = await openDashboard({ port, email: EMAIL, password: PASSWORD })
  if (values.part.includes('requests')) await measureRequests(daemon, client, end)
  if (values.part.includes('pages')) await measurePages(daemon, dashboard, listPages(file, workspaceId))
  await dashboard.close()
  await daemon.stop()
  console.log(overs.length === 0 ? '\nAll within the aim.' : `\nOver the aim:\n  ${overs.join('\n  ')}`)
} finally {
  if (values.data === undefined) rmSync(folder, { recursive: true, force: true })
}
