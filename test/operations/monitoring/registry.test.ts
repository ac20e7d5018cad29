import t from 'tap'
import { createMetrics } from '../../../src/operations/monitoring/registry.js'
import { parseMetrics } from '../../helpers/parse-metrics.js'

const fail = (error: unknown): never => {
  throw error
}

t.test('all series exist from the start, and their number stays', async (t) => {
  const metrics = createMetrics(fail)
  const counter = metrics.counter({ name: 'a_total', help: 'A.', labels: { x: ['1', '2', 'other'], y: ['p', 'q'] } })
  const gauge = metrics.gauge({ name: 'b', help: 'B.', labels: { x: ['1', '2'] } })
  const histogram = metrics.histogram({ name: 'c_seconds', help: 'C.', labels: { x: ['1'] }, buckets: [1, 2] })
  const before = parseMetrics(await metrics.render())
  t.same(before.names, ['a_total', 'b', 'c_seconds'])
  t.equal(before.samples.length, 6 + 2 + 5)
  t.ok(before.samples.every(({ value }) => value === 0))

  counter.add(['1', 'p'])
  counter.add(['1', 'p'], 2)
  counter.add(['unheard of', 'q'])
  counter.add(['1', 'unheard of'])
  gauge.set(['2'], 7)
  gauge.set(['unheard of'], 8)
  histogram.observe(['1'], 1.5)
  histogram.observe(['unheard of'], 1)
  const after = parseMetrics(await metrics.render())
  t.same(
    after.samples.map(({ series }) => series),
    before.samples.map(({ series }) => series),
  )
  t.equal(after.readValue('a_total{x="1",y="p"}'), 3)
  t.equal(after.readValue('a_total{x="other",y="q"}'), 1)
  t.equal(after.readValue('b{x="2"}'), 7)
  t.equal(after.readValue('c_seconds_bucket{le="1",x="1"}'), 0)
  t.equal(after.readValue('c_seconds_bucket{le="2",x="1"}'), 1)
  t.equal(after.readValue('c_seconds_sum{x="1"}'), 1.5)
  t.equal(
    after.samples.reduce((sum, { value }) => sum + value, 0),
    3 + 1 + 7 + 1 + 1 + 1.5 + 1,
  )
})

t.test('a total that is counted elsewhere', async (t) => {
  const metrics = createMetrics(fail)
  const counter = metrics.counter({ name: 'a_total', help: 'A.', labels: { x: ['1'] } })
  const read = async (): Promise<number> => parseMetrics(await metrics.render()).readValue('a_total{x="1"}')
  for (const total of [5, 5, 9, 2, 3]) {
    counter.setTotal(['1'], total)
    t.equal(await read(), total)
  }
})

t.test('names of objects in JavaScript are no values of a label', async (t) => {
  const metrics = createMetrics(fail)
  const counter = metrics.counter({ name: 'a_total', help: 'A.', labels: { x: ['1', 'other'] } })
  for (const word of ['constructor', '__proto__', 'toString', '']) counter.add([word])
  t.equal(parseMetrics(await metrics.render()).readValue('a_total{x="other"}'), 4)
})

t.test('a reader that fails keeps its metrics, is reported once, and does not stop the others', async (t) => {
  const faults: unknown[] = []
  const metrics = createMetrics((error) => faults.push(error))
  const [first, second] = ['a', 'b'].map((name) => metrics.gauge({ name, help: 'A gauge.' }))
  let isBroken = false
  let count = 0
  metrics.onScrape(async () => {
    if (isBroken) throw new Error('no disk')
    first?.set([], 1)
  })
  metrics.onScrape(() => {
    count += 1
    second?.set([], count)
  })
  await metrics.render()
  isBroken = true
  await metrics.render()
  const { readValue } = parseMetrics(await metrics.render())
  t.equal(readValue('a'), 1)
  t.equal(readValue('b'), 3)
  t.equal(faults.length, 1)
  isBroken = false
  await metrics.render()
  isBroken = true
  await metrics.render()
  t.equal(faults.length, 2, 'a new fault is reported again')
})

t.test('a reader that hangs keeps its metrics, and holds up no scrape', async (t) => {
  const metrics = createMetrics(fail, 1)
  const [first, second] = ['a', 'b'].map((name) => metrics.gauge({ name, help: 'A gauge.' }))
  let calls = 0
  let end = (): void => undefined
  metrics.onScrape(async () => {
    calls += 1
    await new Promise<void>((resolve) => {
      end = resolve
    })
    first?.set([], calls)
  })
  metrics.onScrape(() => second?.set([], 1))
  const read = async (): Promise<readonly number[]> => {
    const { readValue } = parseMetrics(await metrics.render())
    return [readValue('a'), readValue('b'), calls]
  }
  t.same(await read(), [0, 1, 1])
  t.same(await read(), [0, 1, 1], 'it is not called again while it hangs')
  end()
  t.same(await read(), [1, 1, 1], 'what it read late is shown')
  t.same(await read(), [1, 1, 2])
})

t.test('series by name come and go, up to their limit', async (t) => {
  const metrics = createMetrics(fail)
  const gauge = metrics.namedGauge({ name: 'a', help: 'A.', label: 'name', max: 2 })
  const read = async (): Promise<Record<string, number>> =>
    Object.fromEntries(parseMetrics(await metrics.render()).samples.map(({ series, value }) => [series, value]))
  t.same(await read(), {})
  gauge.replace([
    ['x.test', 1],
    ['y.test', 2],
    ['z.test', 3],
  ])
  t.same(await read(), { 'a{name="x.test"}': 1, 'a{name="y.test"}': 2 })
  gauge.replace([['z.test', 4]])
  t.same(await read(), { 'a{name="z.test"}': 4 })
})

t.test('series that say something by their labels come and go, up to their limit', async (t) => {
  const metrics = createMetrics(fail)
  const gauge = metrics.infoGauge({ name: 'a', help: 'A.', labels: ['name', 'state'], max: 2 })
  const read = async (): Promise<Record<string, number>> =>
    Object.fromEntries(parseMetrics(await metrics.render()).samples.map(({ series, value }) => [series, value]))
  t.same(await read(), {})
  gauge.replace([
    ['x', 'up'],
    ['y', ''],
    ['z', 'up'],
  ])
  t.same(await read(), { 'a{name="x",state="up"}': 1, 'a{name="y",state=""}': 1 })
  gauge.replace([['x', 'down']])
  t.same(await read(), { 'a{name="x",state="down"}': 1 })
})
