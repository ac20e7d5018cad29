/**
 * Roll-ups of emails, opens and clicks, maintained by triggers, and filled from what is still stored.
 *
 * `email_metrics` has a row for each quarter of an hour in which emails were made, of their sender's domain and of all
 * ('' as domain), each again for each of their tags ('' as tag: of all). Nothing is subtracted when emails are
 * removed; `removed` counts them, so that a row whose emails all exist can be compared with them. `link_metrics` has
 * one for each URL that persons clicked in emails of a day. Changes never make a row of emails that is gone again.
 */
import { runStatements } from '../migrate.js'

const BUCKET = 900_000
const DAY = 86_400_000
/** Characters of a URL in `link_metrics`; longer ones are left out. */
const MAX_URL = 8_192

const statuses = ['scheduled', 'queued', 'sent', 'delivered', 'bounced', 'failed', 'cancelled', 'complained'] as const
const ofEvents = ['opens', 'clicks', 'machine_opens', 'machine_clicks'] as const
const ofLinks = ['clicks', 'unique_clicks', 'first_clicked_at', 'last_clicked_at'] as const

const bucketOf = (row: string): string => `${row}created_at - ${row}created_at % ${BUCKET}`
const dayOf = (row: string): string => `${row}created_at - ${row}created_at % ${DAY}`
const tagOf = (json: string): string => `json_extract(${json}, '$.name') || ':' || json_extract(${json}, '$.value')`
const isMachine = (row: string): string => `coalesce(json_extract(${row}data, '$.machine'), 0)`
const clickedAt = (row: string): string =>
  `cast(round(unixepoch(json_extract(${row}data, '$.clicked_at'), 'subsec') * 1000) as integer)`

/** What a column adds up over emails; `row`: as `new.`. */
export interface EmailSum {
  readonly column: string
  readonly valueIn: (row: string) => string
  /** Columns of `emails` that the value is made of. */
  readonly from: string
}

const sums: readonly EmailSum[] = [
  ...statuses.map((status) => ({
    column: status,
    valueIn: (row: string) => `${row}status = '${status}'`,
    from: 'status',
  })),
  { column: 'unique_opens', valueIn: (row) => `${row}opened_at is not null`, from: 'opened_at' },
  { column: 'unique_clicks', valueIn: (row) => `${row}clicked_at is not null`, from: 'clicked_at' },
]

const columnsOf = (of: readonly EmailSum[]): readonly string[] => of.map(({ column }) => column)
const valuesOfEmail = (of: readonly EmailSum[], row: string): string => of.map(({ valueIn }) => valueIn(row)).join(', ')

/** In the order of `ofEvents`. */
const valuesOfEvent = (row: string): readonly string[] => [
  `${row}type = 'email.opened' and not ${isMachine(row)}`,
  `${row}type = 'email.clicked' and not ${isMachine(row)}`,
  `${row}type = 'email.opened' and ${isMachine(row)}`,
  `${row}type = 'email.clicked' and ${isMachine(row)}`,
]

const adding = (columns: readonly string[]): string =>
  `on conflict (workspace_id, domain, tag, bucket) do update set
    ${columns.map((column) => `${column} = ${column} + excluded.${column}`).join(', ')}`

const addingLink = `on conflict (workspace_id, domain, day, url) do update set
  clicks = clicks + excluded.clicks, unique_clicks = unique_clicks + excluded.unique_clicks,
  first_clicked_at = min(first_clicked_at, excluded.first_clicked_at),
  last_clicked_at = max(last_clicked_at, excluded.last_clicked_at)`

const metricsKey = 'workspace_id, domain, tag, bucket'
const linkKey = 'workspace_id, domain, day, url'

/** The rows in which an email counts: of all domains and of its own, with none of its tags and with each of them. */
const rowsOfEmails = `json_each(json_array('', emails.from_domain)) as sender,
  json_each(json_insert(emails.tags, '$[#]', null)) as tag
  where (sender.key = 0 or sender.value <> '') and not exists (select 1 from json_each(emails.tags) as earlier
    where earlier.key < tag.key and ${tagOf('earlier.value')} = ${tagOf('tag.value')})`
const keyOfEmails = `emails.workspace_id, sender.value, coalesce(${tagOf('tag.value')}, ''), ${bucketOf('emails.')}`

/** Adds sums of emails to the rows in which they count, email by email, so that memory stays small. */
export function addSums(table: string, added: readonly EmailSum[], condition = 'true'): string {
  return `insert into ${table} (${metricsKey}, ${columnsOf(added).join(', ')})
    select ${keyOfEmails}, ${valuesOfEmail(added, 'emails.')} from emails, ${rowsOfEmails} and ${condition}
    ${adding(columnsOf(added))}`
}

