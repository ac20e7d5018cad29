/** Adds emails, opens and clicks to the roll-ups, for each statement that changes emails or events. */
import { recipientColumns } from '../../schema/emails.js'
import { bucketOf, ofStates } from '../../schema/metrics.js'
import { isMachine } from './event-data.js'
import { addClicksInBroadcasts } from './link-metrics.js'
import {
  addToPresentRows,
  addToRows,
  createStatementTrigger,
  joinEmail,
  type Parts,
  type Totals,
} from './statement-triggers.js'

const metricsKey = ['workspace_id', 'domain', 'tag', 'bucket']
const columns = [...ofStates.map(({ column }) => column), ...recipientColumns]

const valuesIn = (row: string): readonly string[] => [
  ...ofStates.map(({ valueIn }) => `(${valueIn(row)})::int`),
  ...recipientColumns.map((column) => row + column),
]

/** The rows in which an email counts. */
const keyOf = (email: string): string =>
  `${email}.workspace_id, sender.domain, label.tag, ${bucketOf(`${email}.`)} as bucket`
const rowsOf = (email: string): string => `
  cross join lateral (select '' as domain union select ${email}.from_domain) as sender
  cross join lateral (select '' as tag union select (pair ->> 'name') || ':' || (pair ->> 'value')
    from json_array_elements(${email}.tags::json) as pair) as label`

const metricsOf = (sums: readonly string[], query: string): Parts => ({
  table: 'email_metrics',
  key: metricsKey,
  sums,
  query,
})

const addedEmails = `select ${keyOf('email')},
  ${valuesIn('email.')
    .map((value, at) => `${value} as ${columns[at]}`)
    .join(', ')}
  from added as email ${rowsOf('email')}`

const changedEmails = `select ${keyOf('new_row')},
  ${columns.map((column, at) => `${valuesIn('new_row.')[at]} - ${valuesIn('old_row.')[at]} as ${column}`).join(', ')}
  from old_rows as old_row join new_rows as new_row using (id) ${rowsOf('new_row')}`

export const emailMetrics: Totals = {
  replaces: ['come', 'change', 'go'].flatMap((on) => [`email_metrics_${on}`, `email_metrics_${on}_tagged`]),
  statements: [
    ...createStatementTrigger({
      name: 'email_metrics_come',
      event: 'insert',
      table: 'emails',
      body: addToRows(metricsOf(columns, addedEmails)),
    }),
    ...createStatementTrigger({
      name: 'email_metrics_change',
      event: 'update',
      table: 'emails',
      body: addToPresentRows(metricsOf(columns, changedEmails)),
    }),
    ...createStatementTrigger({
      name: 'email_metrics_go',
      event: 'delete',
      table: 'emails',
      body: addToPresentRows(
        metricsOf(['removed'], `select ${keyOf('email')}, 1 as removed from removed as email ${rowsOf('email')}`),
      ),
    }),
  ],
}

/** Opens and clicks of persons and of machines. */
const hitColumns = ['opens', 'clicks', 'machine_opens', 'machine_clicks']

const hitsIn = (rows: string, sign: '' | '-'): string => {
  const counted = ['email.opened', 'email.clicked'].map((type) => `hit.type = '${type}'`)
  const values = ['not ', ''].flatMap((no) => counted.map((isType) => `(${isType} and ${no}${isMachine('hit.')})::int`))
  return `select ${keyOf('email')}, ${values.map((value, at) => `${sign}${value} as ${hitColumns[at]}`).join(', ')}
    from ${rows} as hit ${joinEmail('emails', 'hit.email_id')} ${rowsOf('email')}
    where hit.type in ('email.opened', 'email.clicked')`
}

/**
 * The view is one into which PostgreSQL inserts by itself: its rows become rows of `events`, which are counted. Most
 * statements that insert events insert no hits, and pay for this one condition alone, a few µs.
 */
export const hitMetrics: Totals = {
  replaces: ['hits_come', 'email_metrics_hit_changed'],
  statements: [
    ...createStatementTrigger({
      name: 'email_metrics_hits_come',
      event: 'insert',
      table: 'events',
      condition: `exists (select 1 from added where type in ('email.opened', 'email.clicked'))`,
      body: addToPresentRows(metricsOf(hitColumns, hitsIn('added', ''))) + addClicksInBroadcasts,
    }),
    ...createStatementTrigger({
      name: 'email_metrics_hits_change',
      event: 'update',
      table: 'events',
      condition: `exists (select 1 from new_rows where type in ('email.opened', 'email.clicked'))`,
      body: addToPresentRows(metricsOf(hitColumns, `${hitsIn('old_rows', '-')} union all ${hitsIn('new_rows', '')}`)),
    }),
  ],
}
