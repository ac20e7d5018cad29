// A database as after years of use, made in few commits before the daemon starts: emails that
// are delivered, bounced or failed, with their recipients, contacts in ten audiences, suppressions,
// and inbound mail.
import SQLite from 'better-sqlite3'

export const FULL = { emails: 1_000_000, contacts: 1_000_000, suppressions: 200_000, inbound: 200_000 }
/** The nearly empty store. */
export const SMALL = { emails: 1000, contacts: 1000, suppressions: 1000, inbound: 1000 }
const AUDIENCES = 10
/** Rows of one commit. */
const PORTION = 50_000
const SPAN = 25 * 86_400_000
const RAW_KEPT = 10_000
const raw = Buffer.from(
  'From: App <app@bench.test>\r\nTo: someone@sink.test\r\nSubject: A message\r\nMIME-Version: 1.0\r\n' +
    `Content-Type: text/plain\r\n\r\n${'Some words of a message that an application sends.\r\n'.repeat(20)}`,
)

/** UUIDv7 of a moment, in the order of `n`. */
export function idAt(at, n) {
  const time = Math.floor(at).toString(16).padStart(12, '0')
  const rest = n.toString(16).padStart(12, '0')
  return `${time.slice(0, 8)}-${time.slice(8)}-7${rest.slice(0, 3)}-8${rest.slice(3, 6)}-${rest.slice(6)}000000`
}

/** Resolves to existing ids, for requests that name one. */
export function fill(file, workspaceId, counts) {
  const db = new SQLite(file)
  // If the machine crashes, the run has failed: nothing here has to be durable.
  db.pragma('synchronous = OFF')
  db.pragma('cache_size = -200000')
  const now = Date.now()
  const hasContacts = db.prepare(`select 1 from sqlite_schema where name = 'contacts'`).get() !== undefined
  const emails = fillEmails(db, workspaceId, now, counts.emails)
  const suppressions = fillSuppressions(db, workspaceId, now, counts.suppressions)
  const { contacts, audiences } = hasContacts
    ? fillContacts(db, workspaceId, now, counts.contacts)
    : { contacts: [], audiences: [] }
  fillInbound(db, workspaceId, now, counts.inbound)
  db.pragma('wal_checkpoint(TRUNCATE)')
  db.close()
  return { emails, suppressions, contacts, audiences }
}

function inserted(db, table, row) {
  const names = Object.keys(row)
  return db.prepare(`insert into ${table} (${names.join(', ')}) values (${names.map((name) => `@${name}`).join(', ')})`)
}

/** Runs `one` for each number, in large commits; returns every thousandth result. */
function inPortions(db, count, one) {
  const kept = []
  const portion = db.transaction((from, to) => {
    for (let n = from; n < to; n += 1) {
      const id = one(n)
      if (n % Math.max(1, Math.floor(count / 1000)) === 0) kept.push(id)
    }
  })
  for (let from = 0; from < count; from += PORTION) portion(from, Math.min(count, from + PORTION))
  return kept
}

function fillEmails(db, workspaceId, now, count) {
  const statusOf = (n) => (n % 20 === 0 ? 'bounced' : n % 33 === 0 ? 'failed' : 'delivered')
  const row = (n) => {
    const at = now - SPAN + Math.floor((n / count) * SPAN)
    const id = idAt(at, n)
    const address = `user${n % 50_000}@sink.test`
    const email = {
      ...{ id, workspace_id: workspaceId, source: 'rest', message_id: `<${id}@bench.test>`, envelope_from: '' },
      ...{ from_email: 'app@bench.test', from_name: 'App', to_emails: JSON.stringify([address]), cc_emails: '[]' },
      ...{ bcc_emails: '[]', reply_to: '[]', subject: `A message, number ${n}`, tags: '[]', track_opens: 0 },
      ...{ track_clicks: 0, priority: 'normal', size: raw.length, smtputf8: 0, status: statusOf(n), created_at: at },
      ...{ sent_at: at + 500, delivered_at: n % 20 === 0 ? null : at + 500 },
    }
    const recipient = {
      ...{ id: idAt(at, n + count), email_id: id, workspace_id: workspaceId, address, domain: 'sink.test' },
      ...{ status: email.status, attempts: 1, created_at: at, delivered_at: email.delivered_at, settled_at: at + 500 },
    }
    return { email, recipient }
  }
  const sample = row(0)
  const intoEmails = inserted(db, 'emails', sample.email)
  const intoRecipients = inserted(db, 'recipients', sample.recipient)
  const intoRaw = db.prepare('insert into raw_messages (email_id, workspace_id, created_at, raw) values (?, ?, ?, ?)')
  return inPortions(db, count, (n) => {
    const { email, recipient } = row(n)
    intoEmails.run(email)
    intoRecipients.run(recipient)
    if (n >= count - RAW_KEPT) intoRaw.run(email.id, workspaceId, email.created_at, raw)
    return email.id
  })
}

