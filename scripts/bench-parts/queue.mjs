// The cost of a message while many others wait: accepting and relaying beside a queue of some depth, what the process
// holds then, and how long it takes to open its listeners with that queue.
//
// Waiting messages are for a host that never greets, so all of them are due and get no slot: the worst case for
// choosing the next entry. They are of one recipient domain, or of many that share that host. The measured figure is
// CPU time, which other programs of the machine disturb least.
import { setTimeout as sleep } from 'node:timers/promises'
import { answering, createClient } from '../lib/https-client.mjs'
import { listening, residentMegabytes, watchTree } from '../lib/processes.mjs'
import { median } from '../lib/statistics.mjs'
import { source, startSink } from './load.mjs'
import { silentHop } from './measure.mjs'
import { posthorn } from './posthorn.mjs'
import { fillQueue } from './queue-store.mjs'

const SESSIONS = 20
const MANY_DOMAINS = 10_000
const WAITING = 'waiting.test'
const shapes = [
  { shape: 'one domain', domainOf: () => WAITING },
  { shape: `${MANY_DOMAINS} domains`, domainOf: (n) => `d${n % MANY_DOMAINS}.${WAITING}` },
]
const IDLE = 3_000
const RESTARTS = 3

export async function queueCurve({ folder, messages, warmUp, size, depths, rounds }) {
  console.log(`\nqueue: ${messages} messages of ${size} octets beside those that wait, ${SESSIONS} sessions`)
  const results = []
  for (const { shape, domainOf } of shapes) {
    const runs = new Map(depths.map((depth) => [depth, []]))
    for (let round = 0; round < rounds; round += 1) {
      for (const depth of depths) {
        const run = await measureDepth({ folder, messages, warmUp, size, depth, domainOf })
        runs.get(depth).push(run)
        for (const line of linesOf(run)) console.log(`  ${depth} waiting for ${shape}: ${line}`)
      }
    }
    const curve = compareDepths(depths, runs)
    results.push({ name: `queue, ${shape}`, messages, size, curve, runs: Object.fromEntries(runs) })
  }
  return results
}

function compareDepths([first, ...others], runs) {
  const costs = (depth, what) => median(runs.get(depth).map((run) => run[what].millisecondsEach))
  return others.map((depth) => {
    const [accept, relay] = ['accept', 'relay'].map((what) => costs(depth, what) / costs(first, what))
    console.log(
      `  CPU of a message with ${depth} waiting, beside ${first}: accept ${accept.toFixed(2)}, relay ${relay.toFixed(2)}`,
    )
    return { depth, accept, relay }
  })
}

async function measureDepth({ folder, messages, warmUp, size, depth, domainOf }) {
  // Another address than the sink's: one address is one host, with common slots.
  const hop = await silentHop('127.0.0.2')
  const sink = await startSink()
  const prepare = ({ database, workspaceId }) => fillQueue(database, workspaceId, { count: depth, domainOf })
  const server = await posthorn.start({ folder, sink: sink.port, deliver: true, routes: { '*': hop.address }, prepare })
  const measure = (work) => cost(server.pids(), messages, work)
  const submit = (count, recipient) =>
    source(server.port, { messages: count, size, sessions: SESSIONS, kept: true, recipient })
  let relayed = 0
  const relay = async (count) => {
    await submit(count)
    relayed += count
    await sink.received(relayed)
  }
  try {
    await sleep(1000)
    const idle = await cost(server.pids(), 1, () => sleep(IDLE))
    if (warmUp > 0) await relay(warmUp)
    const resident = residentMegabytes(server.pids())
    const accept = await measure(() => submit(messages, `someone@${domainOf(0)}`))
    const relayCost = await measure(() => relay(messages))
    const doors = { killed: await timeRestarts(server, 'SIGKILL') }
    hop.close()
    doors.stopped = await timeRestarts(server, 'SIGTERM')
    return { depth, idle: idle.millisecondsEach / IDLE, resident, accept, relay: relayCost, doors }
  } finally {
    hop.close()
    await server.stop()
    await sink.stop()
  }
}

/** The medians of some starts. */
async function timeRestarts(server, signal) {
  const times = []
  for (let n = 0; n < RESTARTS; n += 1) {
    await server.restart(signal)
    times.push(await timeDoors(server))
  }
  return { smtp: median(times.map(({ smtp }) => smtp)), https: median(times.map(({ https }) => https)) }
}

/** Milliseconds until the first greeting over SMTP and the first answer over HTTPS. To be called when the process was started. */
async function timeDoors({ port, api }) {
  const begun = performance.now()
  const client = createClient(api)
  const time = (opened) => opened.then(() => performance.now() - begun)
  const [smtp, https] = await Promise.all([time(listening(port)), time(answering(client))])
  client.close()
  return { smtp, https }
}

async function cost(pids, messages, work) {
  const watch = watchTree(pids)
  const begun = performance.now()
  await work()
  const seconds = (performance.now() - begun) / 1000
  const { cpu, megabytes } = watch.end()
  return { rate: messages / seconds, millisecondsEach: (cpu * 1000) / messages, megabytes }
}

function linesOf({ resident, idle, accept, relay, doors }) {
  const part = (name, { rate, millisecondsEach }) =>
    `${name} ${millisecondsEach.toFixed(2)} ms of CPU each, ${rate.toFixed(0)}/s`
  const peak = Math.max(accept.megabytes, relay.megabytes)
  const open = (how, { smtp, https }) =>
    `after ${how} SMTP ${(smtp / 1000).toFixed(2)} s, HTTPS ${(https / 1000).toFixed(2)} s`
  return [
    `${part('accept', accept)}; ${part('relay', relay)}; idle ${(idle * 100).toFixed(1)} % of a core`,
    `${resident.toFixed(0)} MB resident, ${peak.toFixed(0)} at most; open ${open('SIGKILL', doors.killed)}, ${open('a stop', doors.stopped)}`,
  ]
}
