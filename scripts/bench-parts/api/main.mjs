// The effect of the size of the store on a client of the REST API.
//
// There is no peer with the same resources, so the reference is Posthorn itself over a store that
// is nearly empty, from the same program, measured in turns with the full one: a ratio of 1
// means that a million rows cost nothing. Rates are over kept connections; pages are requested one at a
// time, so that their milliseconds contain no waiting.
import { performance } from 'node:perf_hooks'
import { setTimeout as sleep } from 'node:timers/promises'
import { createClient } from '../../lib/https-client.mjs'
import { residentMegabytes, watchTree } from '../../lib/processes.mjs'
import { percentiles } from '../../lib/statistics.mjs'
import { fillStore } from '../../lib/store/fill.mjs'
import { compare } from '../compare.mjs'
import { silentHop } from '../measure.mjs'
import { posthorn } from '../posthorn.mjs'
import { askRest } from '../rest.mjs'
import { knownOf } from './known.mjs'
import { healthQuestions, pageQuestions, rateQuestions } from './questions.mjs'

const FULL = 1_000_000
/** Emails and contacts of the nearly empty store. */
const SMALL = 1_000
/** Milliseconds that a page may take. */
const MARK = 20

export async function measureApi({ folder, messages = 2000, rounds = 3, scale, sessions }) {
  const hop = await silentHop()
  const small = await started(folder, hop, 'next to empty', SMALL)
  const full = await started(folder, hop, 'full', Math.ceil(FULL * scale))
  try {
    const results = []
    for (const connections of sessions) {
      for (const question of rateQuestions(messages)) {
        const sides = [full, small].map((side) => ({
          name: side.name,
          measure: () => rate(side, question, connections),
        }))
        results.push(await compare(`${question.title}, ${connections} kept connections`, sides, rounds))
      }
    }
    results.push(await pages(full))
    results.push(await exportAll(full))
    return results
  } finally {
    hop.close()
    await Promise.all([full.server.stop(), small.server.stop()])
  }
}

async function started(folder, hop, name, count) {
  const begun = performance.now()
  let known
  const prepare = ({ database, workspaceId }) => {
    fillStore(database, { workspace: workspaceId, other: 'ws_other', count, end: Date.now() })
    known = knownOf(database, workspaceId)
  }
  const server = await posthorn.start({ folder, sink: hop.port, deliver: false, prepare })
  const seconds = ((performance.now() - begun) / 1000).toFixed(0)
  const sizes = Object.entries(known.counts).map(([what, rows]) => `${rows} ${what}`)
  console.log(`\n${name}: ${sizes.join(', ')}; made in ${seconds} s`)
  return { name, server, known }
}

async function rate({ server, known }, { status, requests }, connections) {
  const asked = requests(known)
  await askRest(server.api, { status, requests: asked.slice(0, Math.ceil(asked.length / 4)) }, connections)
  const watch = watchTree(server.pids())
  const fresh = requests(known)
  const { seconds, times } = await askRest(server.api, { status, requests: fresh }, connections)
  const messages = fresh.length
  return { rate: messages / seconds, seconds, messages, unit: 'requests', ...percentiles(times), ...watch.end() }
}

async function pages({ server, known }) {
  console.log(`\npages of the full store, one request at a time, milliseconds (mark: ${MARK} at the 99th percentile)`)
  const runs = []
  for (const { title, requests } of pageQuestions(known)) {
    await askRest(server.api, { status: 200, requests: requests.slice(0, 10) }, 1)
    const found = percentiles((await askRest(server.api, { status: 200, requests }, 1)).times)
    runs.push({ title, requests: requests.length, ...found, holds: found.p99 < MARK })
    const figures = ['p50', 'p95', 'p99', 'max'].map((name) => `${name} ${found[name].toFixed(1).padStart(6)}`)
    console.log(`  ${title.padEnd(90)} ${figures.join('  ')}  ${found.p99 < MARK ? 'holds' : 'over the mark'}`)
  }
  return { name: 'pages', mark: MARK, counts: known.counts, runs }
}

/** What /healthz, which is answered from memory, takes while `work` is under way; resolves when that is done. */
async function healthBeside({ api }, work) {
  const done = work()
  const waited = []
  for (let over = false; !over; ) {
    waited.push(...(await askRest(api, { status: 200, requests: healthQuestions(500) }, 1)).times)
    over = await Promise.race([done.then(() => true), new Promise((resolve) => setImmediate(resolve, false))])
  }
  return percentiles(waited)
}

const shown = ({ p50, p99, max }) => `healthz p50 ${p50.toFixed(2)}  p99 ${p99.toFixed(1)}  max ${max.toFixed(1)}`

/** All emails: how long that takes, what /healthz waits, and the memory of the daemon before and after. */
async function exportAll({ server }) {
  const client = createClient(server.api)
  const day = 86_400_000
  const range = { from_date: new Date(Date.now() - 90 * day), to_date: new Date(Date.now() + day) }
  const before = residentMegabytes(server.pids())
  const begun = performance.now()
  let found
  const health = await healthBeside(server, async () => {
    const { data } = await client.demand('POST', '/v1/exports', { type: 'email_logs', ...range })
    for (found = data; found.status === 'processing'; await sleep(100)) {
      const list = await client.demand('GET', '/v1/exports')
      found = list.data.find(({ export_id }) => export_id === data.export_id)
    }
  })
  const seconds = (performance.now() - begun) / 1000
  client.close()
  const after = residentMegabytes(server.pids())
  console.log(
    `\nexport: ${found.status} after ${seconds.toFixed(1)} s; memory ${before.toFixed(0)} MB before, ${after.toFixed(0)} MB after; ${shown(health)}`,
  )
  return { name: 'export', status: found.status, seconds, before, after, health }
}
