// The cost of the event log with very many events.
//
// Pages: the time of a page of 50 at the newest events and deep in the log, for each filter. The figure to look at is
// the ratio of deep to first. Writes: CPU time per event in the writer, with and without each index of readers; and
// one step of the deletion of old events.
import { mkdtempSync, rmSync, statSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import SQLite from 'better-sqlite3'
import { openDatabase } from '../../dist/src/base/storage/open.js'
import { listEvents } from '../../dist/src/records/events/event-list.js'
import { recordEvent } from '../../dist/src/records/events/event-log.js'
import { MessagePurge } from '../../dist/src/records/messages/retention.js'
import { BEGIN, BIG_WORKSPACE, emailOf, fill, recipientOf, STEP } from './fill.mjs'

const count = Number(process.argv[2] ?? 3_000_000)
const RUNS = 40
const LIMIT = 51
const workspaceId = BIG_WORKSPACE

/** The median of some runs, in milliseconds. */
async function timeOf(work) {
  const times = []
  for (let run = 0; run < RUNS; run += 1) {
    const begun = performance.now()
    await work(run)
    times.push(performance.now() - begun)
  }
  return times.sort((one, other) => one - other)[RUNS / 2]
}

const someEmail = Math.floor(count / 3 / 8) * 4
const filters = {
  'no filter': {},
  'type (one in three)': { type: 'email.sent' },
  'type (rare)': { type: 'email.bounced' },
  'type (none)': { type: 'email.complained' },
  recipient: { recipient: recipientOf(someEmail, count) },
  'recipient, type': { recipient: recipientOf(someEmail, count), type: 'email.sent' },
  email: { emailId: emailOf(someEmail) },
  'email, recipient': { emailId: emailOf(someEmail), recipient: recipientOf(someEmail, count) },
  'from, to': { from: BEGIN + count * STEP * 0.3, to: BEGIN + count * STEP * 0.31 },
  'from, to, type (rare)': { from: BEGIN + count * STEP * 0.3, to: BEGIN + count * STEP * 0.31, type: 'email.bounced' },
}

async function measurePages(read) {
  console.log(`  ${'page'.padEnd(24)} newest      at 50 %     at 1 %      deepest / newest`)
  for (const [name, filter] of Object.entries(filters)) {
    const times = []
    for (const before of [undefined, Math.floor(count * 0.5), Math.floor(count * 0.01)]) {
      times.push(await timeOf(() => listEvents(read, { workspaceId, ...filter }, { before, limit: LIMIT })))
    }
    const [newest, middle, deep] = times
    console.log(
      `  ${name.padEnd(24)} ${[newest, middle, deep].map((time) => `${time.toFixed(2)} ms`.padEnd(11)).join(' ')} ${(Math.max(middle, deep) / newest).toFixed(2)}`,
    )
  }
}

let written = 0
/** Two events of one recipient, as a delivery makes them. */
function deliveryWrites(at) {
  written += 1
  const emailId = `${String(count + written).padStart(8, '0')}-0000-7000-8000-000000000000`
  const recipient = recipientOf(Math.floor(Math.random() * count), count)
  const data = {
    email_id: emailId,
    from: 'app@example.com',
    to: recipient,
    subject: 'Your order has been shipped',
    tags: {},
  }
  const about = { workspaceId, emailId, recipient, at }
  const sent_at = new Date(at).toISOString()
  return [
    recordEvent({ ...about, type: 'email.sent', data: { ...data, sent_at } }),
    recordEvent({ ...about, type: 'email.delivered', data: { ...data, delivered_at: sent_at } }),
  ]
}

const ROUNDS = 100
const CONCURRENT = 50

/** CPU time of the whole process for each event, in microseconds. */
async function costOfWrites({ commit }) {
  const begun = process.cpuUsage()
  for (let round = 0; round < ROUNDS; round += 1) {
    await Promise.all(Array.from({ length: CONCURRENT }, () => commit(deliveryWrites(BEGIN + count * STEP))))
  }
  const { user, system } = process.cpuUsage(begun)
  return (user + system) / (ROUNDS * CONCURRENT * 2)
}

const variants = [
  ['all indexes', []],
  ['without events_by_type', ['drop index events_by_type']],
  ['nor events_of_recipient', ['drop index events_of_recipient']],
  ['events_of_email without type', ['drop index events_of_email', 'create index events_of_email on events (email_id)']],
]

async function measureWrites(file) {
  for (const [name, changes] of variants) {
    const db = new SQLite(file)
    for (const sql of changes) db.exec(sql)
    db.close()
    const database = await openDatabase({ file })
    await costOfWrites(database)
    const costs = [await costOfWrites(database), await costOfWrites(database), await costOfWrites(database)]
    await database.close()
    console.log(`  ${`write, ${name}`.padEnd(40)} ${Math.min(...costs).toFixed(1)} µs of CPU per event`)
  }
}

async function measureRetention(file) {
  const database = await openDatabase({ file })
  const purge = new MessagePurge(database, { messagesBefore: 0, eventsBefore: BEGIN + count * STEP * 0.1 })
  const step = await timeOf(() => purge.step())
  console.log(`  ${'one step of retention (200 events)'.padEnd(40)} ${step.toFixed(2)} ms`)
  await database.close()
}

const folder = mkdtempSync(join(tmpdir(), 'posthorn-events-scale-'))
try {
  const file = join(folder, 'posthorn.db')
  await (await openDatabase({ file })).close()
  const begun = performance.now()
  fill(file, count)
  const gigabytes = statSync(file).size / 1e9
  console.log(
    `events-scale: ${count} events, ${gigabytes.toFixed(2)} GB, filled in ${((performance.now() - begun) / 1000).toFixed(0)} s`,
  )
  const database = await openDatabase({ file })
  await measurePages(database.read)
  await database.close()
  await measureRetention(file)
  await measureWrites(file)
} finally {
  rmSync(folder, { recursive: true, force: true })
}
