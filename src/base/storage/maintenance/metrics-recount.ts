/**
 * The roll-ups of metrics against a recount of what they were made from; `verify-data --repair` makes them again.
 *
 * Emails that were removed cannot be recounted, so what must hold of a row depends on what still exists:
 * - of all emails (`removed` is 0): its numbers are those of the recount;
 * - of some: no number is below the recount, and its emails are as many as those that exist and those removed.
 * Repeats of opens and clicks are equal only if the event log goes back to the row's time, those of links only if the
 * links do too. Rows older than `KEPT_METRICS_DAYS` may be gone.
 *
 * These are the roll-ups of a file of SQLite, whose rows all have the slot 0.
 */

import type SQLite from 'better-sqlite3'
import { DAY } from '../../platform/time-units.js'
import { recipientColumns } from '../schema/emails.js'
import { countAgain, emailMetricsColumns, linkMetricsColumns } from '../schema/metrics.js'
import { KEPT_METRICS_DAYS } from '../tables/metrics-tables.js'

const statuses = ['scheduled', 'queued', 'sent', 'delivered', 'bounced', 'failed', 'cancelled', 'complained'] as const
const ofEmails = [...statuses, 'unique_opens', 'unique_clicks', ...recipientColumns]
const repeats = ['opens', 'clicks', 'machine_opens', 'machine_clicks'] as const
const emailKey = ['workspace_id', 'domain', 'tag', 'bucket'] as const
const linkKey = ['workspace_id', 'domain', 'day', 'url'] as const
const ofLinks = ['clicks', 'unique_clicks'] as const

/** Made by `countMetricsAgain`, on its connection. */
const countedEmails = 'temp.counted_emails'
const countedLinks = 'temp.counted_links'

const any = (columns: readonly string[], condition: (column: string) => string): string =>
  `(${columns.map(condition).join(' or ')})`
const sumOf = (table: string): string => statuses.map((status) => `coalesce(${table}.${status}, 0)`).join(' + ')
const join = (key: readonly string[]): string =>
  key.map((column) => `stored.${column} = counted.${column}`).join(' and ')
const keyOf = (key: readonly string[]): string =>
  key.map((column) => `coalesce(stored.${column}, counted.${column})`).join(` || ' ' || `)

const never = '9e15'
const logBegins = `coalesce((select created_at from events order by seq limit 1), ${never})`
const linksBegin = `coalesce((select created_at from links order by id limit 1), ${never})`
const keptSince = `(unixepoch() - ${KEPT_METRICS_DAYS * 86_400}) * 1000`
const notErasing = (table: string): string => `${table}.workspace_id not in (select id from erasures)`

const isBelow = (column: string): string => `stored.${column} < coalesce(counted.${column}, 0)`
const isOther = (column: string): string => `stored.${column} <> coalesce(counted.${column}, 0)`
const hasAllEmails = 'coalesce(stored.removed, 0) = 0'
const hasAllEvents = (bucket: string): string => `${bucket} >= ${logBegins}`

/** All links, events and emails of the day exist. */
const hasAllClicks = (row: string): string => `(${row}.day >= ${logBegins} and ${row}.day >= ${linksBegin}
  and not exists (select 1 from email_metrics as made where made.workspace_id = ${row}.workspace_id
    and made.domain = ${row}.domain and made.tag = '' and made.bucket >= ${row}.day and made.bucket < ${row}.day + ${DAY}
    and made.removed > 0))`

/** What is wrong with the rows whose keys each statement selects, after `countMetricsAgain`. */
export const metricsChecks = [
  {
    check: 'email-metrics',
    message: 'stored metrics of emails that differ from the rows',
    sql: `select ${keyOf(emailKey)} from email_metrics as stored full join ${countedEmails} as counted
      on ${join(emailKey)} where (stored.workspace_id is null or ${notErasing('stored')})
      and (counted.workspace_id is null or ${notErasing('counted')}) and (
        (stored.bucket is null and counted.bucket >= ${keptSince})
        or (stored.bucket is not null and (${any([...ofEmails, ...repeats], isBelow)}
          or (${hasAllEmails} and ${any(ofEmails, isOther)})
          or ${sumOf('stored')} <> ${sumOf('counted')} + stored.removed
          or (${hasAllEmails} and ${hasAllEvents('stored.bucket')} and ${any(repeats, isOther)}))))`,
  },
  {
    check: 'link-metrics',
    message: 'stored clicks of links that differ from the rows',
    sql: `select ${keyOf(linkKey)} from link_metrics as stored full join ${countedLinks} as counted
      on ${join(linkKey)} where (stored.workspace_id is null or ${notErasing('stored')})
      and (counted.workspace_id is null or ${notErasing('counted')}) and (
        (stored.day is null and counted.day >= ${keptSince})
        or (stored.day is not null and (${any(ofLinks, isBelow)}
          or stored.first_clicked_at > counted.first_clicked_at or stored.last_clicked_at < counted.last_clicked_at
          or (${hasAllClicks('stored')} and ${any(ofLinks, isOther)}))))`,
  },
] as const

