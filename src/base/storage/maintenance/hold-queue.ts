/**
 * Holds all entries of a restored queue: what was sent after the backup is not known to it, and would be sent again.
 */
import type SQLite from 'better-sqlite3'
import { HOLD } from '../tables/hold.js'

/** `waits_for` of such an entry has this text until it is released. */
export const RESTORED = 'posthorn queue release: it was restored, and may have been sent since the backup'

/**
 * Returns how many entries were held. Scheduled entries are among them, and so are those of hold rules, which may have
 * ended since. `db` may be of any version.
 *
 * Leases are those of a process that is gone. What was being attempted is due at `now`, so that it goes out as soon as it
 * is released, and not at the end of its lease.
 */
export function holdRestoredQueue(db: SQLite.Database, now: number): number {
  const columns = db.prepare<[], string>(`select name from pragma_table_info('queue')`).pluck().all()
  if (!columns.includes('held')) return 0
  const reason = columns.includes('waits_for') ? ', waits_for = :reason' : ''
  const rule = columns.includes('hold_rule') ? ', hold_rule = null' : ''
  const hold = db.prepare(`update queue set held = ${HOLD.byOperator}, leased = 0,
    next_attempt_at = case leased when 1 then :now else next_attempt_at end${reason}${rule}
    where held in (${HOLD.none}, ${HOLD.byRule})`)
  return hold.run(reason === '' ? { now } : { now, reason: RESTORED }).changes
}
