// The time of GET /v1/metrics and /v1/metrics/links without HTTP, over 90 days of 10,000,000 emails and 30,000,000
// opens and clicks: percentiles of the answer, and the longest time for which one of its steps holds the event loop up.
import { mkdtempSync, rmSync, statSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setImmediate as nextTurn } from 'node:timers/promises'
import { openDatabase } from '../../dist/src/base/storage/open.js'
import { readEmailMetrics } from '../../dist/src/records/metrics/email-metrics.js'
import { readLinkMetrics } from '../../dist/src/records/metrics/link-metrics.js'
import { findTimeZone, utc } from '../../dist/src/records/metrics/time-zone.js'
import { toWindow } from '../../dist/src/records/metrics/window.js'
import { BEGIN, DAYS, DOMAINS, END, fillLinks, fillMetrics, TAGS, WORKSPACE } from './fill.mjs'

const urls = Number(process.argv[2] ?? 2_000_000)
const RUNS = 100

const percentile = (times, share) => times.sort((one, other) => one - other)[Math.ceil(times.length * share) - 1]

/** The longest turn of the event loop while `work` runs. */
async function longestTurn(work) {
  let [longest, done] = [0, false]
  const watch = (async () => {
    let before = performance.now()
    while (!done) {
      await nextTurn()
      const now = performance.now()
      longest = Math.max(longest, now - before)
      before = now
    }
  })()
  await work()
  done = true
  await watch
  return longest
}

async function measure(name, work) {
  await work()
  const [times, turns] = [[], []]
  const cpu = process.cpuUsage()
  for (let run = 0; run < RUNS; run += 1) {
    const begun = performance.now()
    await work()
    times.push(performance.now() - begun)
  }
  const { user, system } = process.cpuUsage(cpu)
  for (let run = 0; run < RUNS; run += 1) turns.push(await longestTurn(work))
  const figures = [percentile(times, 0.5), percentile(times, 0.99), percentile(times, 1)]
  const texts = [...figures, (user + system) / RUNS / 1_000, percentile(turns, 0.5), percentile(turns, 0.99)]
  console.log(`  ${name.padEnd(34)} ${texts.map((time) => time.toFixed(2).padStart(9)).join('')}`)
}

const folder = mkdtempSync(join(tmpdir(), 'posthorn-metrics-scale-'))
try {
  const file = join(folder, 'posthorn.db')
  await (await openDatabase({ file })).close()
  const { rows } = fillMetrics(file)
  fillLinks(file, urls)
  const size = (statSync(file).size / 1e9).toFixed(2)
  console.log(`metrics-scale: ${DAYS} days, ${rows} rows of metrics, ${urls} URLs, ${size} GB`)
  console.log(`  ${'milliseconds'.padEnd(34)}       p50      p99      max      CPU  turn p50  turn p99`)
  const { read, close } = await openDatabase({ file })
  const all = { workspaceId: WORKSPACE, window: toWindow(BEGIN, END), grouping: 'day', offsetAt: utc }
  const short = toWindow(END - 86_400_000, END)
  await measure('all, by day', () => readEmailMetrics(read, all))
  const berlin = findTimeZone('Europe/Berlin')
  await measure('all, by hour in Berlin', () => readEmailMetrics(read, { ...all, grouping: 'hour', offsetAt: berlin }))
  await measure('of a domain and a tag, by status', () =>
    readEmailMetrics(read, { ...all, domain: DOMAINS[2], tag: TAGS[1], grouping: 'status' }),
  )
  await measure('all, one day', () => readEmailMetrics(read, { ...all, window: short }))
  const links = { workspaceId: WORKSPACE, domain: '', window: all.window, slice: { offset: 0, limit: 100 } }
  await measure('links', () => readLinkMetrics(read, links))
  await measure('links, the last of the list', () =>
    readLinkMetrics(read, { ...links, slice: { offset: 400, limit: 100 } }),
  )
  await measure('links of a domain', () => readLinkMetrics(read, { ...links, domain: DOMAINS[0] }))
  await measure('links, one day', () => readLinkMetrics(read, { ...links, window: short }))
  await close()
} finally {
  rmSync(folder, { recursive: true, force: true })
}
