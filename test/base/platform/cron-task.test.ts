/** Tasks by the wall clock, while the clock is set forward and back. */
import { mock } from 'node:test'
import t from 'tap'
import { startCronTask } from '../../../src/base/platform/cron-task.js'

const HOUR = 3_600_000
const DAY = 24 * HOUR

t.beforeEach(() => mock.timers.enable({ apis: ['Date', 'setTimeout'], now: Date.UTC(2026, 0, 2) }))
t.afterEach(() => mock.timers.reset())

async function passTime(milliseconds: number): Promise<void> {
  for (let passed = 0; passed < milliseconds; passed += 10_000) {
    mock.timers.tick(10_000)
    await new Promise(setImmediate)
  }
}

t.test('it runs each hour, until it is stopped', async (t) => {
  let runs = 0
  const task = startCronTask('17 * * * *', () => {
    runs += 1
  })
  await passTime(3 * HOUR)
  t.equal(runs, 3)
  task.stop()
  await passTime(2 * HOUR)
  t.equal(runs, 3)
})

t.test('after a clock that was set back it runs within the hour', async (t) => {
  let runs = 0
  const task = startCronTask('17 * * * *', () => {
    runs += 1
  })
  await passTime(HOUR)
  t.equal(runs, 1)
  mock.timers.setTime(Date.now() - DAY)
  task.reschedule()
  await passTime(HOUR)
  t.equal(runs, 2)
  task.stop()
})

t.test('times that a clock was set forward over are not written to standard error', async (t) => {
  const write = t.capture(process.stderr, 'write', () => true)
  let runs = 0
  const task = startCronTask('* * * * *', () => {
    runs += 1
  })
  await passTime(60_000)
  mock.timers.setTime(Date.now() + DAY)
  await passTime(120_000)
  t.ok(runs > 1)
  t.same(write(), [])
  task.stop()
})
