/**
 * The metrics of the process, kept by prom-client. No other file uses prom-client.
 *
 * Each label states all of its values, and all series exist from the start. Their number therefore never grows, a rate
 * over a series that was never counted is 0 instead of nothing, and a value that is not in the list counts as `other`,
 * or not at all where the list has no `other`. Named and information gauges are the exception: their series have a limit.
 */
import { setTimeout as pause } from 'node:timers/promises'
import {
  Registry as Collected,
  Counter as PromCounter,
  Gauge as PromGauge,
  Histogram as PromHistogram,
} from 'prom-client'

/** The values of each label. */
type Labels = Readonly<Record<string, readonly string[]>>

interface MetricSpec {
  readonly name: string
  readonly help: string
  readonly labels?: Labels
}

interface NamedGaugeSpec extends Omit<MetricSpec, 'labels'> {
  readonly label: string
  /** Series. */
  readonly max: number
}

interface InfoGaugeSpec extends Omit<MetricSpec, 'labels'> {
  readonly labels: readonly string[]
  /** Series. */
  readonly max: number
}

interface HistogramSpec extends MetricSpec {
  /** Upper bounds, ascending. */
  readonly buckets: readonly number[]
}

/** Values of labels are in the order of the labels. */
interface Counter {
  readonly add: (values: readonly string[], amount?: number) => void
  /** Sets a total that is counted elsewhere. One that has decreased starts again, as after a restart. */
  readonly setTotal: (values: readonly string[], total: number) => void
}

interface Gauge {
  readonly set: (values: readonly string[], value: number) => void
}

/** A gauge with series that come and go with the values of one label. It has a limit of series instead of a list. */
interface NamedGauge {
  /** Replaces all series that exist. Those beyond the limit are left out. */
  readonly replace: (values: readonly (readonly [name: string, value: number])[]) => void
}

/** A gauge whose series say something by their labels alone, and come and go. The value of each is 1. */
interface InfoGauge {
  /** Replaces all series that exist. Those beyond the limit are left out. Each has the values of its labels in their order. */
  readonly replace: (series: readonly (readonly string[])[]) => void
}

interface Histogram {
  readonly observe: (values: readonly string[], value: number) => void
}

export interface Metrics {
  readonly counter: (spec: MetricSpec) => Counter
  readonly gauge: (spec: MetricSpec) => Gauge
  readonly namedGauge: (spec: NamedGaugeSpec) => NamedGauge
  readonly infoGauge: (spec: InfoGaugeSpec) => InfoGauge
  readonly histogram: (spec: HistogramSpec) => Histogram
  /** Called before each scrape. */
  readonly onScrape: (read: () => Promise<void> | void) => void
  /** Returns the text format of Prometheus. A reader that fails or is late leaves its metrics as they are. */
  readonly render: () => Promise<string>
}

export const CONTENT_TYPE: string = Collected.PROMETHEUS_CONTENT_TYPE

type Reader = () => Promise<void> | void

/** Milliseconds that a scrape waits for one reader, below the ten seconds that Prometheus waits for all. */
const MAX_READ_TIME = 2_000

/** `onFault` says that a reader has begun to fail. */
export function createMetrics(onFault: (error: unknown) => void, maxReadTime = MAX_READ_TIME): Metrics {
  const registry = new Collected()
  const readers: Reader[] = []
  const readInTime = createTimedReader(onFault, maxReadTime)
  const render = async (): Promise<string> => {
    for (const read of readers) await readInTime(read)
    return registry.metrics()
  }
  return {
    counter: (spec) => createCounter(new PromCounter(toOptions(registry, spec)), spec),
    gauge: (spec) => createGauge(new PromGauge(toOptions(registry, spec)), spec),
    namedGauge: ({ label, max, ...spec }) =>
      createNamedGauge(new PromGauge({ ...toOptions(registry, spec), labelNames: [label] }), max),
    infoGauge: ({ labels, max, ...spec }) =>
      createInfoGauge(new PromGauge({ ...toOptions(registry, spec), labelNames: [...labels] }), max),
    histogram: (spec) =>
      createHistogram(new PromHistogram({ ...toOptions(registry, spec), buckets: [...spec.buckets] }), spec),
    onScrape: (read) => readers.push(read),
    render,
  }
}

