/** Measures what this process uses: memory, threads, and how long its event loop lets others wait. */
import { readdir } from 'node:fs/promises'
import { type ELDHistogram, monitorEventLoopDelay } from 'node:perf_hooks'
import { createLoadMeter } from '../thread-load.js'

/** Milliseconds between two measurements of the delay; what exceeds it is the delay. */
const RESOLUTION = 20
/** Milliseconds that the delays are summed up for. */
const PERIOD = 60_000
const NANOSECONDS = 1_000_000

/** Milliseconds. */
interface Delays {
  readonly p50: number
  readonly p99: number
  readonly max: number
}

interface ProcessState {
  /** Seconds. */
  readonly uptime: number
  /** Bytes in memory, of all threads. */
  readonly rss: number
  /** Bytes of the main thread's heap. */
  readonly heapUsed: number
  /** Null if the system does not say. */
  readonly threads: number | null
  /** Measured over the last full minute, or since the start. */
  readonly delays: Delays
  /** The share of that minute in which the main thread was busy, from 0 to 1. */
  readonly load: number
}

export interface ProcessMeter {
  readonly read: () => Promise<ProcessState>
  readonly stop: () => void
}

export function startProcessMeter(): ProcessMeter {
  const histogram = monitorEventLoopDelay({ resolution: RESOLUTION })
  histogram.enable()
  const readLoad = createLoadMeter()
  let last: Pick<ProcessState, 'delays' | 'load'> | null = null
  const timer = setInterval(() => {
    last = { delays: readDelays(histogram), load: readLoad() }
    histogram.reset()
  }, PERIOD).unref()
  return {
    read: async () => {
      const { rss, heapUsed } = process.memoryUsage()
      const present = last ?? { delays: readDelays(histogram), load: readLoad() }
      return { uptime: process.uptime(), rss, heapUsed, threads: await countThreads(), ...present }
    },
    stop: () => {
      clearInterval(timer)
      histogram.disable()
    },
  }
}

function readDelays(histogram: ELDHistogram): Delays {
  const toDelay = (nanoseconds: number): number =>
    Number.isFinite(nanoseconds) ? Math.max(0, Math.round(nanoseconds / NANOSECONDS - RESOLUTION)) : 0
  return {
    p50: toDelay(histogram.percentile(50)),
    p99: toDelay(histogram.percentile(99)),
    max: toDelay(histogram.max),
  }
}

function countThreads(): Promise<number | null> {
  return readdir('/proc/self/task').then(
    (names) => names.length,
    () => null,
  )
}