/** Fills empty tables with what emails, events and links have. `more`: sums that a later migration added. */
export function countAgain(emailTable: string, linkTable: string, more: readonly EmailSum[] = []): readonly string[] {
  const domains = `json_each(json_array('', emails.from_domain)) as sender`
  const linkKeyOf = (row: string, url: string): string =>
    `${row}workspace_id, sender.value, ${dayOf('emails.')}, ${url}`
  return [
    addSums(emailTable, [...sums, ...more]),
    `insert into ${emailTable} (${metricsKey}, ${ofEvents.join(', ')})
      select ${keyOfEmails}, ${valuesOfEvent('events.').join(', ')}
      from events cross join emails on emails.id = events.email_id, ${rowsOfEmails}
      and events.type in ('email.opened', 'email.clicked') ${adding(ofEvents)}`,
    `insert into ${linkTable} (${linkKey}, ${ofLinks.join(', ')})
      select ${linkKeyOf('links.', 'links.url')}, links.clicks, 1, links.first_clicked_at, links.last_clicked_at
      from links cross join emails on emails.id = links.email_id, ${domains}
      where links.clicks > 0 and length(links.url) <= ${MAX_URL} and (sender.key = 0 or sender.value <> '') ${addingLink}`,
    `insert into ${linkTable} (${linkKey}, ${ofLinks.join(', ')})
      select ${linkKeyOf('events.', `json_extract(events.data, '$.url')`)}, 1, 1, ${clickedAt('events.')}, ${clickedAt('events.')}
      from events cross join emails on emails.id = events.email_id, ${domains}
      where events.type = 'email.clicked' and not ${isMachine('events.')} and events.email_id >= 'bc-'
      and events.email_id < 'bc.' and length(json_extract(events.data, '$.url')) <= ${MAX_URL}
      and (sender.key = 0 or sender.value <> '') ${addingLink}`,
  ]
}

/** The columns of the tables, which a recount has too. `more`: sums that a later migration added. */
export const emailMetricsColumns = (more: readonly EmailSum[] = []): string => `
  workspace_id text not null, domain text not null, tag text not null, bucket integer not null,
  ${[...columnsOf([...sums, ...more]), ...ofEvents, 'removed'].map((column) => `${column} integer not null default 0`).join(', ')},
  primary key (workspace_id, domain, tag, bucket)`
export const linkMetricsColumns = `
  workspace_id text not null, domain text not null, day integer not null, url text not null,
  clicks integer not null, unique_clicks integer not null, first_clicked_at integer not null,
  last_clicked_at integer not null, primary key (workspace_id, domain, day, url)`

/** Two statements for two rows: a list of domains would be an index in memory each time. */
const changing = (row: 'new' | 'old', set: string): string =>
  [`domain = ''`, `domain = ${row}.from_domain and domain <> ''`]
    .map(
      (domain) => `update email_metrics set ${set} where workspace_id = ${row}.workspace_id and ${domain}
        and tag = '' and bucket = ${bucketOf(`${row}.`)};`,
    )
    .join('\n')
const changingTagged = (row: 'new' | 'old', set: string): string =>
  `update email_metrics set ${set} where workspace_id = ${row}.workspace_id and domain in ('', ${row}.from_domain)
    and tag in (select ${tagOf('value')} from json_each(${row}.tags)) and bucket = ${bucketOf(`${row}.`)};`

const sumsDiffer = `old.status <> new.status or (old.opened_at is null) <> (new.opened_at is null)
  or (old.clicked_at is null) <> (new.clicked_at is null)`

/** Triggers that keep the sums; `more`: those that a later migration added, which drops these triggers first. */
export function keepSums(more: readonly EmailSum[] = []): readonly string[] {
  const all = [...sums, ...more]
  const inserted = (values: string): string =>
    `insert into email_metrics (${metricsKey}, ${columnsOf(all).join(', ')}) ${values} ${adding(columnsOf(all))};`
  const moved = all
    .map(({ column, valueIn }) => `${column} = ${column} - (${valueIn('old.')}) + (${valueIn('new.')})`)
    .join(', ')
  const differences = more.map(({ valueIn }) => `${valueIn('old.')} <> ${valueIn('new.')}`)
  const hasMoved = `(${[sumsDiffer, ...differences].join(' or ')})`
  const changed = [...new Set(all.map(({ from }) => from))].join(', ')
  return [
    `create trigger email_metrics_come after insert on emails begin
    ${inserted(`values (new.workspace_id, '', '', ${bucketOf('new.')}, ${valuesOfEmail(all, 'new.')})`)}
    ${inserted(`select new.workspace_id, new.from_domain, '', ${bucketOf('new.')}, ${valuesOfEmail(all, 'new.')}
      where new.from_domain <> ''`)}
  end`,
    `create trigger email_metrics_come_tagged after insert on emails when new.tags <> '[]' begin
    ${inserted(`select new.workspace_id, domain, tag, ${bucketOf('new.')}, ${valuesOfEmail(all, 'new.')}
      from (select '' as domain union select new.from_domain),
        (select distinct ${tagOf('value')} as tag from json_each(new.tags)) where true`)}
  end`,
    `create trigger email_metrics_change after update of ${changed} on emails when ${hasMoved} begin
    ${changing('new', moved)}
  end`,
    `create trigger email_metrics_change_tagged after update of ${changed} on emails
    when new.tags <> '[]' and ${hasMoved} begin
    ${changingTagged('new', moved)}
  end`,
  ]
}

