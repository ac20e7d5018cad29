/** Checks of `verify-data`: stored counts against the rows that they count. */
import { CACHED_FILE_ROW_BYTES } from '../schema/content.js'
import { countedRecipients, recipientColumns } from '../schema/emails.js'
import { weightOfRecord } from '../schema/inbound.js'

/** While a workspace is being erased, some of its rows are gone before others. */
export const notErasing = 'workspace_id not in (select id from erasures)'

const counted = {
  ...Object.fromEntries(
    (['scheduled', 'queued', 'sent', 'delivered', 'bounced', 'failed', 'cancelled', 'complained'] as const).map(
      (status) => [status, `sum(status = '${status}')`],
    ),
  ),
  unique_opens: 'sum(opened_at is not null)',
  unique_clicks: 'sum(clicked_at is not null)',
}

const storedCounts = `select broadcast_id, ${['recipients', 'unsubscribed', ...Object.keys(counted)]
  .map((name) => `sum(${name}) as ${name}`)
  .join(', ')} from broadcast_counts group by broadcast_id`

/** Old emails are removed, and subtracted from no count: only the counts of a broadcast that has all are known. */
const broadcastCounts = `with counted as (
    select broadcast_id, count(*) as recipients,
      ${Object.entries(counted)
        .map(([name, sum]) => `${sum} as ${name}`)
        .join(', ')}
    from emails where broadcast_id is not null and ${notErasing} group by broadcast_id)
  select counted.broadcast_id from counted left join (${storedCounts}) as stored using (broadcast_id)
    where (stored.broadcast_id is null and exists (select 1 from broadcasts where id = counted.broadcast_id))
    or stored.recipients < counted.recipients
    or stored.unsubscribed < (select count(*) from broadcast_messages as message
      where message.broadcast_id = counted.broadcast_id and unsubscribed_at is not null)
    or (stored.recipients = counted.recipients
      and (${Object.keys(counted)
        .map((name) => `stored.${name} <> counted.${name}`)
        .join(' or ')}))`

/** `sql` selects the ids of rows that are wrong. */
export const countChecks = [
  {
    check: 'email-counts',
    message: 'stored counts of emails that differ from the rows',
    sql: `select workspace_id || ' ' || status from (
        select workspace_id, status, count(*) as count, 0 as listed from emails
          where broadcast_id is null group by workspace_id, status
        union all select workspace_id, 'bounced', 0, count(*) from emails
          where broadcast_id is null and recipients_bounced > 0 group by workspace_id
        union all select workspace_id, 'failed', 0, count(*) from emails
          where broadcast_id is null and (recipients_failed > 0 or status = 'failed') group by workspace_id
        union all select workspace_id, status, -count, -listed from email_counts)
      group by workspace_id, status having sum(count) <> 0 or sum(listed) <> 0`,
  },
  {
    check: 'recipient-counts',
    message: 'emails whose stored counts of recipients differ from the recipients',
    sql: `select emails.id from emails left join (${countedRecipients}) as counted on counted.email_id = emails.id
      where ${notErasing} and (${recipientColumns
        .map((column) => `emails.${column} <> coalesce(counted.${column}, 0)`)
        .join(' or ')})`,
  },
  {
    check: 'broadcast-counts',
    message: 'broadcasts whose stored counts differ from their emails',
    sql: broadcastCounts,
  },
  {
    check: 'contact-counts',
    message: 'stored counts of contacts that differ from the rows',
    sql: `select workspace_id || ' ' || list from (
        select workspace_id, audience_id as list, count(*) as count, sum(subscribed) as subscribed from contacts
          where audience_id is not null group by workspace_id, audience_id
        union all select workspace_id, 'all', count(*), sum(subscribed) from contacts group by workspace_id
        union all select workspace_id, list, -count, -subscribed from contact_counts)
      group by workspace_id, list having sum(count) <> 0 or sum(subscribed) <> 0`,
  },
  {
    check: 'cached-file-totals',
    message: 'stored sizes of cached files that differ from the rows',
    sql: `select workspace_id from (
        select workspace_id, sum(size + ${CACHED_FILE_ROW_BYTES}) as bytes from cached_files group by workspace_id
        union all select workspace_id, -bytes from cached_file_totals)
      where ${notErasing} group by workspace_id having sum(bytes) <> 0`,
  },
  {
    check: 'inbound-totals',
    message: 'stored sizes of inbound mail that differ from the rows',
    sql: `select workspace_id from (
        select workspace_id, ${weightOfRecord('')} + case when exists (
          select 1 from inbound_raw where inbound_raw.inbound_id = inbound_emails.id) then size else 0 end as bytes
          from inbound_emails
        union all select workspace_id, -bytes from inbound_totals)
      where ${notErasing} group by workspace_id having sum(bytes) <> 0`,
  },
] as const
