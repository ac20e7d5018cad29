// Emails of one workspace with one recipient each, made by SQL, and the indexes after them. In a process of its own,
// whose memory goes with it: node fill.mjs FILE WORKSPACE COUNT BEGIN STEP, where the first email has the time BEGIN
// and each one is STEP milliseconds later than the one before it.
import SQLite from 'better-sqlite3'

const CHUNK = 500_000
const [file, workspaceId, count, begin, step] = process.argv.slice(2)

const id = `printf('%08x-%04x-7000-8000-%012d', i >> 16, i & 65535, i)`
const at = `${Number(begin)} + i * ${Number(step)}`

const insertEmails = `
  with recursive n (i) as (select ? union all select i + 1 from n where i < ?)
  insert into emails (id, workspace_id, source, message_id, envelope_from, from_email, from_name, to_emails, cc_emails,
    bcc_emails, reply_to, subject, tags, track_opens, track_clicks, has_copies, priority, size, smtputf8, status,
    created_at, sent_at, delivered_at, opened_at, from_domain)
  select ${id}, ?, 'rest', '<' || ${id} || '@mail.service.test>', 'app@a.test', 'app@a.test', 'App',
    printf('["r%d@example%d.test"]', i, i % 97), '[]', '[]', '[]',
    case i % 10 when 0 then printf('=Your "order" %d, shipped', i) else printf('Your order %d is on its way', i) end,
    case i % 3 when 0 then '[{"name":"campaign","value":"spring"}]' else '[]' end, 1, 1, 0, 'normal', 4096, 0,
    'delivered', ${at}, ${at} + 500, ${at} + 500, case i % 4 when 0 then ${at} + 60000 end, 'a.test'
  from n`

const insertRecipients = `
  with recursive n (i) as (select ? union all select i + 1 from n where i < ?)
  insert into recipients (id, email_id, workspace_id, address, domain, status, attempts, last_response, mx, created_at,
    delivered_at, settled_at)
  select 'r' || ${id}, ${id}, ?, printf('r%d@example%d.test', i, i % 97), printf('example%d.test', i % 97), 'delivered', 1,
    '250 2.0.0 Ok: queued', 'mx.example.test', ${at}, ${at} + 500, ${at} + 500
  from n`

/** Of `emails` and `recipients`, without those of keys. */
function dropped(db) {
  const objects = db
    .prepare(
      `select type, name, sql from sqlite_schema where type in ('index', 'trigger') and sql is not null
        and tbl_name in ('emails', 'recipients')`,
    )
    .all()
  for (const { type, name } of objects) db.exec(`drop ${type} ${name}`)
  return objects
}

function fill(file, workspaceId, count) {
  const db = new SQLite(file)
  db.pragma('synchronous = off')
  db.pragma('journal_size_limit = 0')
  db.pragma('cache_size = -400000')
  const objects = dropped(db)
  for (const sql of [insertEmails, insertRecipients]) {
    const insert = db.prepare(sql)
    for (let from = 0; from < count; from += CHUNK) insert.run(from, Math.min(from + CHUNK, count) - 1, workspaceId)
  }
  for (const { sql } of objects) db.exec(sql)
  db.pragma('wal_checkpoint(truncate)')
  db.close()
}

fill(file, workspaceId, Number(count))
