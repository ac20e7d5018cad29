// Opens and clicks beside the relay: how long a pixel or a link waits for its answer while mail is relayed at half the
// speed that was measured just before, and whether each request became an event.
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { performance } from 'node:perf_hooks'
import { text } from 'node:stream/consumers'
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import SQLite from 'better-sqlite3'
import { createLinkId } from '../../../dist/src/outbound/tracking/link-id.js'
import { idAt } from '../api/store.mjs'
import { source, startSink } from '../load.mjs'
import { posthorn } from '../posthorn.mjs'
import { watchTree } from '../processes.mjs'

const EMAILS = 10_000
const LINKS = 5
/** Milliseconds at the 99th percentile. */
const MARK = 5
const programOf = (name) => fileURLToPath(new URL(name, import.meta.url))

export async function measureTrack({ folder, messages, warmUp, rate, seconds, rounds }) {
  const results = []
  for (const relayed of [true, false]) {
    const title = `${rate} opens and clicks a second ${relayed ? 'beside the relay at half speed' : 'alone'}`
    console.log(`\n${title}, milliseconds (mark: ${MARK} at the 99th percentile)`)
    const runs = []
    for (let round = 0; round < rounds; round += 1) {
      runs.push(await measureOnce({ folder, messages, warmUp, rate, seconds, relayed }))
    }
    results.push({ name: title, mark: MARK, runs })
  }
  return results
}

async function measureOnce({ folder, messages, warmUp, rate, seconds, relayed }) {
  const sink = await startSink()
  let database = ''
  let paths = []
  const prepare = (store) => {
    database = store.database
    paths = fill(store)
  }
  const server = await posthorn.start({ folder, sink: sink.port, deliver: true, prepare })
  try {
    const relayRate = relayed ? await measureRelay(server, sink, { messages, warmUp }) : 0
    await track(server, paths, rate, 3) // compiled before it is measured
    const before = await countSettled(database)
    const watch = watchTree(server.pids())
    const [{ client, used }, { accepted, cpu: sourceCpu }] = await Promise.all([
      track(server, paths, rate, seconds).then((client) => ({ client, used: watch.end() })),
      relayed ? run('paced-source.mjs', [server.port, relayRate / 2, seconds]) : { accepted: 0, cpu: 0 },
    ])
    const events = (await countSettled(database)) - before
    const result = {
      requests: client.times.length,
      events,
      relayRate,
      relayed: accepted / seconds,
      ...percentiles(client.times),
      ...used,
      tools: { late: percentiles(client.late), loopDelay: client.loopDelay, clientCpu: client.cpu, sourceCpu },
    }
    print(result)
    return result
  } finally {
    await server.stop()
    await sink.stop()
  }
}

async function measureRelay(server, sink, { messages, warmUp }) {
  if (warmUp > 0) await source(server.port, { messages: warmUp, size: 4096, sessions: 20, kept: true })
  await sink.received(warmUp)
  const begun = performance.now()
  await source(server.port, { messages, size: 4096, sessions: 20, kept: true })
  await sink.received(warmUp + messages)
  return messages / ((performance.now() - begun) / 1000)
}

function track({ api }, paths, rate, seconds) {
  return run('track-client.mjs', [api.port, api.ca, rate, seconds], JSON.stringify(paths))
}

async function run(name, words, input = '') {
  const child = spawn('timeout', ['300', process.execPath, programOf(name), ...words.map(String)], {
    stdio: ['pipe', 'pipe', 'inherit'],
  })
  child.stdin.end(input)
  const [said, [status]] = await Promise.all([text(child.stdout), once(child, 'exit')])
  if (status !== 0) throw new Error(`${name} ended with ${status}`)
  return JSON.parse(said)
}

