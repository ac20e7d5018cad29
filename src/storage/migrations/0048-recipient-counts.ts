/**
 * An email has the numbers of its recipients in each state, and so do the roll-ups of metrics.
 *
 * A recipient is counted in one state: `complained` if it complained, otherwise its status, with those of a scheduled
 * email under `queued`. How many recipients an email had that was removed before is not known any more: the roll-ups count
 * it as one recipient.
 */
import { runStatements } from '../migrate.js'
import { addSums, type EmailSum, keepSums } from './0024-metrics.js'

const states = ['queued', 'sent', 'delivered', 'bounced', 'failed', 'suppressed', 'cancelled', 'complained'] as const
const columns = states.map((state) => `recipients_${state}`)
const added = columns.map((column) => `${column} integer not null default 0`)

/** An expression for each of `columns`, in their order. */
const ofRecipients = states.map((state) => {
  if (state === 'complained') return 'count(complained_at)'
  const isIn = state === 'queued' ? `status in ('queued', 'scheduled')` : `status = '${state}'`
  return `sum(${isIn} and complained_at is null)`
})

/** A row for each email that has recipients: its id and the columns. */
export const countedRecipients = `select email_id, ${ofRecipients
  .map((sum, at) => `${sum} as ${columns[at]}`)
  .join(', ')} from recipients group by email_id`

export const recipientSums: readonly EmailSum[] = columns.map((column) => ({
  column,
  valueIn: (row) => `${row}${column}`,
  from: column,
}))

/** What a removed email counts as, of the columns of its bucket: one recipient in the state of the email. */
const asOneRecipient: Readonly<Record<(typeof states)[number], string>> = {
  ...{ queued: 'queued + scheduled', sent: 'sent', delivered: 'delivered', bounced: 'bounced', failed: 'failed' },
  ...{ suppressed: '0', cancelled: 'cancelled', complained: 'complained' },
}
const statusOf = (state: (typeof states)[number]): string =>
  state === 'queued' ? `emails.status in ('queued', 'scheduled')` : `emails.status = '${state}'`

/** What is to be added for an email whose recipients are not one in the state of the email; 0 for all others. */
const differences: readonly EmailSum[] = states.map((state) => {
  const column = `recipients_${state}`
  return { column, valueIn: () => `emails.${column} - (${statusOf(state)})`, from: column }
})

/** Whether the list of emails of a status has an email; `row`: empty, or as `new.`. */
const isListed = {
  bounced: (row: string) => `(${row}recipients_bounced > 0)`,
  failed: (row: string) => `(${row}recipients_failed > 0 or ${row}status = 'failed')`,
} as const

const countListed = (row: 'new' | 'old', status: string, by: string): string =>
  `insert into email_counts (workspace_id, status, count, listed) values (${row}.workspace_id, '${status}', 0, ${by})
    on conflict (workspace_id, status) do update set listed = listed + excluded.listed;`

/** They leave messages of broadcasts out, which have one recipient each: `broadcast_counts` counts those. */
const keepListed = (['bounced', 'failed'] as const).flatMap((status) => [
  `create trigger emails_${status}_come after insert on emails
    when new.broadcast_id is null and ${isListed[status]('new.')} begin
    ${countListed('new', status, '1')}
  end`,
  `create trigger emails_${status}_change after update of status, recipients_${status} on emails
    when new.broadcast_id is null and ${isListed[status]('new.')} <> ${isListed[status]('old.')} begin
    ${countListed('new', status, `${isListed[status]('new.')} - ${isListed[status]('old.')}`)}
  end`,
  `create trigger emails_${status}_go after delete on emails
    when old.broadcast_id is null and ${isListed[status]('old.')} begin
    ${countListed('old', status, '-1')}
  end`,
])

const fillListed = (['bounced', 'failed'] as const).flatMap((status) => [
  // The condition is a key too: otherwise SQLite takes the index of all emails, and compares row by row.
  `create index emails_${status} on emails (workspace_id, broadcast_id, ${isListed[status]('')}, created_at)
    where ${isListed[status]('')} = 1`,
  `insert into email_counts (workspace_id, status, count, listed)
    select workspace_id, '${status}', 0, count(*) from emails where broadcast_id is null and ${isListed[status]('')}
    group by workspace_id on conflict (workspace_id, status) do update set listed = excluded.listed`,
])

/** Emails whose buckets are still there. */
const isCounted = 'emails.created_at >= (select min(bucket) from email_metrics)'
const isDifferent = `(${differences.map(({ valueIn }) => `(${valueIn('')}) <> 0`).join(' or ')})`

export const up = runStatements([
  'alter table recipients add column complained_at integer',
  ...added.flatMap((column) => [
    `alter table emails add column ${column}`,
    `alter table email_metrics add column ${column}`,
  ]),
  'alter table email_counts add column listed integer not null default 0',
  `update recipients set complained_at = events.created_at from events
    where events.type = 'email.complained' and recipients.email_id = events.email_id
    and lower(recipients.address) = lower(events.recipient)`,
  // A complaint that the log no longer has is that of the only recipient.
  `update recipients set complained_at = coalesce(settled_at, created_at)
    where complained_at is null and email_id in (select id from emails where status = 'complained')
    and (select count(*) from recipients as each where each.email_id = recipients.email_id) = 1`,
  'drop trigger email_metrics_come',
  'drop trigger email_metrics_come_tagged',
  'drop trigger email_metrics_change',
  'drop trigger email_metrics_change_tagged',
  `update emails set ${columns.map((column) => `${column} = counted.${column}`).join(', ')}
    from (${countedRecipients}) as counted where counted.email_id = emails.id`,
  `update email_metrics set ${states.map((state) => `recipients_${state} = ${asOneRecipient[state]}`).join(', ')}`,
  addSums('email_metrics', differences, `${isCounted} and ${isDifferent}`),
  ...fillListed,
  ...keepSums(recipientSums),
  ...keepListed,
])
