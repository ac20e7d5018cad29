// Fills the database of a daemon as after months of use, by SQL: node fill.mjs FILE WORKSPACE OTHER COUNT END, with as
// many emails and contacts as COUNT, the newest at END. In a process of its own, whose memory goes with it. Indexes and
// triggers of the long tables are made after their rows.
import { spawnSync } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import SQLite from 'better-sqlite3'
import { fillBroadcast } from './fill-broadcast.mjs'
import { fillContacts, fillLists } from './fill-lists.mjs'
import { countMail, fillMail } from './fill-mail.mjs'
import { DAY, DAYS } from './values.mjs'

const CHUNK = 100_000

/** Rows of these are inserted without what the schema does beside. */
const LONG = ['emails', 'recipients', 'events', 'attempts', 'contacts', 'queue', 'inbound_emails', 'webhook_deliveries']

/** Inserts `count` rows: `select` is SQL with `i` from 0 to `count` - 1, and named values. */
function inserter(db) {
  return (table, count, columns, values = {}) => {
    const names = Object.keys(columns)
    const insert = db.prepare(`with recursive n (i) as (select :from union all select i + 1 from n where i + 1 < :to)
      insert into ${table} (${names.join(', ')}) select ${names.map((name) => columns[name]).join(', ')} from n`)
    for (let from = 0; from < count; from += CHUNK) {
      insert.run({ ...values, from, to: Math.min(from + CHUNK, count) })
    }
  }
}

function dropObjects(db) {
  const marks = LONG.map(() => '?').join(', ')
  const objects = db
    .prepare(
      `select type, name, sql from sqlite_schema where type in ('index', 'trigger') and sql is not null
        and tbl_name in (${marks})`,
    )
    .all(...LONG)
  for (const { type, name } of objects) db.exec(`drop ${type} ${name}`)
  return objects
}

function fill([file, workspace, other, count, end]) {
  const db = new SQLite(file)
  db.pragma('synchronous = off')
  db.pragma('journal_mode = off')
  db.pragma('cache_size = -400000')
  const objects = dropObjects(db)
  const insert = inserter(db)
  const size = { count: Number(count), end: Number(end), begin: Number(end) - DAYS * DAY }
  db.exec('begin')
  fillMail(insert, { ...size, workspace })
  fillMail(insert, { ...size, workspace: other, count: Math.ceil(size.count / 20), first: 0xf00000000 })
  fillContacts(insert, { ...size, workspace })
  fillBroadcast(insert, db, { ...size, workspace })
  fillLists(insert, { ...size, workspace })
  countMail(db)
  db.exec('commit')
  for (const { sql } of objects) db.exec(sql)
  db.exec(`insert into contact_counts (workspace_id, list, count, subscribed)
    select workspace_id, 'all', count(*), sum(subscribed) from contacts group by 1
    union all select workspace_id, audience_id, count(*), sum(subscribed) from contacts where audience_id is not null
      group by 1, 2`)
  db.pragma('journal_mode = wal')
  db.close()
}

/** Returns when it is filled. `workspace` has the rows, `other` a twentieth as many emails. */
export function fillStore(file, { workspace, other, count, end }) {
  const words = [fileURLToPath(import.meta.url), file, workspace, other, String(count), String(end)]
  const { status } = spawnSync(process.execPath, words, { stdio: 'inherit' })
  if (status !== 0) throw new Error('the database cannot be filled')
}

if (process.argv[1] === fileURLToPath(import.meta.url)) fill(process.argv.slice(2))
