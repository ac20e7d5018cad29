/** Tells what reads and writes need of the writers that add to totals at once: see `Slot`. */
import { pickByEngine } from './engine.js'

/** Bounds reads that add up the rows of all slots: no installation has had more writers. */
export function maxSlots(): number {
  return pickByEngine({ sqlite: 1, postgres: 256 })
}

/** Commits of several writers may be under way at once, so those that decide by sums are made in turn (`Write.turn`). */
export function hasSeveralWriters(): boolean {
  return pickByEngine({ sqlite: false, postgres: true })
}
