// The cost of a message while many others wait: accepting and relaying beside a queue of some depth.
//
// Waiting messages are for a host that never greets, so all of them are due and get no slot:
// the worst case for choosing the next entry. The measured figure is
// CPU time, which other programs of the machine disturb least.
import { setTimeout as sleep } from 'node:timers/promises'
import { median } from './compare.mjs'
import { source, startSink } from './load.mjs'
import { silentHop } from './measure.mjs'
import { posthorn } from './posthorn.mjs'
import { residentMegabytes, watchTree } from './processes.mjs'

const SESSIONS = 20
const WAITING = 'someone@waiting.test'
const IDLE = 3_000

export async function queueCurve({ folder, messages, size, depths, rounds }) {
  console.log(`\nqueue: ${messages} messages of ${size} octets beside those that wait, ${SESSIONS} sessions`)
  const runs = new Map(depths.map((depth) => [depth, []]))
  for (let round = 0; round < rounds; round += 1) {
    for (const depth of depths) {
      const run = await measureDepth({ folder, messages, size, depth })
      runs.get(depth).push(run)
      console.log(`  ${line(depth, run)}`)
    }
  }
  const [first] = depths
  const costs = (depth, what) => median(runs.get(depth).map((run) => run[what].millisecondsEach))
  const curve = depths.slice(1).map((depth) => ({
    depth,
    accept: costs(depth, 'accept') / costs(first, 'accept'),
    relay: costs(depth, 'relay') / costs(first, 'relay'),
  }))
  for (const { depth, accept, relay } of curve) {
    console.log(
      `  CPU of a message with ${depth} waiting, beside ${first}: accept ${accept.toFixed(2)}, relay ${relay.toFixed(2)}`,
    )
  }
  return [{ name: 'queue', messages, size, curve, runs: Object.fromEntries(runs) }]
}

async function measureDepth({ folder, messages, size, depth }) {
  // Another address than the sink's: one address is one host, with common slots.
  const hop = await silentHop('127.0.0.2')
  const sink = await startSink()
  const routes = { 'waiting.test': hop.address }
  const server = await posthorn.start({ folder, sink: sink.port, deliver: true, routes })
  const fill = (count) =>
    source(server.port, { messages: count, size, sessions: SESSIONS, kept: true, recipient: WAITING })
  const measure = (work) => cost(server.pids(), messages, work)
  try {
    await fill(depth)
    await sleep(1000)
    const resident = residentMegabytes(server.pids())
    const idle = await cost(server.pids(), 1, () => sleep(IDLE))
    const accept = await measure(() => fill(messages))
    const relay = await measure(async () => {
      await source(server.port, { messages, size, sessions: SESSIONS, kept: true })
      await sink.received(messages)
    })
    return {
      depth,
      resident,
      idle: idle.millisecondsEach / IDLE,
      accept,
      relay,
      after: residentMegabytes(server.pids()),
    }
  } finally {
    hop.close()
    await server.stop()
    await sink.stop()
  }
}

async function cost(pids, messages, work) {
  const watch = watchTree(pids)
  const begun = performance.now()
  await work()
  const seconds = (performance.now() - begun) / 1000
  const { cpu, megabytes } = watch.end()
  return { rate: messages / seconds, millisecondsEach: (cpu * 1000) / messages, megabytes }
}

function line(depth, { resident, idle, accept, relay }) {
  const part = (name, { rate, millisecondsEach }) =>
    `${name} ${millisecondsEach.toFixed(2)} ms of CPU each, ${rate.toFixed(0)}/s`
  const peak = Math.max(accept.megabytes, relay.megabytes)
  return `${String(depth).padStart(6)} waiting: ${part('accept', accept)}; ${part('relay', relay)}; ${resident.toFixed(0)} MB resident, ${peak.toFixed(0)} at most; idle ${(idle * 100).toFixed(1)} % of a core`
}