const removalTriggers = [
  `create trigger email_metrics_go after delete on emails begin
    ${changing('old', 'removed = removed + 1')}
  end`,
  `create trigger email_metrics_go_tagged after delete on emails when old.tags <> '[]' begin
    ${changingTagged('old', 'removed = removed + 1')}
  end`,
]

const ofEmail = (id: string, columns: string): string => `select ${columns} from emails where id = ${id}`
const isOfEvent = `workspace_id = new.workspace_id
  and domain in (select '' union all ${ofEmail('new.email_id', 'from_domain')})
  and tag in (select '' union all select ${tagOf('tag.value')} from emails, json_each(emails.tags) as tag
    where emails.id = new.email_id)
  and bucket = (${ofEmail('new.email_id', bucketOf(''))})`
const isOfLink = (url: string): string => `workspace_id = new.workspace_id
  and domain in (select '' union all ${ofEmail('new.email_id', 'from_domain')})
  and day = (${ofEmail('new.email_id', dayOf(''))}) and url = ${url}`

/** `values`: of the columns of `ofLinks`. */
const addedLink = (url: string, values: string, condition = 'true'): string =>
  ["''", 'from_domain']
    .map(
      (domain) => `insert into link_metrics (${linkKey}, ${ofLinks.join(', ')})
        select new.workspace_id, ${domain}, ${dayOf('')}, ${url}, ${values} from emails
        where id = new.email_id${domain === "''" ? '' : " and from_domain <> ''"} and ${condition} ${addingLink};`,
    )
    .join('\n')

const removedLink = (url: string, clicks: string, unique: string): string =>
  `update link_metrics set clicks = clicks - (${clicks}), unique_clicks = unique_clicks - (${unique})
    where ${isOfLink(url)};
  delete from link_metrics where ${isOfLink(url)} and clicks <= 0;`

const urlOfEvent = `json_extract(new.data, '$.url')`
const isHit = `new.type in ('email.opened', 'email.clicked') and new.email_id is not null`
/** Emails of broadcasts have no rows of links, and one click of a person each. */
const isOfBroadcast = `new.type = 'email.clicked' and new.email_id >= 'bc-' and new.email_id < 'bc.'
  and length(${urlOfEvent}) <= ${MAX_URL}`
const addedHit = ofEvents.map((column, at) => `${column} = ${column} + (${valuesOfEvent('new.')[at]})`).join(', ')
const movedHit = ofEvents
  .map((column, at) => `${column} = ${column} - (${valuesOfEvent('old.')[at]}) + (${valuesOfEvent('new.')[at]})`)
  .join(', ')

/** What an open or click that is `new` changes. */
export const countedHit = `update email_metrics set ${addedHit} where ${isOfEvent};
    ${addedLink(urlOfEvent, `1, 1, ${clickedAt('new.')}, ${clickedAt('new.')}`, `${isOfBroadcast} and not ${isMachine('new.')}`)}`

const hitTriggers = [
  `create trigger email_metrics_hit after insert on events when ${isHit} begin
    ${countedHit}
  end`,
  `create trigger email_metrics_hit_changed after update of data on events
    when ${isHit} and ${isMachine('old.')} <> ${isMachine('new.')} begin
    update email_metrics set ${movedHit} where ${isOfEvent};
  end`,
  `create trigger link_metrics_clicked after update of clicks on links
    when new.clicks > old.clicks and length(new.url) <= ${MAX_URL} begin
    ${addedLink('new.url', 'new.clicks - old.clicks, old.clicks = 0, new.first_clicked_at, new.last_clicked_at')}
  end`,
  `create trigger link_metrics_cleared after update of clicks on links when new.clicks < old.clicks begin
    ${removedLink('new.url', 'old.clicks - new.clicks', 'new.clicks = 0')}
  end`,
  `create trigger link_metrics_broadcast_changed after update of data on events
    when ${isOfBroadcast} and not ${isMachine('old.')} and ${isMachine('new.')} begin
    ${removedLink(urlOfEvent, '1', '1')}
  end`,
]

export const up = runStatements([
  `create table email_metrics (${emailMetricsColumns()}) strict, without rowid`,
  // Not of the column itself: an index with the whole key would take the place of the primary key.
  `create index email_metrics_by_age on email_metrics (bucket / ${DAY})`,
  `create table link_metrics (${linkMetricsColumns}) strict, without rowid`,
  `create index link_metrics_by_age on link_metrics (day / ${DAY})`,
  'create index link_metrics_clicked on link_metrics (workspace_id, domain, day, clicks desc, url)',
  ...countAgain('email_metrics', 'link_metrics'),
  ...keepSums(),
  ...removalTriggers,
  ...hitTriggers,
])
