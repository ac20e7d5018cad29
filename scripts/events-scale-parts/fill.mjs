// An event log of any size: one workspace in four has most of it, and each email has one recipient,
// who gets several emails. Rows are made by SQL, and the indexes after them.
import SQLite from 'better-sqlite3'

const CHUNK = 500_000

export const BIG_WORKSPACE = 'ws_01a1ff35-3880-7ef5-bbba-0d7e1de2529c'
/** The time of the first event, and the milliseconds from one to the next. */
export const BEGIN = 1_760_000_000_000
export const STEP = 700

/** The address and the email of an event. */
export const recipientOf = (n, count) => `r${((n * 2_654_435_761) % Math.ceil(count / 12)) + 1}@example${n % 97}.test`
export const emailOf = (n) => `${String(n).padStart(8, '0')}-0000-7000-8000-000000000000`

const types = `case i % 3 when 0 then 'email.queued' when 1 then 'email.sent' else
  case when i % 1009 < 2 then 'email.bounced' when i % 1013 < 2 then 'email.opened' else 'email.delivered' end end`

const insertRows = `
  with recursive n (i) as (select ? union all select i + 1 from n where i < ?)
  insert into events (id, workspace_id, type, email_id, recipient, created_at, data)
  select printf('evt_%08x-0000-7000-8000-000000000000', i),
    case when i / 3 % 4 = 3 then printf('ws_%08d', i / 3 % 50) else '${BIG_WORKSPACE}' end,
    ${types},
    printf('%08d-0000-7000-8000-000000000000', i / 3),
    printf('r%d@example%d.test', (i / 3 * 2654435761) % ? + 1, i / 3 % 97),
    ${BEGIN} + i * ${STEP},
    printf('{"email_id":"%08d-0000-7000-8000-000000000000","from":"app@example.com","to":"someone@example.test",' ||
      '"subject":"Your order %d has been shipped","tags":{"campaign":"spring"},"at":"2026-01-01T00:00:00.000Z"}', i / 3, i)
  from n`

/** Fills an empty log with `count` events. */
export function fill(file, count) {
  const db = new SQLite(file)
  db.pragma('synchronous = off')
  const indexes = db
    .prepare(`select name, sql from sqlite_schema where type = 'index' and tbl_name = 'events' and sql is not null`)
    .all()
  for (const { name } of indexes) db.exec(`drop index ${name}`)
  const insert = db.prepare(insertRows)
  for (let from = 0; from < count; from += CHUNK) {
    insert.run(from, Math.min(from + CHUNK, count) - 1, Math.ceil(count / 12))
  }
  for (const { sql } of indexes) db.exec(sql)
  db.pragma('wal_checkpoint(truncate)')
  db.close()
}
