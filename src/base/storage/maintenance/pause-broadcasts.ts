/**
 * Pauses the broadcasts of a restored backup: what they have sent since the backup is not in it, so going on by themselves
 * would send it again. Those whose time came meanwhile are paused at their first contact.
 */
import type SQLite from 'better-sqlite3'

const NOTE = 'restored from a backup: contacts that got their message after the backup get it again'

/** Returns how many were paused. `db`: of any version. */
export function pauseRestoredBroadcasts(db: SQLite.Database, now: number): number {
  const table = db.prepare(`select 1 from sqlite_schema where type = 'table' and name = 'broadcasts'`).get()
  if (table === undefined) return 0
  const begin = db.prepare(
    `update broadcasts set status = 'sending', started_at = :now, ceiling = coalesce((select max(c.id) from contacts as c
       where c.workspace_id = broadcasts.workspace_id and c.audience_id = broadcasts.audience_id), '')
     where status = 'scheduled' and scheduled_for <= :now`,
  )
  const pause = db.prepare(
    `update broadcasts set status = 'paused', waits_until = null, note = :note, version = version + 1, updated_at = :now
     where status = 'sending'`,
  )
  return db.transaction(() => {
    begin.run({ now })
    return pause.run({ now, note: NOTE }).changes
  })()
}