/** Events of opens and clicks, once no more are added. */
async function countSettled(file) {
  const db = new SQLite(file, { readonly: true })
  const count = db.prepare(`select count(*) from events where type in ('email.opened', 'email.clicked')`).pluck()
  let found = count.get()
  for (let still = 0; still < 3; ) {
    await sleep(500)
    const next = count.get()
    still = next === found ? still + 1 : 0
    found = next
  }
  db.close()
  return found
}

/** Emails that were delivered an hour ago, with their links; returns pixels and links in turns. */
function fill({ database, workspaceId }) {
  const db = new SQLite(database)
  db.pragma('synchronous = OFF')
  const insert = (table, row) => {
    const names = Object.keys(row)
    return db.prepare(`insert into ${table} (${names}) values (${names.map((name) => `@${name}`)})`)
  }
  const at = Date.now() - 3_600_000
  const emailOf = (n) => ({
    ...{ id: idAt(at, n), workspace_id: workspaceId, source: 'rest', message_id: `<${n}@bench.test>` },
    ...{ envelope_from: '', from_email: 'app@bench.test', from_name: '', to_emails: '["someone@sink.test"]' },
    ...{ cc_emails: '[]', bcc_emails: '[]', reply_to: '[]', subject: 'A message', tags: '[]', track_opens: 1 },
    ...{ track_clicks: 1, priority: 'normal', size: 1000, smtputf8: 0, status: 'delivered', created_at: at },
    ...{ sent_at: at, delivered_at: at },
  })
  const recipientOf = (n) => ({
    ...{ id: idAt(at, n + EMAILS), email_id: idAt(at, n), workspace_id: workspaceId, address: 'someone@sink.test' },
    ...{ domain: 'sink.test', status: 'delivered', created_at: at, delivered_at: at, settled_at: at },
  })
  const linkOf = (n, place) => ({
    ...{ id: createLinkId(at), workspace_id: workspaceId, email_id: idAt(at, n), created_at: at, clicks: 0 },
    url: `https://example.com/${place}?utm_source=mail`,
  })
  const [intoEmails, intoRecipients, intoLinks] = [
    insert('emails', emailOf(0)),
    insert('recipients', recipientOf(0)),
    insert('links', linkOf(0, 0)),
  ]
  const paths = []
  db.transaction(() => {
    for (let n = 0; n < EMAILS; n += 1) {
      intoEmails.run(emailOf(n))
      intoRecipients.run(recipientOf(n))
      const links = Array.from({ length: LINKS }, (_, place) => linkOf(n, place))
      for (const link of links) intoLinks.run(link)
      paths.push(`/v1/track/open/${idAt(at, n)}`, `/v1/track/click/${links[n % LINKS].id}`)
    }
  })()
  db.close()
  return paths
}

function percentiles(times) {
  const sorted = times.toSorted((one, other) => one - other)
  const at = (share) => sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))]
  return { p50: at(0.5), p95: at(0.95), p99: at(0.99), max: sorted.at(-1) }
}

function print({ requests, events, relayRate, relayed, p50, p95, p99, max, cpu, megabytes, tools }) {
  const relay = relayRate === 0 ? '' : `relay ${relayed.toFixed(0)} of ${relayRate.toFixed(0)} a second, `
  console.log(
    `  ${format({ p50, p95, p99, max })}  (${p99 < MARK ? 'holds' : 'over the mark'}); ${relay}${requests} requests, ` +
      `${events} events, ${cpu.toFixed(1)} s of CPU, ${megabytes.toFixed(0)} MB`,
  )
  const { late, loopDelay, clientCpu, sourceCpu } = tools
  console.log(
    `    of the tools: requests sent late by ${format({ p50: late.p50, p99: late.p99 })}; delays of the client's event ` +
      `loop ${format(loopDelay)}; CPU of the client ${clientCpu.toFixed(1)} s, of the source ${sourceCpu.toFixed(1)} s`,
  )
}

function format(times) {
  return Object.entries(times)
    .map(([name, time]) => `${name} ${time.toFixed(2)}`)
    .join('  ')
}