/**
 * A reader that is late, for example because a disk hangs, continues while scrapes go on. Its metrics keep their values
 * until it has ended, and it is not called a second time before.
 */
function createTimedReader(onFault: (error: unknown) => void, maxTime: number): (read: Reader) => Promise<void> {
  const failing = new Set<Reader>()
  const underWay = new Set<Reader>()
  const run = async (read: Reader): Promise<void> => {
    underWay.add(read)
    try {
      await read()
      failing.delete(read)
    } catch (error) {
      if (!failing.has(read)) onFault(error)
      failing.add(read)
    }
    underWay.delete(read)
  }
  return async (read) => {
    if (underWay.has(read)) return
    const ended = new AbortController()
    await Promise.race([run(read), pause(maxTime, undefined, { signal: ended.signal }).catch(() => undefined)])
    ended.abort()
  }
}

interface PromOptions {
  readonly name: string
  readonly help: string
  readonly labelNames: string[]
  readonly registers: Collected[]
}

function toOptions(registry: Collected, { name, help, labels = {} }: MetricSpec): PromOptions {
  return { name, help, labelNames: Object.keys(labels), registers: [registry] }
}

function createCounter(metric: PromCounter, { labels = {} }: MetricSpec): Counter {
  const find = openSeries(labels, (values) => {
    const series = metric.labels(...values)
    series.inc(0)
    return { inc: (amount: number) => series.inc(amount), restart: () => metric.remove(...values), total: 0 }
  })
  return {
    add: (values, amount = 1) => find(values)?.inc(amount),
    setTotal: (values, total) => {
      const series = find(values)
      if (series === undefined) return
      if (total < series.total) {
        series.restart()
        series.total = 0
      }
      series.inc(total - series.total)
      series.total = total
    },
  }
}

function createGauge(metric: PromGauge, { labels = {} }: MetricSpec): Gauge {
  const find = openSeries(labels, (values) => {
    const series = metric.labels(...values)
    series.set(0)
    return series
  })
  return { set: (values, value) => find(values)?.set(value) }
}

function createNamedGauge(metric: PromGauge, max: number): NamedGauge {
  return {
    replace: (values) => {
      metric.reset()
      for (const [name, value] of values.slice(0, max)) metric.labels(name).set(value)
    },
  }
}

function createInfoGauge(metric: PromGauge, max: number): InfoGauge {
  return {
    replace: (series) => {
      metric.reset()
      for (const values of series.slice(0, max)) metric.labels(...values).set(1)
    },
  }
}

function createHistogram(metric: PromHistogram, { labels = {} }: MetricSpec): Histogram {
  const names = Object.keys(labels)
  const find = openSeries(labels, (values) => {
    metric.zero(Object.fromEntries(names.map((name, at) => [name, values[at] ?? ''])))
    return metric.labels(...values)
  })
  return { observe: (values, value) => find(values)?.observe(value) }
}

/** Opens all series of a metric; returns the function that finds one by the values of its labels. */
function openSeries<Series>(
  labels: Labels,
  open: (values: string[]) => Series,
): (values: readonly string[]) => Series | undefined {
  const lists = Object.values(labels).map((list) => new Set(list))
  const all = new Map(combinationsOf(Object.values(labels)).map((values) => [values.join('\n'), open(values)]))
  return (values) => {
    const known = all.get(values.length === 1 ? (values[0] ?? '') : values.join('\n'))
    if (known !== undefined) return known
    return all.get(values.map((value, at) => (lists[at]?.has(value) ? value : 'other')).join('\n'))
  }
}

function combinationsOf(lists: readonly (readonly string[])[]): string[][] {
  return lists.reduce<string[][]>(
    (found, list) => found.flatMap((before) => list.map((value) => [...before, value])),
    [[]],
  )
}