function fillSuppressions(db, workspaceId, now, count) {
  const reasons = ['hard_bounce', 'hard_bounce', 'hard_bounce', 'spam_complaint', 'unsubscribe', 'manual']
  const row = (n) => {
    const at = now - SPAN + Math.floor((n / count) * SPAN)
    return {
      ...{ id: idAt(at, n), workspace_id: workspaceId, email: `gone${n}@gone.test`, reason: reasons[n % 6] },
      ...{
        source_email_id: null,
        metadata: '{"bounce_type":"hard","bounce_subtype":"unknown_mailbox"}',
        created_at: at,
      },
    }
  }
  const insert = inserted(db, 'suppressions', row(0))
  return inPortions(db, count, (n) => {
    const one = row(n)
    insert.run(one)
    return one.id
  })
}

/** Half of them from one sender and to one domain; one in a thousand is spam, none of it from that sender. */
function fillInbound(db, workspaceId, now, count) {
  const report = JSON.stringify(
    Array.from({ length: 8 }, (_, n) => ({ name: `RULE_${n}`, score: 0.5, description: 'Some words of a rule' })),
  )
  const row = (n) => {
    const at = now - SPAN + Math.floor((n / count) * SPAN)
    const half = n % 2 === 0
    const from = half ? 'news@often.test' : `user${n % 20_000}@b.test`
    const domain = half ? 'in.test' : `in${n % 20}.test`
    return {
      ...{ id: idAt(at, n), workspace_id: workspaceId, kind: 'mail', status: 'processed', domain },
      ...{ envelope_from: 'x@b.test', envelope_to: `["info@${domain}"]`, client_address: '192.0.2.1', helo: 'b.test' },
      ...{ spf_result: 'pass', dkim_result: 'pass', dmarc_result: 'pass', authentication: report, reference_ids: '[]' },
      ...{ from_email: from, from_key: from, from_name: 'Some Body' },
      ...{ to_emails: `["info@${domain}"]`, cc_emails: '[]', subject: `A message, number ${n}`, has_html: 0 },
      ...{ has_text: 1, attachment_count: 0, size: 900, spam_status: n % 1000 === 1 ? 'spam' : 'clean' },
      ...{ spam_score: 120, spam_report: report, received_at: at, processed_at: at },
    }
  }
  const insert = inserted(db, 'inbound_emails', row(0))
  inPortions(db, count, (n) => {
    insert.run(row(n))
    return n
  })
}

function fillContacts(db, workspaceId, now, count) {
  const audiences = Array.from({ length: AUDIENCES }, (_, n) => idAt(now - SPAN, n))
  const audience = (id, n) => ({
    ...{ id, workspace_id: workspaceId, name: `Audience ${n}`, description: null },
    ...{ created_at: now - SPAN, updated_at: now - SPAN },
  })
  const intoAudiences = inserted(db, 'audiences', audience('', 0))
  for (const [n, id] of audiences.entries()) intoAudiences.run(audience(id, n))
  const row = (n) => {
    const at = now - SPAN + Math.floor((n / count) * SPAN)
    const email = `contact${n}@contacts.test`
    return {
      ...{ id: idAt(at, n), workspace_id: workspaceId, audience_id: audiences[n % AUDIENCES], email, email_key: email },
      ...{ first_name: 'Some', last_name: `Body ${n}`, subscribed: 1, metadata: '{"plan":"pro"}' },
      ...{ created_at: at, updated_at: at },
    }
  }
  const insert = inserted(db, 'contacts', row(0))
  const contacts = inPortions(db, count, (n) => {
    const one = row(n)
    insert.run(one)
    return one.id
  })
  return { contacts, audiences }
}
