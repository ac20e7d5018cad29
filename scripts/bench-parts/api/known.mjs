// What is in a store: numbers of rows, and some ids for requests that name one.
import SQLite from 'better-sqlite3'
import { AUDIENCES } from '../../lib/store/values.mjs'

const SOME = 1_000

export function knownOf(file, workspaceId) {
  const db = new SQLite(file, { readonly: true })
  const count = (table) => db.prepare(`select count(*) from ${table} where workspace_id = ?`).pluck().get(workspaceId)
  const counts = {
    ...{ emails: count('emails'), contacts: count('contacts'), suppressions: count('suppressions') },
    ...{ inbound: count('inbound_emails'), events: count('events') },
    bounced: db
      .prepare(`select count(*) from emails where workspace_id = ? and status = 'bounced'`)
      .pluck()
      .get(workspaceId),
    'in an audience': db.prepare('select count(*) from contacts where audience_id = ?').pluck().get(AUDIENCES[0]),
  }
  const some = (table, rows) =>
    db
      .prepare(`select id from (select id, row_number() over () as n from ${table} where workspace_id = ?)
        where n % ? = 0`)
      .pluck()
      .all(workspaceId, Math.max(1, Math.floor(rows / SOME)))
  const known = {
    emails: some('emails', counts.emails),
    contacts: some('contacts', counts.contacts),
    suppressions: some('suppressions', counts.suppressions),
  }
  db.close()
  return { ...known, counts }
}
