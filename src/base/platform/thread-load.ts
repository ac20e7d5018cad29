/** Measures how busy the event loops of threads are. */
import { type EventLoopUtilization, performance } from 'node:perf_hooks'
import type { Worker } from 'node:worker_threads'

/** Each call returns the share of the time since the last call in which the thread was not idle, from 0 to 1. */
export function createLoadMeter(): () => number {
  let last: EventLoopUtilization = performance.eventLoopUtilization()
  return () => {
    const now = performance.eventLoopUtilization()
    const { utilization } = performance.eventLoopUtilization(now, last)
    last = now
    return utilization
  }
}

/** Milliseconds in which the event loop of another thread was not idle, since its start, or 0 if it does not run. */
export function busyTimeOf(worker: Worker | null | undefined): number {
  return worker?.performance.eventLoopUtilization().active ?? 0
}
