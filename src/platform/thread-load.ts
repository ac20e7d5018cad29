/** How busy the event loop of this thread is. */
import { type EventLoopUtilization, performance } from 'node:perf_hooks'

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
