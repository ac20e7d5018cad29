/**
 * The process: the usual metrics of Prometheus clients (`process_…`, `nodejs_…`), the delay of the event loop, and how
 * long its threads were busy.
 *
 * `/proc` is read without blocking; on a system without it those metrics are 0.
 */
import { readdir, readFile } from 'node:fs/promises'
import { monitorEventLoopDelay, performance } from 'node:perf_hooks'
import type { Metrics } from './registry.js'

/** Milliseconds between two measurements of the delay, and for which the maxima of scrapes are kept. */
const RESOLUTION = 10
const PERIOD = 60_000
const NANOSECONDS = 1_000_000_000
const MICROSECONDS = 1_000_000
/** Bytes of a page of memory, in which `statm` counts. */
const PAGE = 4_096

const percentiles: readonly number[] = [50, 90, 99, 100]

/** Milliseconds since its start in which each thread but the main one was busy, by name. */
type BusyTimes = Readonly<Record<string, () => number>>

/** `stop` ends the measurement of the event loop. */
export function reportProcess(metrics: Metrics, busyTimes: BusyTimes): { readonly stop: () => void } {
  reportUsage(metrics)
  reportFiles(metrics)
  reportThreads(metrics, busyTimes)
  return { stop: reportDelays(metrics) }
}

function reportUsage(metrics: Metrics): void {
  const gaugeOf = (name: string, help: string): ((value: number) => void) => {
    const gauge = metrics.gauge({ name, help })
    return (value) => gauge.set([], value)
  }
  const user = metrics.counter({ name: 'process_cpu_user_seconds_total', help: 'User CPU time of all threads.' })
  const system = metrics.counter({ name: 'process_cpu_system_seconds_total', help: 'System CPU time of all threads.' })
  const both = metrics.counter({ name: 'process_cpu_seconds_total', help: 'User and system CPU time of all threads.' })
  const setStart = gaugeOf('process_start_time_seconds', 'When the process was started, as a Unix time.')
  const setResident = gaugeOf('process_resident_memory_bytes', 'Memory of the process that is in RAM.')
  const setHeap = gaugeOf('nodejs_heap_size_total_bytes', "Size of the main thread's heap.")
  const setHeapUsed = gaugeOf('nodejs_heap_size_used_bytes', "Used part of the main thread's heap.")
  const setExternal = gaugeOf('nodejs_external_memory_bytes', 'Memory of buffers and other objects outside the heap.')
  metrics.onScrape(() => {
    const cpu = process.cpuUsage()
    user.setTotal([], cpu.user / MICROSECONDS)
    system.setTotal([], cpu.system / MICROSECONDS)
    both.setTotal([], (cpu.user + cpu.system) / MICROSECONDS)
    setStart(performance.timeOrigin / 1_000)
    const { rss, heapTotal, heapUsed, external } = process.memoryUsage()
    setResident(rss)
    setHeap(heapTotal)
    setHeapUsed(heapUsed)
    setExternal(external)
  })
}

function reportFiles(metrics: Metrics): void {
  const open = metrics.gauge({ name: 'process_open_fds', help: 'Open file descriptors.' })
  const max = metrics.gauge({ name: 'process_max_fds', help: 'Limit of open file descriptors.' })
  const virtual = metrics.gauge({ name: 'process_virtual_memory_bytes', help: 'Virtual memory of the process.' })
  metrics.onScrape(async () => {
    const [descriptors, limits, sizes] = await Promise.all([
      readdir('/proc/self/fd').catch(() => []),
      readFile('/proc/self/limits', 'latin1').catch(() => ''),
      readFile('/proc/self/statm', 'latin1').catch(() => ''),
    ])
    open.set([], descriptors.length)
    max.set([], Number(/^Max open files +(\d+)/m.exec(limits)?.[1] ?? 0))
    virtual.set([], Number(sizes.split(' ')[0] ?? 0) * PAGE)
  })
}

function reportThreads(metrics: Metrics, busyTimes: BusyTimes): void {
  const busy = metrics.counter({
    name: 'posthorn_thread_busy_seconds_total',
    help: 'Time in which the event loop of a thread was not idle. Its rate is the load of the thread, from 0 to 1.',
    labels: { thread: ['main', ...Object.keys(busyTimes)] },
  })
  metrics.onScrape(() => {
    busy.setTotal(['main'], performance.eventLoopUtilization().active / 1_000)
    for (const [thread, readMilliseconds] of Object.entries(busyTimes)) {
      busy.setTotal([thread], readMilliseconds() / 1_000)
    }
  })
}

/** Returns what ends the measurement. */
function reportDelays(metrics: Metrics): () => void {
  const gauge = metrics.gauge({
    name: 'posthorn_event_loop_delay_seconds',
    help: 'How late timers of the main thread are, over the last full minute, by percentile; 100: the maximum.',
    labels: { percentile: percentiles.map(String) },
  })
  const histogram = monitorEventLoopDelay({ resolution: RESOLUTION })
  histogram.enable()
  let last: readonly number[] | null = null
  const readDelays = (): readonly number[] =>
    percentiles.map((percent) => Math.max(0, histogram.percentile(percent) / NANOSECONDS - RESOLUTION / 1_000))
  const timer = setInterval(() => {
    last = readDelays()
    histogram.reset()
  }, PERIOD).unref()
  metrics.onScrape(() => {
    const delays = last ?? readDelays()
    for (const [at, percentile] of percentiles.entries()) gauge.set([String(percentile)], delays[at] ?? 0)
  })
  return () => {
    clearInterval(timer)
    histogram.disable()
  }
}
