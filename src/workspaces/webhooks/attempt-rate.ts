/**
 * Decides how many attempts begin in a tenth of a second, by the load of the main thread. Pure.
 *
 * Mail goes first: an event that waits is safe in the log, and a message that waits keeps its sender waiting. At any
 * load at least 200 events a second leave, so that no webhook starves.
 */

/** From this load on, 1,000 attempts begin in a second. */
const BUSY_LOAD = 0.5
const BUSY_ATTEMPTS = 100
/**
 * From this load on, 200 attempts begin in a second. A relay at its full rate has a load of 0.7 to 1, and a backlog
 * of events alone has 0.1 to 0.2.
 */
const FULL_LOAD = 0.7
const FULL_ATTEMPTS = 20

/** `load` is the share of the time in which the thread was not idle. */
export function attemptsAtLoad(load: number): number {
  if (load < BUSY_LOAD) return Number.POSITIVE_INFINITY
  return load < FULL_LOAD ? BUSY_ATTEMPTS : FULL_ATTEMPTS
}
