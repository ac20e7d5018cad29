// What is in a store: numbers of rows, and some ids for requests that name one.
import SQLite from 'better-sqlite3'
import { AUDIENCES } from '../../lib/store/values.mjs'

export function knownOf(file, workspaceId) {
  const db = new SQLite(file, { readonly: true })
  const count = (rows, value = workspaceId) => db.prepare(`select count(*) from ${rows} = ?`).pluck().get(value)
  const tables = { emails: 'emails', contacts: 'contacts', suppressions: 'suppressions' }
  const all = { ...tables, inbound: 'inbound_emails', events: 'events' }
  const counts = {
    ...Object.fromEntries(Object.entries(all).map(([name, table]) => [name, count(`${table} where workspace_id`)])),
    bounced: count(`emails where status = 'bounced' and workspace_id`),
    'in an audience': count('contacts where audience_id', AUDIENCES[0]),
  }
  const someOf = (table) =>
    db.prepare(`select id from ${table} where workspace_id = ? order by random() limit 1000`).pluck().all(workspaceId)
  const some = Object.fromEntries(Object.keys(tables).map((table) => [table, someOf(table)]))
  db.close()
  return { ...some, counts }
}
