// Whether each contact of the broadcast has one email, which arrived, and whether its counts are those of its emails.
import Database from 'better-sqlite3'

/** `arrivals`: by contact, how often its message came to the sink. */
export function balanceBroadcast(file, { broadcast, contacts, arrivals }) {
  const database = new Database(file, { readonly: true })
  const one = (sql) => database.prepare(sql).pluck().get()
  const emails = one('select count(*) from emails where broadcast_id is not null')
  const reached = one('select count(distinct contact_id) from broadcast_messages')
  const delivered = one(`select count(*) from emails where broadcast_id is not null and status = 'delivered'`)
  database.close()
  const again = [...arrivals.values()].filter((times) => times > 1).length
  const counts = [emails, reached, arrivals.size, delivered, broadcast.recipients, broadcast.delivered]
  return {
    good: broadcast.status === 'sent' && counts.every((count) => count === contacts),
    line: `broadcast ${broadcast.status}: contacts ${contacts}, emails ${emails}, of so many contacts ${reached}, arrived ${arrivals.size}, duplicated ${again}, delivered ${broadcast.delivered}`,
  }
}
