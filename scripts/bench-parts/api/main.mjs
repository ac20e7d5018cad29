// The effect of the size of the store on a client of the REST API.
//
// There is no peer with the same resources, so the reference is Posthorn itself over a store that
// is nearly empty, from the same program, measured in turns with the full one: a ratio of 1
// means that a million rows cost nothing. Rates are over kept connections; pages are requested one at a
// time, so that their milliseconds contain no waiting.
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { performance } from 'node:perf_hooks'
import { text } from 'node:stream/consumers'
import { fileURLToPath } from 'node:url'
import { compare } from '../compare.mjs'
import { silentHop } from '../measure.mjs'
import { posthorn } from '../posthorn.mjs'
import { watchTree } from '../processes.mjs'
import { healthQuestions, inboundQuestions, pageQuestions, rateQuestions } from './questions.mjs'
import { FULL, fill, SMALL } from './store.mjs'

const client = fileURLToPath(new URL('client.mjs', import.meta.url))
/** Milliseconds that a page may take. */
const MARK = 20
const LIMIT_SECONDS = 600

export async function measureApi({ folder, messages, rounds, scale, sessions }) {
  const counts = Object.fromEntries(Object.entries(FULL).map(([name, count]) => [name, Math.ceil(count * scale)]))
  const hop = await silentHop()
  const small = await started(folder, hop, 'next to empty', SMALL)
  const full = await started(folder, hop, 'full', counts)
  try {
    const results = []
    for (const connections of sessions) {
      for (const question of rateQuestions(full.known, messages ?? 2000)) {
        const sides = [full, small].map((side) => ({
          name: side.name,
          measure: () => rate(side, question, connections),
        }))
        results.push(await compare(`${question.title}, ${connections} kept connections`, sides, rounds ?? 3))
      }
    }
    results.push(await pages(full, counts))
    results.push(await waits(full, counts))
    return results
  } finally {
    hop.close()
    await Promise.all([full.server.stop(), small.server.stop()])
  }
}

async function started(folder, hop, name, counts) {
  const begun = performance.now()
  let known
  const prepare = ({ database, workspaceId }) => {
    known = fill(database, workspaceId, counts)
  }
  const server = await posthorn.start({ folder, sink: hop.port, deliver: false, prepare })
  const seconds = ((performance.now() - begun) / 1000).toFixed(0)
  console.log(
    `\n${name}: ${Object.entries(counts)
      .map(([what, count]) => `${count} ${what}`)
      .join(', ')}; made in ${seconds} s`,
  )
  return { name, server, known }
}

async function rate({ server, known }, { status, requests }, connections) {
  const asked = requests(known)
  await ask(server.api, { status, requests: asked.slice(0, Math.ceil(asked.length / 4)) }, connections)
  const watch = watchTree(server.pids())
  const fresh = requests(known)
  const { seconds, times } = await ask(server.api, { status, requests: fresh }, connections)
  return {
    rate: fresh.length / seconds,
    seconds,
    messages: fresh.length,
    unit: 'requests',
    ...percentiles(times),
    ...watch.end(),
  }
}

async function pages({ server, known }, counts) {
  console.log(`\npages of the full store, one request at a time, milliseconds (mark: ${MARK} at the 99th percentile)`)
  const runs = []
  for (const { title, requests } of pageQuestions(known, counts)) {
    await ask(server.api, { status: 200, requests: requests.slice(0, 10) }, 1)
    const found = percentiles((await ask(server.api, { status: 200, requests }, 1)).times)
    runs.push({ title, requests: requests.length, ...found, holds: found.p99 < MARK })
    const figures = ['p50', 'p95', 'p99', 'max'].map((name) => `${name} ${found[name].toFixed(1).padStart(6)}`)
    console.log(`  ${title.padEnd(62)} ${figures.join('  ')}  ${found.p99 < MARK ? 'holds' : 'over the mark'}`)
  }
  return { name: 'pages', mark: MARK, counts, runs }
}

/**
 * The latency of other requests during walks over the inbound list: four clients request one list again
 * and again, and one requests /healthz, which is answered from memory.
 */
async function waits({ server }, counts) {
  console.log(
    `\nlists of ${counts.inbound} inbound emails, four at once, and what /healthz waits meanwhile, milliseconds`,
  )
  const runs = []
  const alone = percentiles((await ask(server.api, { status: 200, requests: healthQuestions(2000) }, 1)).times)
  for (const { title, requests } of inboundQuestions(counts)) {
    const one = percentiles((await ask(server.api, { status: 200, requests: requests.slice(0, 5) }, 1)).times)
    const listing = ask(server.api, { status: 200, requests }, 4)
    const waited = []
    for (let over = false; !over; ) {
      waited.push(...(await ask(server.api, { status: 200, requests: healthQuestions(500) }, 1)).times)
      over = await Promise.race([listing.then(() => true), new Promise((resolve) => setImmediate(resolve, false))])
    }
    const health = percentiles(waited)
    runs.push({ title, one, health })
    console.log(
      `  ${title.padEnd(92)} alone ${one.p50.toFixed(1).padStart(7)}  healthz p50 ${health.p50.toFixed(2)}  p99 ${health.p99.toFixed(1)}  max ${health.max.toFixed(1)}`,
    )
  }
  console.log(
    `  /healthz with nothing else: p50 ${alone.p50.toFixed(2)}  p99 ${alone.p99.toFixed(1)}  max ${alone.max.toFixed(1)}`,
  )
  return { name: 'waits', alone, runs }
}

async function ask({ port, ca, key }, questions, connections) {
  const words = [String(LIMIT_SECONDS), process.execPath, client, ...[port, ca, connections].map(String)]
  const child = spawn('timeout', words, {
    stdio: ['pipe', 'pipe', 'inherit'],
    env: { ...process.env, BENCH_API_KEY: key },
  })
  child.stdin.end(JSON.stringify(questions))
  const [said, [status]] = await Promise.all([text(child.stdout), once(child, 'exit')])
  if (status !== 0) throw new Error(`the client of the API ended with ${status}`)
  return JSON.parse(said)
}

function percentiles(times) {
  const sorted = times.toSorted((one, other) => one - other)
  const at = (share) => sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))]
  return { p50: at(0.5), p95: at(0.95), p99: at(0.99), max: sorted.at(-1) }
}
