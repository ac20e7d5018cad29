/** Counts emails by status, and those of a broadcast, for each statement that changes emails. */
import { countedStatuses } from '../../schema/broadcasts.js'
import { isListed } from '../../schema/emails.js'
import { addToPresentRows, addToRows, createStatementTrigger, type Parts, type Totals } from './statement-triggers.js'

/** What these rows count: under their status, and in the lists that depend on recipients. */
const countedIn = (rows: string, sign: '' | '-'): string => `
  select workspace_id, status, ${sign}1 as count, 0 as listed from ${rows} where broadcast_id is null
  union all select workspace_id, 'bounced', 0, ${sign}1 from ${rows}
    where broadcast_id is null and ${isListed.bounced('')}
  union all select workspace_id, 'failed', 0, ${sign}1 from ${rows}
    where broadcast_id is null and ${isListed.failed('')}`

const countsOf = (query: string): Parts => ({
  table: 'email_counts',
  key: ['workspace_id', 'status'],
  sums: ['count', 'listed'],
  query,
})

export const emailCounts: Totals = {
  replaces: [
    ...['emails_come', 'emails_go', 'emails_change'],
    ...['bounced', 'failed'].flatMap((status) => ['come', 'change', 'go'].map((on) => `emails_${status}_${on}`)),
  ],
  statements: [
    ...createStatementTrigger({
      name: 'email_counts_come',
      event: 'insert',
      table: 'emails',
      body: addToRows(countsOf(countedIn('added', ''))),
    }),
    ...createStatementTrigger({
      name: 'email_counts_change',
      event: 'update',
      table: 'emails',
      body: addToRows({
        ...countsOf(`${countedIn('old_rows', '-')} union all ${countedIn('new_rows', '')}`),
        skipsZero: true,
      }),
    }),
    ...createStatementTrigger({
      name: 'email_counts_go',
      event: 'delete',
      table: 'emails',
      body: addToRows(countsOf(countedIn('removed', '-'))),
    }),
  ],
}

/** A click is taken back when it was a scanner's, and an open is not. */
const changedEmails = `select new_row.broadcast_id, new_row.workspace_id, ${countedStatuses
  .map((status) => `(new_row.status = '${status}')::int - (old_row.status = '${status}')::int as ${status}`)
  .join(', ')},
  (old_row.opened_at is null and new_row.opened_at is not null)::int as unique_opens,
  (new_row.clicked_at is not null)::int - (old_row.clicked_at is not null)::int as unique_clicks
  from old_rows as old_row join new_rows as new_row using (id) where new_row.broadcast_id is not null`

const changedMessages = `select new_row.broadcast_id, new_row.workspace_id,
  (new_row.unsubscribed_at is not null)::int - (old_row.unsubscribed_at is not null)::int as unsubscribed
  from old_rows as old_row join new_rows as new_row using (email_id)`

const ofBroadcast = {
  table: 'broadcast_counts',
  key: ['broadcast_id', 'workspace_id'],
  identity: ['broadcast_id'],
} as const

export const broadcastCounts: Totals = {
  replaces: [
    ...['broadcast_emails_come', 'broadcast_emails_change', 'broadcast_emails_opened', 'broadcast_emails_clicked'],
    'broadcast_unsubscribed',
  ],
  statements: [
    ...createStatementTrigger({
      name: 'broadcast_counts_come',
      event: 'insert',
      table: 'emails',
      body: addToRows({
        ...ofBroadcast,
        sums: ['recipients', 'queued'],
        query:
          'select broadcast_id, workspace_id, 1 as recipients, 1 as queued from added where broadcast_id is not null',
      }),
    }),
    ...createStatementTrigger({
      name: 'broadcast_counts_change',
      event: 'update',
      table: 'emails',
      body: addToPresentRows({
        ...ofBroadcast,
        sums: [...countedStatuses, 'unique_opens', 'unique_clicks'],
        query: changedEmails,
      }),
    }),
    ...createStatementTrigger({
      name: 'broadcast_counts_unsubscribe',
      event: 'update',
      table: 'broadcast_messages',
      body: addToPresentRows({ ...ofBroadcast, sums: ['unsubscribed'], query: changedMessages }),
    }),
  ],
}
