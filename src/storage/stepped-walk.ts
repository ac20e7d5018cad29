/**
 * Reads that have to walk over many rows, in steps that hold up the event loop for about a
 * millisecond each.
 *
 * However many walks are under way, one turn of the event loop runs one step of one of them: ten
 * deep pages at once make each other slower, and nothing else.
 */
import { setImmediate as nextTurn } from 'node:timers/promises'

/** Entries of an index that one read walks over at most. */
export const INDEX_STEP = 5_000
/** Rows of a table that one read looks into at most: each costs a search of its own. */
export const ROW_STEP = 250

let lastStep: Promise<void> = Promise.resolve()

/** Resolves when the next step of a walk may run. */
export function waitForStep(): Promise<void> {
  lastStep = lastStep.then(() => nextTurn())
  return lastStep
}