/** Counts into tables of this connection. */
export function countMetricsAgain(db: SQLite.Database): void {
  db.exec(`drop table if exists ${countedEmails}`)
  db.exec(`drop table if exists ${countedLinks}`)
  db.exec(`create table ${countedEmails} (${emailMetricsColumns}) strict, without rowid`)
  db.exec(`create table ${countedLinks} (${linkMetricsColumns}) strict, without rowid`)
  for (const statement of countAgain(countedEmails, countedLinks)) db.exec(statement)
}

const replaced = (columns: readonly string[]): string =>
  columns.map((column) => `${column} = excluded.${column}`).join(', ')
const ofKey = (key: readonly string[]): string => key.map((column) => `counted.${column}`).join(', ')
const greatest = (column: string): string => `max(coalesce(stored.${column}, 0), counted.${column})`

const emailColumns = [...ofEmails, ...repeats, 'removed'] as const
const removedOf = `case when ${hasAllEmails} then 0
  else ${statuses.map(greatest).join(' + ')} - (${sumOf('counted')}) end`
const emailValues = [
  ...ofEmails.map((column) => `case when ${hasAllEmails} then counted.${column} else ${greatest(column)} end`),
  ...repeats.map(
    (column) => `case when ${hasAllEmails} and ${hasAllEvents('counted.bucket')} then counted.${column}
      else ${greatest(column)} end`,
  ),
  removedOf,
].join(', ')

const linkColumns = [...ofLinks, 'first_clicked_at', 'last_clicked_at'] as const
const linkValues = linkColumns
  .map((column) => {
    const least = `min(coalesce(stored.${column}, counted.${column}), counted.${column})`
    const other = column === 'first_clicked_at' ? least : greatest(column)
    return `case when ${hasAllClicks('counted')} then counted.${column} else ${other} end`
  })
  .join(', ')

const hasNoEmails = `not exists (select 1 from ${countedEmails} as counted where ${join(emailKey)})`
const hasNoLinks = `not exists (select 1 from ${countedLinks} as counted where ${join(linkKey)})`

const repairs = [
  `insert into email_metrics (${[...emailKey, ...emailColumns].join(', ')}) select ${ofKey(emailKey)}, ${emailValues}
    from ${countedEmails} as counted left join email_metrics as stored on ${join(emailKey)}
    where ${notErasing('counted')} and (stored.bucket is not null or counted.bucket >= ${keptSince})
    on conflict (${emailKey.join(', ')}, slot) do update set ${replaced(emailColumns)}`,
  `delete from email_metrics as stored where ${notErasing('stored')} and removed = 0 and ${hasNoEmails}`,
  `update email_metrics as stored set removed = ${sumOf('stored')} where ${notErasing('stored')} and ${hasNoEmails}`,
  `insert into link_metrics (${[...linkKey, ...linkColumns].join(', ')}) select ${ofKey(linkKey)}, ${linkValues}
    from ${countedLinks} as counted left join link_metrics as stored on ${join(linkKey)}
    where ${notErasing('counted')} and (stored.day is not null or counted.day >= ${keptSince})
    on conflict (${linkKey.join(', ')}, slot) do update set ${replaced(linkColumns)}`,
  `delete from link_metrics as stored where ${notErasing('stored')} and ${hasAllClicks('stored')} and ${hasNoLinks}`,
]

/** Makes the roll-ups right, as far as what was removed can be known. */
export function rebuildMetrics(db: SQLite.Database): void {
  db.transaction(() => {
    countMetricsAgain(db)
    for (const repair of repairs) db.exec(repair)
  }).immediate()
}
