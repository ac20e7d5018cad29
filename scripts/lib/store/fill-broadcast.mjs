// A broadcast that was sent to a tenth as many contacts as there are emails; one in five clicked.
import { AUDIENCES, BROADCAST, idOf } from './values.mjs'

const at = ':end - 86400000 + i'
const id = `'bc-' || ${idOf(at, '(i + 0x300000000000)')}`
const recipient = idOf(at, '(i + 0x310000000000)')
const address = `printf('grace.%d@example%d.test', i, i % 97)`
/** The same of every fifth. */
const fifth = (sql) => sql.replaceAll(/\bi\b/g, '(i * 5)')

export function fillBroadcast(insert, db, { workspace, count, end }) {
  const sent = Math.ceil(count / 10)
  const values = { workspace, end, broadcast: BROADCAST }
  const insertFor = (table, rows, columns) => insert(table, rows, { workspace_id: ':workspace', ...columns }, values)
  insertFor('broadcasts', 1, {
    ...{
      id: ':broadcast',
      name: "'The long one'",
      audience_id: `'${AUDIENCES[0]}'`,
      subject: "'News'",
      status: "'sent'",
    },
    ...{
      sender: `'{"address":"news@a.test","name":"News"}'`,
      reply_to: "'[]'",
      text: "'Hello'",
      cursor: "''",
      ceiling: "''",
    },
    ...{ expanded: '1', version: '1', started_at: at, finished_at: at, created_at: at, updated_at: at },
  })
  insertFor('emails', sent, {
    ...{ id, source: "'rest'", message_id: `'<' || ${id} || '@mail.service.test>'`, envelope_from: "'news@a.test'" },
    ...{ from_email: "'news@a.test'", from_name: "'News'", to_emails: `json_array(${address})`, cc_emails: "'[]'" },
    ...{ bcc_emails: "'[]'", reply_to: "'[]'", subject: "'News'", tags: "'[]'", track_opens: '1', track_clicks: '1' },
    ...{ has_copies: '0', priority: "'low'", size: '900', smtputf8: '0', status: "'delivered'", created_at: at },
    ...{
      delivered_at: at,
      clicked_at: `case when i % 5 = 0 then ${at} end`,
      from_domain: "'a.test'",
      broadcast_id: ':broadcast',
    },
  })
  insertFor('recipients', sent, {
    ...{ id: recipient, email_id: id, address, domain: "printf('example%d.test', i % 97)", status: "'delivered'" },
    ...{ attempts: '1', created_at: at, delivered_at: at, settled_at: at },
  })
  insertFor('broadcast_messages', sent, {
    ...{ email_id: id, recipient_id: recipient, broadcast_id: ':broadcast', contact_id: "printf('contact-%d', i)" },
    ...{ address, created_at: at },
  })
  insertFor('events', Math.ceil(sent / 5), {
    ...{ id: `'evt_' || ${idOf(at, '(i + 0x320000000000)')}`, type: "'email.clicked'", recipient: fifth(address) },
    email_id: fifth(id),
    data: `json_object('broadcast_id', :broadcast, 'machine', json('false'), 'url', printf('https://example.test/news/%d', i % 300))`,
    created_at: at,
  })
  db.prepare(`insert into broadcast_counts (broadcast_id, workspace_id, recipients, delivered, unique_clicks)
    values (?, ?, ?, ?, ?)`).run(BROADCAST, workspace, sent, sent, Math.ceil(sent / 5))
}
