/** What the process uses is measured: memory, threads, and how long the event loop lets others wait. */
import { readdirSync } from 'node:fs'
import { setTimeout as sleep } from 'node:timers/promises'
import t from 'tap'
import { startProcessMeter } from '../../../../src/base/platform/processes/process-meter.js'

/** Milliseconds. */
const BLOCKED = 300

t.test('the numbers are those of this process', async (t) => {
  const meter = startProcessMeter()
  t.teardown(() => meter.stop())
  const { uptime, rss, heapUsed, threads, load } = await meter.read()
  t.ok(uptime > 0 && uptime <= process.uptime())
  t.ok(heapUsed > 1_000_000 && heapUsed < rss)
  t.equal(threads, readdirSync('/proc/self/task').length)
  t.ok(load >= 0 && load <= 1, String(load))
})

t.test('an event loop that is blocked shows in the longest delay, and in the load', async (t) => {
  const meter = startProcessMeter()
  t.teardown(() => meter.stop())
  await sleep(60)
  const end = performance.now() + BLOCKED
  while (performance.now() < end);
  await sleep(60)
  const { delays, load } = await meter.read()
  t.ok(delays.max >= BLOCKED / 2, `${delays.max} ms`)
  t.ok(delays.p50 <= delays.p99 && delays.p99 <= delays.max)
  t.ok(load > 0 && load <= 1, String(load))
})

t.test('a meter that was stopped measures no further delay', async (t) => {
  const meter = startProcessMeter()
  await sleep(60)
  meter.stop()
  const { delays: before } = await meter.read()
  const end = performance.now() + BLOCKED
  while (performance.now() < end);
  await sleep(60)
  t.same((await meter.read()).delays, before)
})
