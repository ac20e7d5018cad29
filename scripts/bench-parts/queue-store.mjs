// A queue of very many waiting messages, made in few commits before the daemon starts: one email as the code enqueues
// it, and copies of its rows.
import SQLite from 'better-sqlite3'
import { openDatabase } from '../../dist/src/base/storage/open.js'
import { bulkEmail } from '../../dist/test/helpers/database/bulk.js'

/** Rows of one commit. */
const PORTION = 50_000
/** Milliseconds for which they have been due. */
const AGE = 600_000
/** What differs between two copies, as SQL over their number `i` and `domain`. */
const EMAIL = `printf('01900000-0000-7000-8000-%012x', i)`
const ENTRY = `printf('01900000-0000-7000-9000-%012x', i)`
const ADDRESS = `'user' || i || '@' || domain_of(i)`
const AT = 'i / 10'
const tables = {
  emails: { id: EMAIL, to_emails: `json_array(${ADDRESS})`, created_at: `created_at + ${AT}` },
  raw_messages: { email_id: EMAIL },
  recipients: { id: ENTRY, email_id: EMAIL, address: ADDRESS, domain: 'domain_of(i)' },
  queue: {
    ...{ id: ENTRY, email_id: EMAIL, recipient: ADDRESS, domain: 'domain_of(i)' },
    ...{ enqueued_at: `enqueued_at + ${AT}`, next_attempt_at: `next_attempt_at + ${AT}` },
  },
  events: { id: `printf('01900000-0000-7000-a000-%012x', i)`, email_id: EMAIL, recipient: ADDRESS },
}

/** `domainOf`: the recipient domain of each, by its number. */
export async function fillQueue(file, workspaceId, { count, domainOf }) {
  const emailId = await insertFirst(file, workspaceId, domainOf(0))
  const db = new SQLite(file)
  // If the machine crashes, the run has failed: nothing here has to be durable.
  db.pragma('synchronous = OFF')
  db.pragma('cache_size = -200000')
  db.function('domain_of', { deterministic: true }, (n) => domainOf(n))
  const copies = Object.entries(tables).map(([table, changes]) => prepareCopy(db, table, changes, emailId))
  const copy = db.transaction((from, to) => {
    for (const statement of copies) statement.run({ from, to })
  })
  for (let from = 1; from < count; from += PORTION) copy(from, Math.min(count, from + PORTION) - 1)
  db.pragma('wal_checkpoint(TRUNCATE)')
  db.close()
}

async function insertFirst(file, workspaceId, domain) {
  const to = `user0@${domain}`
  const raw = Buffer.from(`From: app@bench.test\r\nTo: ${to}\r\nSubject: waits\r\n\r\nA line of text.\r\n`)
  const { email, writes } = bulkEmail({ workspaceId, from: 'app@bench.test', to, at: Date.now() - AGE, raw })
  const database = await openDatabase({ file })
  await database.commit(writes)
  await database.close()
  return email.id
}

/** Inserts copies of the first email's row; a table that numbers its rows itself goes on doing so. */
function prepareCopy(db, table, changes, emailId) {
  const columns = db
    .pragma(`table_info(${table})`)
    .map(({ name }) => name)
    .filter((name) => name !== 'seq')
  const key = table === 'emails' ? 'id' : 'email_id'
  db.prepare(`create temp table first_${table} as select * from ${table} where ${key} = ?`).run(emailId)
  const values = columns.map((name) => changes[name] ?? name)
  return db.prepare(`
    with recursive n (i) as (select cast(@from as integer) union all select i + 1 from n where i < @to)
    insert into ${table} (${columns.join(', ')}) select ${values.join(', ')} from n, first_${table}`)
}
