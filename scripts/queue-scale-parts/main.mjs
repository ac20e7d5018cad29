// The cost of a long queue beside a short one: the start of the daemon with attempts that a crash
// cut off, and a host that is down while all entries wait for it.
//
// Start: from `startDaemon` until it serves, with a hundred entries leased; and the longest time in
// which the event loop did nothing else, from then until these are due again. Outage: how long it
// takes until all due entries wait for the end of the outage, and the longest block meanwhile.
// The figure to look at is the ratio of the long queue to the short one.
import { mkdtempSync, rmSync } from 'node:fs'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { monitorEventLoopDelay } from 'node:perf_hooks'
import { setTimeout as sleep } from 'node:timers/promises'
import SQLite from 'better-sqlite3'
import { pino } from 'pino'
import { databaseFile, openDatabase } from '../../dist/src/base/storage/open.js'
import { startDaemon } from '../../dist/src/operations/daemon/daemon.js'
import { systemEdges } from '../../dist/src/operations/daemon/edges.js'
import { bulkEmail } from '../../dist/test/helpers/database/bulk.js'
import { copySeed } from '../../dist/test/helpers/database/seed-data.js'
import { loopbackConfig } from '../lib/loopback-config.mjs'

const LEASED = 100
const SHORT = 1_000
const long = Number(process.argv[2] ?? 500_000)

/** Entries without their messages: none of them reaches a transaction. */
function filling({ workspaceId, count, dueAt, leased }) {
  const name = leased === 1 ? 'leased' : 'waits'
  const sql = `
    with recursive n (i) as (select 1 union all select i + 1 from n where i < ?)
    insert into queue (id, email_id, workspace_id, recipient, domain, priority, attempts, enqueued_at, next_attempt_at,
      leased, held, noticed, last_response)
    select printf('${name}-%08d', i), printf('${name}-%08d', i), ?, 'x@b.test', 'b.test', 1, ?, ?, ?, ?, 0, 0, null
    from n`
  return { sql, parameters: [count, workspaceId, leased, dueAt, dueAt, leased] }
}

function fill(file, entries) {
  const db = new SQLite(file)
  const { sql, parameters } = filling(entries)
  db.prepare(sql).run(...parameters)
  db.close()
}

async function closedPort() {
  const server = createServer().listen(0, '127.0.0.1')
  await new Promise((resolve) => server.once('listening', resolve))
  const { port } = server.address()
  await new Promise((resolve) => server.close(resolve))
  return port
}

async function measure(count, work) {
  const folder = mkdtempSync(join(tmpdir(), 'posthorn-queue-scale-'))
  try {
    const routes = { 'b.test': `127.0.0.1:${await closedPort()}` }
    const config = loopbackConfig(join(folder, 'data'), { outbound: { routes } })
    const file = databaseFile(config.service.data_dir)
    const { workspaceId } = await copySeed(file)
    return await work({ config, file, workspaceId, count })
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}

function start(config, clock = Date.now) {
  const parts = { config, clock, log: pino({ level: 'silent' }), edges: systemEdges() }
  return startDaemon({ ...parts, stopTimeouts: { listeners: 100, delivery: 100 } })
}

async function until(condition) {
  while (!condition()) await sleep(20)
}

function blocks() {
  const delay = monitorEventLoopDelay({ resolution: 1 })
  delay.enable()
  return () => {
    delay.disable()
    return delay.max / 1e6
  }
}

async function startOf({ config, file, workspaceId, count }) {
  const inAWeek = Date.now() + 7 * 86_400_000
  fill(file, { workspaceId, count, dueAt: inAWeek, leased: 0 })
  fill(file, { workspaceId, count: LEASED, dueAt: inAWeek, leased: 1 })
  const begun = performance.now()
  const daemon = await start(config)
  const started = performance.now() - begun
  const longest = blocks()
  await until(() => daemon.database.read('select 1 from queue where leased = 1', []).length === 0)
  const block = longest()
  await daemon.stop()
  return { start: started, block }
}

async function outageOf({ config, file, workspaceId, count }) {
  const database = await openDatabase({ file })
  const probe = bulkEmail({ workspaceId, to: 'probe@b.test', at: Date.now() })
  await database.commit(probe.writes)
  await database.close()
  // The clock stands still while they wait, so that the outage does not end before the last of them is read.
  let stopped = null
  const daemon = await start(config, () => stopped ?? Date.now())
  const { read } = daemon.database
  await until(() => read('select 1 from attempts limit 1', []).length > 0)
  stopped = Date.now()
  const dueAt = stopped + 1_000
  await daemon.database.commit([filling({ workspaceId, count, dueAt, leased: 0 })])
  stopped = dueAt
  const longest = blocks()
  const begun = performance.now()
  const waiting = 'select 1 from queue where workspace_id = ? and held = 0 and next_attempt_at <= ? limit 1'
  await until(() => read(waiting, [workspaceId, dueAt]).length === 0)
  const all = performance.now() - begun
  const attempts = read('select count(*) as n from attempts', [])[0].n
  const block = longest()
  await daemon.stop()
  return { all, block, attempts }
}

console.log(`queue-scale: ${SHORT} entries beside ${long}`)
await measure(1, startOf)
for (const [name, work] of [
  ['start', startOf],
  ['outage', outageOf],
]) {
  const few = await measure(SHORT, work)
  const many = await measure(long, work)
  for (const what of Object.keys(few)) {
    const unit = what === 'attempts' ? '' : ' ms'
    console.log(
      `  ${name.padEnd(7)} ${what.padEnd(9)} ${few[what].toFixed(1)}${unit}, ${many[what].toFixed(1)}${unit}: ${(many[what] / few[what]).toFixed(2)}`,
    )
  }
}
