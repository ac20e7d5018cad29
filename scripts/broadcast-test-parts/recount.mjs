// Counts a broadcast anew from its emails and compares that with what the API says of it.
import Database from 'better-sqlite3'

/** Returns what differs. */
export function compareWithRecount(file, shown, { contacts, gone }) {
  const db = new Database(file, { readonly: true })
  const one = (sql) => db.prepare(sql).pluck().get()
  const count = (statuses) =>
    one(`select count(*) from emails where broadcast_id is not null and status in (${statuses.map((s) => `'${s}'`)})`)
  const delivered = count(['delivered', 'complained'])
  const counted = {
    recipients: one('select count(*) from broadcast_messages'),
    sent: count(['sent', 'delivered', 'bounced', 'complained']),
    delivered,
    bounced: count(['bounced']),
    complained: count(['complained']),
  }
  const share = (part, whole) => (whole === 0 ? 0 : Math.round((part / whole) * 10_000) / 100)
  const expected = [
    ...Object.entries(counted).map(([name, value]) => [name, shown[name], value]),
    ['status', shown.status, 'sent'],
    ['recipients', counted.recipients, contacts],
    ['contacts with a message', one('select count(distinct contact_id) from broadcast_messages'), contacts],
    ['emails', one('select count(*) from emails where broadcast_id is not null'), contacts],
    ['bounced', counted.bounced, gone],
    [
      'suppressions',
      one(`select count(*) from suppressions where reason = 'hard_bounce' and email like 'gone%'`),
      gone,
    ],
    ['all suppressions', one('select count(*) from suppressions'), gone],
    ['delivery_rate', shown.rates.delivery_rate, share(delivered, counted.sent)],
    ['bounce_rate', shown.rates.bounce_rate, share(counted.bounced, counted.sent)],
  ]
  db.close()
  return expected
    .filter(([, found, wanted]) => found !== wanted)
    .map(([what, found, wanted]) => `${what}: ${found}, expected ${wanted}`)
}
