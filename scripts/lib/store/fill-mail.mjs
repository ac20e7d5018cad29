// Emails of 89 days with recipients, attempts, events, opens and clicks; the newest 200 with their bytes; and the
// queue.
import { DOMAINS, idOf } from './values.mjs'

const QUARTER = 900_000
const RAW = 200

const at = ':begin + cast((:end - :begin) / :count as integer) * i'
const number = '(i + :first)'
const id = idOf(at, number)
const address = `printf('%s%d@example%d.test', case i % 4 when 0 then 'ada' when 1 then 'bob' when 2 then 'eve' else 'zoe' end, i, i % 97)`
const domain = `case when i % 99991 = 7 then '${DOMAINS[4]}' when i % 10 < 6 then 'a.test' when i % 10 < 8 then '${DOMAINS[1]}'
  when i % 10 = 8 then '${DOMAINS[2]}' else '${DOMAINS[3]}' end`
const sender = `printf('app@%s', ${domain})`
const subject = `case when i % 99991 = 7 then printf('A rare subject %d', i) when i % 5 = 0 then printf('Your receipt %d', i)
  else printf('Your order %d is on its way', i) end`
const tags = `case when i % 99991 = 7 then '[{"name":"campaign","value":"rare"}]'
  when i % 3 = 0 then '[{"name":"campaign","value":"spring"}]' else '[]' end`
/** The newest 5 % wait. */
const waits = 'i >= :count - :count / 20'
const status = `case when ${waits} then 'queued' when i % 33 = 5 then 'bounced' when i % 301 = 8 then 'failed'
  when i % 20011 = 9 then 'complained' else 'delivered' end`
const delivered = `case when ${status} = 'delivered' then ${at} + 900 end`
const opened = `case when ${status} = 'delivered' and i % 4 = 0 then ${at} + 60000 end`
const payload = `json_object('email_id', ${id}, 'from', ${sender}, 'to', ${address}, 'subject', ${subject}, 'tags', json_object())`

export function fillMail(insert, { workspace, count, begin, end, first = 0 }) {
  const values = { workspace, count, begin, end, first }
  const insertFor = (table, columns, rows = count) =>
    insert(table, rows, { workspace_id: ':workspace', ...columns }, values)
  insertFor('emails', {
    ...{ id, source: "'rest'", message_id: `'<' || ${id} || '@mail.service.test>'`, envelope_from: sender },
    ...{ from_email: sender, from_name: "'Example'", to_emails: `json_array(${address})`, cc_emails: "'[]'" },
    ...{ bcc_emails: "'[]'", reply_to: "'[]'", subject, tags, track_opens: '1', track_clicks: '1', has_copies: '0' },
    ...{ priority: "'normal'", size: '4096', smtputf8: '0', status, created_at: at, sent_at: delivered },
    ...{ delivered_at: delivered, opened_at: opened, from_domain: domain },
  })
  insertFor('recipients', {
    ...{
      id: idOf(at, `(${number} + 0xa00000000000)`),
      email_id: id,
      address,
      domain: "printf('example%d.test', i % 97)",
    },
    ...{ status: `case when ${status} = 'complained' then 'delivered' else ${status} end`, attempts: '1' },
    ...{ last_response: "'250 2.0.0 Ok: queued'", mx: "'mx.example.test'", created_at: at, delivered_at: delivered },
    settled_at: `case when ${waits} then null else ${at} + 900 end`,
  })
  insertFor('attempts', {
    ...{ email_id: id, recipient_id: idOf(at, `(${number} + 0xa00000000000)`), number: '1', at: `${at} + 400` },
    ...{ duration: '300', mx: "'mx.example.test'", address: "'192.0.2.7'", tls: "'TLSv1.3'", reached: '1' },
    outcome: `case when ${waits} then 'deferred' when ${status} in ('bounced', 'failed') then 'bounced' else 'delivered' end`,
    response: `case when ${waits} then '451 4.7.1 try again later' else '250 2.0.0 Ok: queued' end`,
  })
  insertEvents(insertFor, count)
  insertFor(
    'links',
    {
      ...{
        id: idOf(at, `(${number} + 0xb00000000000)`),
        email_id: id,
        url: "printf('https://example.test/%d', i % 5000)",
      },
      ...{ created_at: at, clicks: 'i % 3 = 0' },
    },
    Math.ceil(count / 10),
  )
  insertFor('queue', queueColumns(count), Math.floor(count / 20))
}

