// Roll-ups of one workspace as 10,000,000 emails with 30,000,000 opens and clicks within 90 days leave them, from
// several domains and with several tags; and the clicks of many URLs, nearly all of which occur in one email.
import SQLite from 'better-sqlite3'

export const WORKSPACE = 'ws_019aa000-0000-7000-8000-000000000000'
export const DOMAINS = ['example.com', 'mail.example.com', 'news.example.org', 'shop.example.net', 'example.io']
export const TAGS = ['campaign:spring', 'kind:receipt', 'kind:reset', 'kind:newsletter']
export const DAYS = 90
const EMAILS = 10_000_000
const BUCKET = 900_000
const DAY = 86_400_000

/** The first moment of the 90 days. */
export const BEGIN = Date.UTC(2026, 7, 1)
export const END = BEGIN + DAYS * DAY

const statuses = ['queued', 'sent', 'delivered', 'bounced', 'failed', 'complained']
const hits = ['opens', 'unique_opens', 'clicks', 'unique_clicks', 'machine_opens', 'machine_clicks']
const shares = [0.001, 0.05, 0.91, 0.03, 0.008, 0.001, 2, 0.5, 0.5, 0.2, 0.4, 0.1]

export function fillMetrics(file) {
  const db = new SQLite(file)
  db.pragma('synchronous = OFF')
  const columns = [...statuses, ...hits]
  const insert = db.prepare(`insert into email_metrics (workspace_id, domain, tag, bucket, ${columns.join(', ')})
    values (?, ?, ?, ?, ${columns.map(() => '?').join(', ')})`)
  const buckets = (END - BEGIN) / BUCKET
  db.transaction(() => {
    for (let at = 0; at < buckets; at += 1) {
      for (const domain of ['', ...DOMAINS]) {
        for (const tag of ['', ...TAGS]) {
          const emails = EMAILS / buckets / (domain === '' ? 1 : DOMAINS.length) / (tag === '' ? 1 : 2)
          insert.run(WORKSPACE, domain, tag, BEGIN + at * BUCKET, ...shares.map((share) => Math.round(emails * share)))
        }
      }
    }
  })()
  db.close()
  return { rows: buckets * (DOMAINS.length + 1) * (TAGS.length + 1) }
}

const POPULAR = 300

/** `urls` that are in one email each, clicked once or twice, and some that are in the emails of every day. */
export function fillLinks(file, urls) {
  const db = new SQLite(file)
  db.pragma('synchronous = OFF')
  const insert = db.prepare(`insert into link_metrics
    (workspace_id, domain, day, url, clicks, unique_clicks, first_clicked_at, last_clicked_at) values (?, ?, ?, ?, ?, ?, ?, ?)`)
  const add = (day, url, clicks) => {
    for (const domain of ['', DOMAINS[0]]) insert.run(WORKSPACE, domain, day, url, clicks, clicks, day, day + 1)
  }
  for (let number = 0; number < DAYS; number += 1) {
    const day = BEGIN + number * DAY
    db.transaction(() => {
      for (let at = 0; at < POPULAR; at += 1)
        add(day, `https://example.com/popular/${at}`, 3 + ((at * 7 + number) % 500))
      for (let at = 0; at < urls / DAYS; at += 1) {
        add(day, `https://example.com/confirm/${number}-${at}?token=${'x'.repeat(40)}`, 1 + (at % 2))
      }
    })()
  }
  db.close()
}
