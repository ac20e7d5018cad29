/**
 * Roll-ups of emails, opens and clicks, maintained by triggers.
 *
 * An email counts in the row of its quarter of an hour: in that of all domains ('' as domain) and in that of its
 * sender's, each with none of its tags ('' as tag) and with each of them. Nothing is subtracted when emails are
 * removed; `removed` counts them, so that a row whose emails all exist can be compared with them. Changes never make a
 * row of removed emails again.
 *
 * `verify-data` fills separate tables by the same statements (`countAgain`), and compares.
 */

import { DAY } from '../../platform/time-units.js'
import { recipientColumns } from './emails.js'

const BUCKET = 900_000
/**
 * Bytes of a URL in `link_metrics`, as UTF-8; longer ones are left out. It is a part of keys, and PostgreSQL takes 2,704
 * bytes of a row into an index.
 */
export const MAX_URL_BYTES = 2_000

const statuses = ['scheduled', 'queued', 'sent', 'delivered', 'bounced', 'failed', 'cancelled', 'complained'] as const
const ofEvents = ['opens', 'clicks', 'machine_opens', 'machine_clicks'] as const
const ofLinks = ['clicks', 'unique_clicks', 'first_clicked_at', 'last_clicked_at'] as const

export const bucketOf = (row: string): string => `${row}created_at - ${row}created_at % ${BUCKET}`
export const dayOf = (row: string): string => `${row}created_at - ${row}created_at % ${DAY}`
const tagOf = (json: string): string => `json_extract(${json}, '$.name') || ':' || json_extract(${json}, '$.value')`
const isMachine = (row: string): string => `coalesce(json_extract(${row}data, '$.machine'), 0)`
const clickedAt = (row: string): string =>
  `cast(round(unixepoch(json_extract(${row}data, '$.clicked_at'), 'subsec') * 1000) as integer)`

/** What a column adds up over emails. `row` is a prefix such as `new.`. */
interface EmailSum {
  readonly column: string
  readonly valueIn: (row: string) => string
  /** The column of `emails` that the value is made of. */
  readonly from: string
}

/** Their values are conditions. */
export const ofStates: readonly EmailSum[] = [
  ...statuses.map((status) => ({
    column: status,
    valueIn: (row: string) => `${row}status = '${status}'`,
    from: 'status',
  })),
  { column: 'unique_opens', valueIn: (row) => `${row}opened_at is not null`, from: 'opened_at' },
  { column: 'unique_clicks', valueIn: (row) => `${row}clicked_at is not null`, from: 'clicked_at' },
]
const ofRecipients = recipientColumns.map((column) => ({
  column,
  valueIn: (row: string) => row + column,
  from: column,
}))
const sums = [...ofStates, ...ofRecipients]

const columnsOf = (of: readonly EmailSum[]): readonly string[] => of.map(({ column }) => column)
const valuesOfEmail = (row: string): string => sums.map(({ valueIn }) => valueIn(row)).join(', ')

/** They are in the order of `ofEvents`. */
const valuesOfEvent = (row: string): readonly string[] => [
  `${row}type = 'email.opened' and not ${isMachine(row)}`,
  `${row}type = 'email.clicked' and not ${isMachine(row)}`,
  `${row}type = 'email.opened' and ${isMachine(row)}`,
  `${row}type = 'email.clicked' and ${isMachine(row)}`,
]

const metricsKey = 'workspace_id, domain, tag, bucket'
const linkKey = 'workspace_id, domain, day, url'

const adding = (columns: readonly string[]): string =>
  `on conflict (${metricsKey}, slot) do update set
    ${columns.map((column) => `${column} = ${column} + excluded.${column}`).join(', ')}`

const addingLink = `on conflict (${linkKey}, slot) do update set
  clicks = clicks + excluded.clicks, unique_clicks = unique_clicks + excluded.unique_clicks,
  first_clicked_at = min(first_clicked_at, excluded.first_clicked_at),
  last_clicked_at = max(last_clicked_at, excluded.last_clicked_at)`

/** The columns of the tables, which a recount has too. */
export const emailMetricsColumns = `
    workspace_id text not null, domain text not null, tag text not null, bucket integer not null,
    ${[...columnsOf(ofStates), ...ofEvents, 'removed', ...columnsOf(ofRecipients)]
      .map((column) => `${column} integer not null default 0`)
      .join(', ')},
    slot integer not null default 0, primary key (${metricsKey}, slot)`
export const linkMetricsColumns = `
    workspace_id text not null, domain text not null, day integer not null, url text not null,
    clicks integer not null, unique_clicks integer not null, first_clicked_at integer not null,
    last_clicked_at integer not null, slot integer not null default 0, primary key (${linkKey}, slot)`

