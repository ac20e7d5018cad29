// What webhooks cost the relay, and how fast a backlog of events reaches one endpoint.
//
// Relay: HTML messages with tracking headers and a webhook for each event that a message causes, beside the same messages
// without either, in turns. The run is complete when the endpoint has every event; the rate is that of the relay.
// Backlog: events that are in the log before the daemon starts.
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { performance } from 'node:perf_hooks'
import { fileURLToPath } from 'node:url'
import SQLite from 'better-sqlite3'
import { startCounting } from '../lib/counting-process.mjs'
import { answering, createClient } from '../lib/https-client.mjs'
import { freePort, residentMegabytes, watchTree } from '../lib/processes.mjs'
import { compare } from './compare.mjs'
import { source, startSink } from './load.mjs'
import { posthorn } from './posthorn.mjs'

const SESSIONS = 20
const LINKS = 10
/** Events of a message: queued, delivered. */
const TYPES = ['email.queued', 'email.delivered']
const WEBHOOKS = { webhooks: { allowed_private_networks: ['127.0.0.0/8'] } }

export async function measureWebhooks({ folder, messages, warmUp, rounds, events }) {
  const how = { folder, messages, warmUp }
  const sides = [
    { name: 'with both', measure: () => measureRelay(how, true) },
    { name: 'without', measure: () => measureRelay(how, false) },
  ]
  const title = `relay of HTML with ${LINKS} links, with tracking and a webhook, beside without`
  const relay = rounds === 0 ? [] : [await compare(title, sides, rounds)]
  return [...relay, await measureBacklog({ folder, events })]
}

async function measureRelay({ folder, messages, warmUp }, isOn) {
  const sink = await startSink()
  const receiver = await startReceiver()
  const server = await posthorn.start({ folder, sink: sink.port, deliver: true, settings: WEBHOOKS })
  const load = { size: 0, sessions: SESSIONS, kept: true, file: writeMessage(folder, isOn) }
  try {
    if (isOn) await subscribe(server.api, receiver.url)
    if (warmUp > 0) {
      await source(server.port, { ...load, messages: warmUp })
      await sink.received(warmUp)
    }
    const watch = watchTree(server.pids())
    const begun = performance.now()
    await source(server.port, { ...load, messages })
    await sink.received(warmUp + messages)
    const seconds = (performance.now() - begun) / 1000
    const expected = isOn ? TYPES.length * (warmUp + messages) : 0
    await receiver.received(expected)
    const lag = (performance.now() - begun) / 1000 - seconds
    if (isOn) console.log(`  every event arrived: ${expected}, the last ${lag.toFixed(1)} s after the last message`)
    return { rate: messages / seconds, seconds, messages, lag, ...watch.end() }
  } finally {
    await server.stop()
    await sink.stop()
    await receiver.stop()
  }
}

async function measureBacklog({ folder, events }) {
  console.log(`\nbacklog: ${events} events before the start, one endpoint`)
  const sink = await startSink()
  const receiver = await startReceiver()
  const prepare = ({ database, workspaceId }) => storeBacklog(database, workspaceId, receiver.url, events)
  const server = await posthorn.start({ folder, sink: sink.port, deliver: true, settings: WEBHOOKS, prepare })
  try {
    const begun = performance.now()
    const watch = watchTree(server.pids())
    const before = residentMegabytes(server.pids())
    const tenths = []
    for (let tenth = 1; tenth <= 10; tenth += 1) {
      await receiver.received(Math.ceil((events * tenth) / 10))
      tenths.push(residentMegabytes(server.pids()))
      console.log(
        `  ${tenth}/10 after ${((performance.now() - begun) / 1000).toFixed(0)} s: ${tenths.at(-1).toFixed(0)} MB`,
      )
    }
    const seconds = (performance.now() - begun) / 1000
    const { cpu, megabytes } = watch.end()
    const rate = events / seconds
    const each = (cpu * 1000) / events
    console.log(`  ${rate.toFixed(0)} events/s, ${each.toFixed(2)} ms of CPU each`)
    console.log(`  memory at the start ${before.toFixed(0)} MB`)
    return { name: 'backlog', events, rate, millisecondsEach: each, before, tenths, megabytes }
  } finally {
    await server.stop()
    await sink.stop()
    await receiver.stop()
  }
}

function writeMessage(folder, isTracked) {
  const links = Array.from(
    { length: LINKS },
    (_, at) => `<p>Text <a href="https://www.example.test/page/${at}?a=1">link ${at}</a></p>`,
  )
  const flags = isTracked ? ['X-Service-Track-Opens: true', 'X-Service-Track-Clicks: true'] : []
  const header = ['From: <app@bench.test>', 'To: <someone@sink.test>', 'Subject: a message', ...flags]
  const mime = ['MIME-Version: 1.0', 'Content-Type: text/html; charset=utf-8']
  const file = join(folder, `message-${isTracked}.eml`)
  writeFileSync(file, `${[...header, ...mime, '', '<html><body>', ...links, '</body></html>'].join('\n')}\n`)
  return file
}

/** The events of messages that another process has sent. */
function storeBacklog(database, workspaceId, url, events) {
  const db = new SQLite(database)
  const now = Date.now()
  const uuid = (number) => `00000000-0000-7000-8000-${number.toString(16).padStart(12, '0')}`
  const insert = db.prepare(
    `insert into events (id, workspace_id, type, email_id, recipient, created_at, data) values (?, ?, ?, ?, ?, ?, ?)`,
  )
  db.transaction(() => {
    for (let number = 0; number < events; number += 1) {
      const email = uuid(number)
      const data = { email_id: email, from: 'app@bench.test', to: 'someone@sink.test', subject: 'a message', tags: {} }
      insert.run(`evt_${email}`, workspaceId, 'email.delivered', email, data.to, now, JSON.stringify(data))
    }
    db.prepare(
      `insert into webhooks (id, workspace_id, url, events, format, content, enabled, secret, event_cursor, created_at, updated_at)
       values (?, ?, ?, ?, 'posthorn', 'none', 1, ?, 0, ?, ?)`,
    ).run(`wh_${uuid(0)}`, workspaceId, url, JSON.stringify(TYPES), `whsec_${'A'.repeat(43)}=`, now, now)
  })()
  db.close()
}

async function subscribe(api, url) {
  const client = createClient(api)
  // The listener is open before the daemon answers.
  await answering(client)
  await client.demand('POST', '/v1/webhooks', { url, events: TYPES })
  client.close()
}

/** In a process of its own. */
async function startReceiver() {
  const port = await freePort()
  const program = fileURLToPath(new URL('webhooks-receiver.mjs', import.meta.url))
  return { url: `http://127.0.0.1:${port}/hook`, ...startCounting([process.execPath, program, port], 'events') }
}