/** Those of acceptance, of the outcome, of opens and of clicks. */
function insertEvents(insertFor, count) {
  const common = { email_id: id, recipient: address }
  const eventId = (kind) => `'evt_' || ${idOf(at, `(${number} + 0x${kind}00000000000)`)}`
  insertFor('events', { ...common, id: eventId('1'), type: "'email.queued'", created_at: at, data: payload })
  const outcome = `case when ${waits} then 'email.deferred' when ${status} = 'delivered' then 'email.delivered'
    when ${status} = 'complained' then 'email.complained' else 'email.bounced' end`
  insertFor('events', { ...common, id: eventId('2'), type: outcome, created_at: `${at} + 900`, data: payload })
  const request = `json_object('email_id', ${id}, 'to', ${address}, 'user_agent', 'Mozilla/5.0', 'ip_address', '192.0.2.1',
    'machine', json('false'), 'url', printf('https://example.test/%d', i % 5000), 'link', 'https://example.test/')`
  for (const [type, kind] of [
    ['email.opened', '3'],
    ['email.clicked', '4'],
  ]) {
    const columns = { ...common, id: eventId(kind), type: `'${type}'`, created_at: `${at} + 60000`, data: request }
    insertFor('events', columns, Math.ceil(count / 10))
  }
}

/** The recipients of the newest emails: deferred, scheduled, held, and some whose host is down. */
function queueColumns(count) {
  const place = `(:count - ${Math.floor(count / 20)} + i)`
  const replace = (sql) => sql.replaceAll(/\bi\b/g, place)
  return {
    ...{ id: replace(idOf(at, `(${number} + 0xa00000000000)`)), email_id: replace(id), recipient: replace(address) },
    ...{
      domain: `printf('example%d.test', ${place} % 97)`,
      priority: '1',
      attempts: 'i % 4',
      leased: '0',
      noticed: '0',
    },
    ...{
      enqueued_at: replace(at),
      next_attempt_at: `:end + 3600000 + i % 1000 * 60000`,
      held: '(i % 20 = 3) + 2 * (i % 50 = 4)',
    },
    last_response: `case i % 3 when 0 then null when 1 then '451 4.7.1 try again later' else printf('450 4.2.2 mailbox %d full', i) end`,
    waits_for: `case when i % 11 = 0 then printf('mx.example%d.test', i % 97) end`,
  }
}

/** What triggers keep: totals, roll-ups of metrics; and the bytes of the newest emails. */
export function countMail(db) {
  db.exec(`insert into email_counts (workspace_id, status, count) select workspace_id, status, count(*) from emails
    where broadcast_id is null group by 1, 2`)
  const counted = ['queued', 'delivered', 'bounced', 'failed', 'complained']
  const tag = `coalesce(json_extract(tags, '$[0].name') || ':' || json_extract(tags, '$[0].value'), '')`
  for (const [domain, tagged] of [
    ["''", "''"],
    ['from_domain', "''"],
    ["''", tag],
    ['from_domain', tag],
  ]) {
    db.exec(`insert into email_metrics (workspace_id, domain, tag, bucket, ${counted.join(', ')}, unique_opens, opens, clicks)
      select workspace_id, ${domain}, ${tagged}, created_at - created_at % ${QUARTER},
        ${counted.map((status) => `sum(status = '${status}')`).join(', ')}, count(opened_at), count(opened_at), count(opened_at) / 4
      from emails ${tagged === tag ? "where tags <> '[]'" : ''} group by 1, 2, 3, 4`)
  }
  db.exec(`insert into link_metrics (workspace_id, domain, day, url, clicks, unique_clicks, first_clicked_at, last_clicked_at)
    select workspace_id, '', created_at - created_at % 86400000, url, count(*), count(*), min(created_at), max(created_at)
    from links group by 1, 3, 4`)
  const raw = (table) => `'From: app@a.test' || char(13, 10) || 'Subject: Your receipt' || char(13, 10) ||
    'Content-Type: text/html' || char(13, 10, 13, 10) || '<p>Thank you for ${table}.</p>' || char(13, 10)`
  db.exec(`insert into raw_messages (email_id, workspace_id, created_at, raw)
    select id, workspace_id, created_at, cast(${raw('your order')} as blob) from emails order by created_at desc limit ${RAW}`)
}