const rollUps = [
  // Numbers of the emails that were made in a quarter of an hour, by domain of the sender and by tag.
  `create table email_metrics (${emailMetricsColumns}) strict, without rowid`,
  // Finds rows by age. An index of the column itself, with the whole key, would take the place of the primary key.
  `create index email_metrics_by_age on email_metrics ((bucket / ${DAY}))`,

  // Clicks of persons on a URL in the emails of a day.
  `create table link_metrics (${linkMetricsColumns}) strict, without rowid`,
  // Finds rows by age, as above.
  `create index link_metrics_by_age on link_metrics ((day / ${DAY}))`,
  // Lists the URLs of a day, those with most clicks first.
  'create index link_metrics_clicked on link_metrics (workspace_id, domain, day, clicks desc, url)',
] as const

/** Two rows take two statements: a list of domains would be an index in memory each time. */
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

const inserted = (values: string): string =>
  `insert into email_metrics (${metricsKey}, ${columnsOf(sums).join(', ')}) ${values} ${adding(columnsOf(sums))};`
const moved = sums
  .map(({ column, valueIn }) => `${column} = ${column} - (${valueIn('old.')}) + (${valueIn('new.')})`)
  .join(', ')
const hasMoved = `(old.status <> new.status or (old.opened_at is null) <> (new.opened_at is null)
  or (old.clicked_at is null) <> (new.clicked_at is null) or ${recipientColumns
    .map((column) => `old.${column} <> new.${column}`)
    .join(' or ')})`
const changed = [...new Set(sums.map(({ from }) => from))].join(', ')

const ofChangedEmails = [
  // Counts a new email, in the rows without a tag.
  `create trigger email_metrics_come after insert on emails begin
    ${inserted(`values (new.workspace_id, '', '', ${bucketOf('new.')}, ${valuesOfEmail('new.')})`)}
    ${inserted(`select new.workspace_id, new.from_domain, '', ${bucketOf('new.')}, ${valuesOfEmail('new.')}
      where new.from_domain <> ''`)}
  end`,
  // Counts a new email that has tags, in the rows of each tag.
  `create trigger email_metrics_come_tagged after insert on emails when new.tags <> '[]' begin
    ${inserted(`select new.workspace_id, domain, tag, ${bucketOf('new.')}, ${valuesOfEmail('new.')}
      from (select '' as domain union select new.from_domain),
        (select distinct ${tagOf('value')} as tag from json_each(new.tags)) where true`)}
  end`,
  // Counts a change of an email, in the rows without a tag.
  `create trigger email_metrics_change after update of ${changed} on emails when ${hasMoved} begin
    ${changing('new', moved)}
  end`,
  // Counts a change of an email that has tags, in the rows of each tag.
  `create trigger email_metrics_change_tagged after update of ${changed} on emails
    when new.tags <> '[]' and ${hasMoved} begin
    ${changingTagged('new', moved)}
  end`,
  // Notes in the rows without a tag that an email was removed.
  `create trigger email_metrics_go after delete on emails begin
    ${changing('old', 'removed = removed + 1')}
  end`,
  // Notes in the rows of its tags that an email was removed.
  `create trigger email_metrics_go_tagged after delete on emails when old.tags <> '[]' begin
    ${changingTagged('old', 'removed = removed + 1')}
  end`,
] as const

const ofEmail = (id: string, columns: string): string => `select ${columns} from emails where id = ${id}`
const isOfEvent = `workspace_id = new.workspace_id
  and domain in (select '' union all ${ofEmail('new.email_id', 'from_domain')})
  and tag in (select '' union all select ${tagOf('tag.value')} from emails, json_each(emails.tags) as tag
    where emails.id = new.email_id)
  and bucket = (${ofEmail('new.email_id', bucketOf(''))})`
const isOfLink = (url: string): string => `workspace_id = new.workspace_id
  and domain in (select '' union all ${ofEmail('new.email_id', 'from_domain')})
  and day = (${ofEmail('new.email_id', dayOf(''))}) and url = ${url}`

