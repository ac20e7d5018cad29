// Other mail beside a broadcast: how long a message takes from the 250 that accepts it to its last byte at the host,
// with the broadcast paused and running in turns. All goes to the same host, from the same workspace.
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { text } from 'node:stream/consumers'
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { median } from '../compare.mjs'
import { posthorn } from '../posthorn.mjs'
import { freePort, listening } from '../processes.mjs'
import { fillAudience, openApi } from './api.mjs'

const RATE = 40
const SECONDS = 12
/** Contacts for each second in which the broadcast runs: more than it can send. */
const CONTACTS_PER_SECOND = 1_500
const MARK = 2
const program = (name) => fileURLToPath(new URL(name, import.meta.url))

export async function measureBeside({ folder, rounds }) {
  console.log(`\n${RATE} other messages a second beside a broadcast, milliseconds from acceptance to the host`)
  const sinkPort = await freePort()
  const sink = spawn(process.execPath, [program('probe-sink.mjs'), String(sinkPort)], {
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  const arrivals = collectArrivals(sink.stdout)
  await listening(sinkPort)
  const audiences = []
  const prepare = (store) => audiences.push(fillAudience(store, rounds * SECONDS * CONTACTS_PER_SECOND + 5_000))
  const server = await posthorn.start({ folder, sink: sinkPort, deliver: true, prepare })
  const runs = []
  try {
    const api = openApi(server.api)
    const id = await api.send(audiences[0])
    await measureOnce(server, arrivals, 3) // compiled before it is measured
    for (let round = 0; round < rounds; round += 1) {
      await api.act(id, 'pause')
      await sleep(2_000)
      const alone = await measureOnce(server, arrivals, SECONDS)
      await api.act(id, 'resume')
      await sleep(2_000)
      const before = (await api.show(id)).delivered
      const beside = await measureOnce(server, arrivals, SECONDS)
      const shown = await api.show(id)
      if (shown.finished_at !== null) throw new Error('the broadcast ended before its round did')
      const sent = (shown.delivered - before) / SECONDS
      runs.push({ alone, beside, sent, ratio: beside.p99 / alone.p99 })
      print(runs.at(-1))
    }
  } finally {
    await server.stop()
    sink.kill()
    await once(sink, 'exit')
  }
  const ratio = median(runs.map((run) => run.ratio))
  console.log(`  p99 beside a broadcast: ${ratio.toFixed(2)} times that without (mark: ${MARK})`)
  return [{ name: 'other mail beside a broadcast', mark: MARK, ratio, runs }]
}

async function measureOnce({ port }, arrivals, seconds) {
  const child = spawn(process.execPath, [program('probe-source.mjs'), ...[port, RATE, seconds].map(String)], {
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  const [said, [status]] = await Promise.all([text(child.stdout), once(child, 'exit')])
  if (status !== 0) throw new Error(`the source ended with ${status}`)
  const accepted = JSON.parse(said)
  for (let left = 300; left > 0 && accepted.some(([number]) => !arrivals.has(number)); left -= 1) await sleep(100)
  const times = accepted.map(([number, at]) => (arrivals.get(number) ?? Number.POSITIVE_INFINITY) - at)
  const sorted = times.toSorted((one, other) => one - other)
  const at = (share) => sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))]
  return { messages: times.length, p50: at(0.5), p95: at(0.95), p99: at(0.99), max: sorted.at(-1) }
}

/** By number: when the last byte of the message was read. */
function collectArrivals(stream) {
  const arrivals = new Map()
  let held = ''
  stream.on('data', (chunk) => {
    const lines = (held + chunk).split('\n')
    held = lines.pop()
    for (const line of lines) {
      const [number, at] = line.split(' ')
      arrivals.set(number, Number(at))
    }
  })
  return arrivals
}

function print({ alone, beside, sent, ratio }) {
  const line = ({ p50, p95, p99, max }) =>
    Object.entries({ p50, p95, p99, max })
      .map(([name, time]) => `${name} ${time.toFixed(1)}`)
      .join('  ')
  console.log(
    `  alone:  ${line(alone)}\n  beside: ${line(beside)}  (${sent.toFixed(0)} of the broadcast a second; ${ratio.toFixed(2)} times)`,
  )
}
