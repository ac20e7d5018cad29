// What the other pages list: contacts in audiences, suppressions, inbound mail, deliveries of a webhook, the audit log,
// templates, exports, imports, keys and workspaces.
import { AUDIENCES, idOf, WEBHOOK } from './values.mjs'

const names = ['ada', 'alan', 'barbara', 'donald', 'edsger', 'frances', 'grace', 'john', 'leslie', 'tony']
const name = `case i % 10 ${names.map((name, place) => `when ${place} then '${name}'`).join(' ')} end`
const at = ':begin + cast((:end - :begin) / :count as integer) * i'

/** Most are in the first audience, some in two others, a hundred, the last of the alphabet, in the last one. */
export function fillContacts(insert, { workspace, count, begin, end }) {
  const values = { workspace, count, begin, end }
  const small = `i >= :count - 100`
  const key = `printf('%s.%d@example%d.test', case when ${small} then 'zz' else ${name} end, i, i % 97)`
  insert(
    'contacts',
    count,
    {
      ...{ id: idOf(at, '(i + 0xc00000000000)'), workspace_id: ':workspace', email: key, email_key: key },
      audience_id: `case when ${small} then '${AUDIENCES[3]}' when i % 10 < 6 then '${AUDIENCES[0]}'
      when i % 10 < 9 then '${AUDIENCES[1]}' else null end`,
      ...{
        first_name: name,
        last_name: "'Example'",
        subscribed: 'i % 10 <> 3',
        metadata: "'{}'",
        created_at: at,
        updated_at: at,
      },
    },
    values,
  )
  const insertAudience = (id, place) =>
    insert(
      'audiences',
      1,
      { id: ':id', workspace_id: ':workspace', name: ':name', created_at: ':begin', updated_at: ':begin' },
      { id, workspace, name: `Audience ${place + 1}`, begin },
    )
  AUDIENCES.forEach(insertAudience)
}

export function fillLists(insert, { workspace, count, begin, end }) {
  const tenth = Math.ceil(count / 10)
  const insertFor = (table, rows, columns) =>
    insert(table, rows, { workspace_id: ':workspace', ...columns }, { workspace, count: rows, begin, end })
  insertFor('suppressions', tenth, {
    ...{
      id: idOf(at, '(i + 0xd00000000000)'),
      email: `printf('%s.%d@gone%d.test', ${name}, i, i % 89)`,
      metadata: "'{}'",
    },
    reason: "case when i % 1000 = 3 then 'manual' when i % 10 = 1 then 'spam_complaint' else 'hard_bounce' end",
    created_at: at,
  })
  insertFor('inbound_emails', tenth, inboundColumns)
  insertFor('webhooks', 1, {
    ...{
      id: `'${WEBHOOK}'`,
      url: "'https://127.0.0.1:9/hook'",
      events: `'["email.delivered"]'`,
      enabled: '0',
      secret: "'whsec_x'",
      format: "'posthorn'",
      content: "'none'",
    },
    ...{ event_cursor: `(select max(seq) from events)`, created_at: ':begin', updated_at: ':begin' },
  })
  insertFor('webhook_deliveries', tenth, {
    ...{
      id: idOf(at, '(i + 0xe00000000000)'),
      webhook_id: `'${WEBHOOK}'`,
      event_seq: 'i + 1',
      event_id: "'evt_' || i",
    },
    ...{ type: "'email.delivered'", status: "case when i % 50 = 7 then 'failed' else 'delivered' end", attempts: '1' },
    ...{ response_status: '200', created_at: at, delivered_at: at },
  })
  insertFor('audit_log', Math.ceil(count / 50), {
    ...{
      id: idOf(at, '(i + 0x900000000000)'),
      at,
      actor: `(select user_id from members where workspace_id = :workspace limit 1)`,
    },
    ...{ action: "'suppression.created'", target: `printf('bob%d@gone.test', i)`, details: "'{}'" },
  })
  fillShortLists(insertFor, insert, { begin, end })
}

function fillShortLists(insertFor, insert, { begin, end }) {
  const text = `printf('Hello %d {{name}}', i)`
  insertFor('templates', 200, {
    ...{ id: idOf(at, '(i + 0x800000000000)'), name: "printf('Template %d', i)", subject: text, html: text, text },
    ...{ variables: `'["name"]'`, size: '100', version: '1', created_at: at, updated_at: at },
  })
  insertFor('exports', 50, {
    ...{
      id: idOf(at, '(i + 0x700000000000)'),
      type: "'email_logs'",
      status: "'failed'",
      from_at: ':begin',
      to_at: ':end',
    },
    ...{ rows: '0', bytes: '0', progress: '0', error: "'the disk is full'", created_at: at, finished_at: at },
  })
  insertFor('broadcasts', 100, {
    ...{ id: idOf(at, '(i + 0x600000000000)'), name: "printf('Broadcast %d', i)", audience_id: `'${AUDIENCES[0]}'` },
    ...{ sender: `'{"address":"news@a.test","name":"News"}'`, reply_to: "'[]'", subject: "'News'", status: "'draft'" },
    ...{ cursor: "''", ceiling: "''", expanded: '0', version: '1', created_at: at, updated_at: at, text: "'Hello'" },
  })
  const workspaces = {
    ...{
      id: `'ws_' || ${idOf(at, '(i + 0x500000000000)')}`,
      name: "printf('Team %d', i)",
      slug: "printf('team-%d', i)",
    },
    ...{ plan: "'unlimited'", created_at: ':end + i' },
  }
  insert('workspaces', 1_000, workspaces, { count: 1_000, begin, end })
}

const sender = `printf('friend%d@elsewhere%d.test', i % 3000, i % 50)`
const inboundColumns = {
  ...{
    id: idOf(at, '(i + 0x400000000000)'),
    kind: "'mail'",
    status: "'processed'",
    domain: "'a.test'",
    envelope_from: sender,
  },
  ...{
    envelope_to: `'["support@a.test"]'`,
    client_address: "'192.0.2.9'",
    helo: "'elsewhere.test'",
    spf_result: "'pass'",
  },
  ...{ dkim_result: "'pass'", dmarc_result: "'pass'", authentication: "'{}'", arrival: "'{}'", reference_ids: "'[]'" },
  ...{
    from_email: sender,
    from_key: sender,
    from_name: "'Friend'",
    to_emails: `'["support@a.test"]'`,
    cc_emails: "'[]'",
  },
  ...{ subject: "printf('A question %d', i)", has_html: '0', has_text: '1', attachment_count: '0', size: '900' },
  ...{
    spam_status: "case when i % 500 = 3 then 'spam' when i % 50 = 4 then 'suspicious' else 'clean' end",
    spam_score: '120',
  },
  ...{ spam_report: "'[]'", received_at: at, processed_at: at },
}