/** `values` are those of the columns of `ofLinks`. */
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
  and octet_length(${urlOfEvent}) <= ${MAX_URL_BYTES}`
const addedHit = ofEvents.map((column, at) => `${column} = ${column} + (${valuesOfEvent('new.')[at]})`).join(', ')
const movedHit = ofEvents
  .map((column, at) => `${column} = ${column} - (${valuesOfEvent('old.')[at]}) + (${valuesOfEvent('new.')[at]})`)
  .join(', ')
const clickOfBroadcast = addedLink(
  urlOfEvent,
  `1, 1, ${clickedAt('new.')}, ${clickedAt('new.')}`,
  `${isOfBroadcast} and not ${isMachine('new.')}`,
)

const ofChangedEvents = [
  // Takes opens and clicks back that turn out to be a scanner's, and counts them as such.
  `create trigger email_metrics_hit_changed after update of data on events
    when ${isHit} and ${isMachine('old.')} <> ${isMachine('new.')} begin
    update email_metrics set ${movedHit} where ${isOfEvent};
  end`,
  // Counts a click on a tracked link.
  `create trigger link_metrics_clicked after update of clicks on links
    when new.clicks > old.clicks and octet_length(new.url) <= ${MAX_URL_BYTES} begin
    ${addedLink('new.url', 'new.clicks - old.clicks, old.clicks = 0, new.first_clicked_at, new.last_clicked_at')}
  end`,
  // Takes clicks on a tracked link back that turn out to be a scanner's.
  `create trigger link_metrics_cleared after update of clicks on links when new.clicks < old.clicks begin
    ${removedLink('new.url', 'old.clicks - new.clicks', 'new.clicks = 0')}
  end`,
  // Takes a click in a message of a broadcast back that turns out to be a scanner's.
  `create trigger link_metrics_broadcast_changed after update of data on events
    when ${isOfBroadcast} and not ${isMachine('old.')} and ${isMachine('new.')} begin
    ${removedLink(urlOfEvent, '1', '1')}
  end`,
] as const

const columnsOfHit = ['id', 'workspace_id', 'type', 'email_id', 'recipient', 'created_at', 'data'] as const

/**
 * A trigger of `events` that counted opens and clicks would cost 4 µs for each event of any type: before a statement with a
 * trigger changes a page, SQLite copies that page, to be able to undo this one statement, even if the trigger's condition is
 * false.
 */
const hits = [
  // The opens and clicks of the event log; they are inserted here.
  `create view hits as select ${columnsOfHit.join(', ')} from events where type in ('email.opened', 'email.clicked')`,
  // Adds an open or click to the event log, and counts it.
  `create trigger hits_come instead of insert on hits begin
    insert into events (${columnsOfHit.join(', ')})
      values (${columnsOfHit.map((column) => `new.${column}`).join(', ')});
    update email_metrics set ${addedHit} where ${isOfEvent};
    ${clickOfBroadcast}
  end`,
] as const

export const metrics = [...rollUps, ...ofChangedEmails, ...ofChangedEvents, ...hits] as const

/** The rows in which an email counts: of all domains and of its own, with none of its tags and with each of them. */
const rowsOfEmails = `json_each(json_array('', emails.from_domain)) as sender,
  json_each(json_insert(emails.tags, '$[#]', null)) as tag
  where (sender.key = 0 or sender.value <> '') and not exists (select 1 from json_each(emails.tags) as earlier
    where earlier.key < tag.key and ${tagOf('earlier.value')} = ${tagOf('tag.value')})`
const keyOfEmails = `emails.workspace_id, sender.value, coalesce(${tagOf('tag.value')}, ''), ${bucketOf('emails.')}`

/** Fills empty tables with what emails, events and links have. It goes email by email, so that memory stays small. */
export function countAgain(emailTable: string, linkTable: string): readonly string[] {
  const domains = `json_each(json_array('', emails.from_domain)) as sender`
  const linkKeyOf = (row: string, url: string): string =>
    `${row}workspace_id, sender.value, ${dayOf('emails.')}, ${url}`
  return [
    `insert into ${emailTable} (${metricsKey}, ${columnsOf(sums).join(', ')})
      select ${keyOfEmails}, ${valuesOfEmail('emails.')} from emails, ${rowsOfEmails} and true
      ${adding(columnsOf(sums))}`,
    `insert into ${emailTable} (${metricsKey}, ${ofEvents.join(', ')})
      select ${keyOfEmails}, ${valuesOfEvent('events.').join(', ')}
      from events cross join emails on emails.id = events.email_id, ${rowsOfEmails}
      and events.type in ('email.opened', 'email.clicked') ${adding(ofEvents)}`,
    `insert into ${linkTable} (${linkKey}, ${ofLinks.join(', ')})
      select ${linkKeyOf('links.', 'links.url')}, links.clicks, 1, links.first_clicked_at, links.last_clicked_at
      from links cross join emails on emails.id = links.email_id, ${domains}
      where links.clicks > 0 and octet_length(links.url) <= ${MAX_URL_BYTES} and (sender.key = 0 or sender.value <> '') ${addingLink}`,
    `insert into ${linkTable} (${linkKey}, ${ofLinks.join(', ')})
      select ${linkKeyOf('events.', `json_extract(events.data, '$.url')`)}, 1, 1, ${clickedAt('events.')}, ${clickedAt('events.')}
      from events cross join emails on emails.id = events.email_id, ${domains}
      where events.type = 'email.clicked' and not ${isMachine('events.')} and events.email_id >= 'bc-'
      and events.email_id < 'bc.' and octet_length(json_extract(events.data, '$.url')) <= ${MAX_URL_BYTES}
      and (sender.key = 0 or sender.value <> '') ${addingLink}`,
  ]
}
