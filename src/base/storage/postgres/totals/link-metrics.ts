/** Adds clicks to the roll-ups of links, for each statement that changes links or events. */
import { dayOf, MAX_URL_BYTES } from '../../schema/metrics.js'
import { clickedAt, isMachine, urlOf } from './event-data.js'
import {
  addToEachPresentRow,
  addToRows,
  createStatementTrigger,
  joinEmail,
  type Parts,
  type Totals,
} from './statement-triggers.js'

const key = ['workspace_id', 'domain', 'day', 'url']
const sums = ['clicks', 'unique_clicks']

/** The rows in which a click on a link of an email counts. */
const ofSender = `cross join lateral (select '' as domain union select email.from_domain) as sender`

const linksOf = (query: string): Parts => ({
  table: 'link_metrics',
  key,
  sums,
  least: ['first_clicked_at'],
  greatest: ['last_clicked_at'],
  query,
})

/** Times that do not count, because every other one is earlier or later. They are in a row that only takes clicks back. */
const noTimes = `${Number.MAX_SAFE_INTEGER} as first_clicked_at, 0 as last_clicked_at`

/** Takes clicks back, and removes the rows of this writer that say nothing any more. */
const removeLinks = (query: string): string =>
  addToEachPresentRow(
    linksOf(query),
    `if result.clicks = 0 and result.unique_clicks = 0 then
      delete from link_metrics where ${[...key, 'slot'].map((name) => `${name} = result.${name}`).join(' and ')};
    end if;`,
  )

const bothLinks = 'old_rows as old_row join new_rows as new_row using (id)'

const clicked = `select new_row.workspace_id, sender.domain, ${dayOf('email.')} as day, new_row.url,
  new_row.clicks - old_row.clicks as clicks, (old_row.clicks = 0)::int as unique_clicks,
  new_row.first_clicked_at, new_row.last_clicked_at
  from ${bothLinks} ${joinEmail('emails', 'new_row.email_id')} ${ofSender}
  where new_row.clicks > old_row.clicks and octet_length(new_row.url) <= ${MAX_URL_BYTES}`

const cleared = `select new_row.workspace_id, sender.domain, ${dayOf('email.')} as day,
  new_row.url, new_row.clicks - old_row.clicks as clicks,
  -(new_row.clicks = 0)::int as unique_clicks, ${noTimes}
  from ${bothLinks} ${joinEmail('emails', 'new_row.email_id')} ${ofSender}
  where new_row.clicks < old_row.clicks`

/** Emails of broadcasts have no rows of links, and one click of a person each. */
const isOfBroadcast = (row: string): string =>
  `${row}type = 'email.clicked' and ${row}email_id >= 'bc-' and ${row}email_id < 'bc.'`
const isShort = (row: string): string => `octet_length(${urlOf(row)}) <= ${MAX_URL_BYTES}`

const clickedInBroadcasts = `select event.workspace_id, sender.domain, ${dayOf('email.')} as day,
  ${urlOf('event.')} collate "C" as url, 1 as clicks, 1 as unique_clicks,
  ${clickedAt('event.')} as first_clicked_at, ${clickedAt('event.')} as last_clicked_at
  from added as event ${joinEmail('emails', 'event.email_id')} ${ofSender}
  where ${isOfBroadcast('event.')} and ${isShort('event.')} and not ${isMachine('event.')}`

const clearedInBroadcasts = `select new_row.workspace_id, sender.domain, ${dayOf('email.')} as day,
  ${urlOf('new_row.')} collate "C" as url, -1 as clicks, -1 as unique_clicks, ${noTimes}
  from old_rows as old_row join new_rows as new_row using (seq)
    ${joinEmail('emails', 'new_row.email_id')} ${ofSender}
  where ${isOfBroadcast('new_row.')} and ${isShort('new_row.')}
    and not ${isMachine('old_row.')} and ${isMachine('new_row.')}`

/** Counts the clicks among events that are added. */
export const addClicksInBroadcasts = addToRows(linksOf(clickedInBroadcasts))

export const linkMetrics: Totals = {
  replaces: ['link_metrics_clicked', 'link_metrics_cleared', 'link_metrics_broadcast_changed'],
  statements: [
    ...createStatementTrigger({
      name: 'link_metrics_change',
      event: 'update',
      table: 'links',
      body: `${addToRows(linksOf(clicked))} ${removeLinks(cleared)}`,
    }),
    ...createStatementTrigger({
      name: 'link_metrics_broadcasts_change',
      event: 'update',
      table: 'events',
      condition: `exists (select 1 from new_rows where ${isOfBroadcast('')})`,
      body: removeLinks(clearedInBroadcasts),
    }),
  ],
}
