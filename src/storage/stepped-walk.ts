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

/**
 * The place of the last of `offset` rows behind `top`; null: there are not as many. `skip` finds
 * the row that comes behind `place` and `count` more rows.
 */
export async function seekOffset<Position>(
  top: Position,
  offset: number,
  skip: (place: Position, count: number) => Position | undefined,
): Promise<Position | null> {
  let place = top
  for (let left = offset; left > 0; left -= INDEX_STEP) {
    if (left < offset) await waitForStep()
    const next = skip(place, Math.min(left, INDEX_STEP) - 1)
    if (next === undefined) return null
    place = next
  }
  return place
}
