// Measures a victim's mail alone and beside attackers, in one daemon for each way to stall.
import { mkdtempSync, rmSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { parseArgs } from 'node:util'
import { posthorn } from '../bench-parts/posthorn.mjs'
import { createClient } from '../lib/https-client.mjs'
import { freePort, residentMegabytes } from '../lib/processes.mjs'
import { openSink } from '../lib/smtp-sink.mjs'
import { percentiles } from '../lib/statistics.mjs'
import { openStallingHosts, stallingAddress } from './servers.mjs'

const { values } = parseArgs({
  options: {
    attackers: { type: 'string', default: '2' },
    messages: { type: 'string', default: '150' },
    hosts: { type: 'string', default: '15' },
    bytes: { type: 'string', default: '2000' },
    seconds: { type: 'string', default: '20' },
    modes: { type: 'string', default: 'banner,mail,drip,data' },
    disk: { type: 'string', default: '.' },
  },
})
const [attackers, messages, hosts, bytes, seconds] = ['attackers', 'messages', 'hosts', 'bytes', 'seconds'].map(
  (name) => Number(values[name]),
)
/** Milliseconds between two messages of the victim. */
const INTERVAL = 50
const folder = mkdtempSync(join(resolve(values.disk), '.crash-stalled-'))

console.log(`${attackers} workspaces send ${messages} messages of ${bytes} bytes each to ${hosts} hosts that stall`)
console.log(
  '| stall at | alone p50 | p99, ms | beside p50 | p99 | longest | p99 to p99 | high of an attacked one, longest | sockets | MB |',
)
console.log('|---|---|---|---|---|---|---|---|---|---|')
try {
  for (const mode of values.modes.split(',')) await measure(mode)
} finally {
  rmSync(folder, { recursive: true, force: true })
}

async function measure(mode) {
  const stallPort = await freePort()
  const arrivals = new Map()
  const receiver = await openSink((_, [to]) => arrivals.get(to.split('@')[0])?.(performance.now()))
  const stalling = await openStallingHosts(stallPort, hosts, mode)
  const routes = Object.fromEntries(
    Array.from({ length: hosts }, (_, n) => [`stall${n + 1}.test`, `${stallingAddress(n + 1)}:${stallPort}`]),
  )
  const server = await posthorn.start({
    folder,
    sink: receiver.port,
    deliver: true,
    routes,
    settings: { doctor: { daily: false } },
  })
  try {
    const senders = openSenders(server)
    const alone = await sendSteadily(senders[0], arrivals, 'victim', seconds)
    await Promise.all(senders.slice(1).map(sendToStalling))
    const [beside, high] = await Promise.all([
      sendSteadily(senders[0], arrivals, 'victim', seconds),
      sendSteadily(senders[1], arrivals, 'high', seconds, 'high'),
    ])
    const row = [
      ...[alone.p50, alone.p99, beside.p50, beside.p99, beside.max].map((time) => time.toFixed(0)),
      (beside.p99 / alone.p99).toFixed(1),
      high.max.toFixed(0),
      stalling.count(),
      residentMegabytes(server.pids()).toFixed(0),
    ]
    console.log(`| ${mode} | ${row.join(' | ')} |`)
  } finally {
    stalling.close()
    receiver.close()
    await server.stop()
  }
}

/** The victim first; each in a workspace with an owner of its own. */
function openSenders({ command, api }) {
  return Array.from({ length: attackers + 1 }, (_, n) => {
    const made = command('workspace', 'create', `Sender ${n}`, '--email', `owner${n}@bench.test`)
    command('domain', 'add', `sender${n}.test`, '--force', '--workspace', made.workspace_id)
    const { demand } = createClient({ port: api.port, key: made.api_key, sockets: 50 })
    return { from: `app@sender${n}.test`, post: (body) => demand('POST', '/v1/emails', body) }
  })
}

async function sendToStalling({ from, post: send }) {
  const text = 'x'
    .repeat(70)
    .concat('\r\n')
    .repeat(Math.ceil(bytes / 72))
  for (let n = 0; n < messages; n += 1) {
    await send({ from, to: `r${n}@stall${(n % hosts) + 1}.test`, subject: 'stalls', text })
  }
}

/** Milliseconds from the request of each message to the end of its delivery. */
async function sendSteadily({ from, post: send }, arrivals, name, time, priority = 'normal') {
  const waits = []
  const end = performance.now() + time * 1000
  while (performance.now() < end) {
    const begun = performance.now()
    const id = `${name}-${Math.random().toString(36).slice(2)}`
    const arrived = new Promise((done) => arrivals.set(id, done))
    await send({ from, to: `${id}@sink.test`, subject: 'honest', text: 'honest', priority })
    waits.push(
      Promise.race([arrived, sleep(120_000, performance.now() + 120_000, { ref: false })]).then((at) => at - begun),
    )
    await sleep(INTERVAL)
  }
  return percentiles(await Promise.all(waits))
}
