/**
 * Reads that walk over many rows, in steps that block the event loop for about a millisecond each.
 *
 * However many walks are under way, one turn of the event loop runs one step of one walk: ten concurrent deep
 * pages slow down each other and nothing else.
 */
import { setImmediate as nextTurn } from 'node:timers/promises'

/** Maximum of index entries that one read walks over. */
export const INDEX_STEP = 5_000
/** Maximum of table rows that one read fetches on this thread. Each row costs a separate search. */
export const ROW_STEP = 250
/** Maximum of table rows that one read compares on a thread, to which each read is a message. */
export const THREAD_STEP = 5_000

let lastStep: Promise<void> = Promise.resolve()

/** Resolves when the caller's next step may run. */
export function waitForStep(): Promise<void> {
  lastStep = lastStep.then(() => nextTurn())
  return lastStep
}
