/**
 * Says how far the times of rows follow the order of their numbers, such as `seq` of events, and gives events their times.
 *
 * SQLite has one writer, which numbers rows in the order of their commits. PostgreSQL numbers them as they are inserted,
 * by several connections at once, so a row may have a smaller number than one that is a little older.
 */
import { type RawBuilder, sql } from 'kysely'
import { greatestOf, integerOf } from './dialect.js'
import { pickByEngine } from './engine.js'

/** Returns the most milliseconds by which a row may be older than one with a smaller number. */
export function maxDisorder(): number {
  return pickByEngine({ sqlite: 0, postgres: 60_000 })
}

/** An event that is older by more milliseconds is not late: the clock was ahead when the event before it was stored. */
const MAX_LATENESS = 86_400_000

/**
 * The time of a new event in the log: `at`, or the time of the last one if that is later. PostgreSQL has several writers,
 * whose clocks may differ, and goes by the clock of the server (`postgres/time-in-log.ts`).
 */
export function timeInLog(at: number): RawBuilder<number> {
  const moment = integerOf(at)
  return pickByEngine({
    sqlite: sql<number>`coalesce((select ${greatestOf(sql.ref('created_at'), moment)} from events
      where seq = (select max(seq) from events) and created_at <= ${moment} + ${sql.lit(MAX_LATENESS)}), ${moment})`,
    postgres: sql<number>`time_in_log(${moment})`,
  })
}
