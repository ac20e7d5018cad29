/**
 * Says how far the times of rows follow the order of their numbers, such as `seq` of events.
 *
 * SQLite has one writer, which numbers rows in the order of their commits. PostgreSQL numbers them as they are inserted,
 * by several connections at once, so a row may have a smaller number than one that is a little older.
 */
import { pickByEngine } from './engine.js'

/** Returns the most milliseconds by which a row may be older than one with a smaller number. */
export function maxDisorder(): number {
  return pickByEngine({ sqlite: 0, postgres: 60_000 })
}
