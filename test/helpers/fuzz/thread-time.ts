/** The time that this thread has used the processor, in milliseconds: a busy machine does not change it. */
import { readFileSync } from 'node:fs'

const NANOSECONDS = 1_000_000
const SOURCE = '/proc/thread-self/schedstat'
let isKnown = true

/** The time of the clock where the system does not say. */
export function threadTime(): number {
  if (!isKnown) return performance.now()
  try {
    return Number(readFileSync(SOURCE, 'latin1').split(' ')[0]) / NANOSECONDS
  } catch {
    isKnown = false
    return performance.now()
  }
}
