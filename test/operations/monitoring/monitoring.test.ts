/** Collections are shared: what scrapes cost does not depend on how many there are. */
import t from 'tap'
import { createMonitoring } from '../../../src/operations/monitoring/monitoring.js'

function build(): { collect: () => Promise<string>; count: () => number; advance: (ms: number) => void } {
  let now = 1_000_000
  let count = 0
  const { metrics, collect } = createMonitoring({
    clock: () => now,
    onFault: (error) => {
      throw error
    },
  })
  metrics.onScrape(async () => {
    count += 1
    await new Promise((resolve) => setImmediate(resolve))
  })
  return { collect, count: () => count, advance: (ms) => (now += ms) }
}

t.test('scrapes at the same moment, and within a second, share one collection', async (t) => {
  const { collect, count, advance } = build()
  const texts = await Promise.all([collect(), collect(), collect()])
  t.equal(new Set(texts).size, 1)
  t.equal(count(), 1)
  advance(999)
  await collect()
  t.equal(count(), 1)
  advance(1)
  await collect()
  t.equal(count(), 2)
})

t.test('a clock that is set back does not keep an old collection', async (t) => {
  const { collect, count, advance } = build()
  await collect()
  advance(-3_600_000)
  await collect()
  t.equal(count(), 2)
})
