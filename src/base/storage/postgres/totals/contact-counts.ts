/** Counts contacts, for each statement that changes them. */
import { addToRows, createStatementTrigger, type Parts, type Totals } from './statement-triggers.js'

/** What these rows count in their workspace and in their audience. */
const countedIn = (rows: string, sign: '' | '-'): string => `
  select workspace_id, 'all' as list, ${sign}1 as count, ${sign}subscribed as subscribed from ${rows}
  union all select workspace_id, audience_id, ${sign}1, ${sign}subscribed from ${rows} where audience_id is not null`

const countsOf = (query: string): Parts => ({
  table: 'contact_counts',
  key: ['workspace_id', 'list'],
  sums: ['count', 'subscribed'],
  query,
})

export const contactCounts: Totals = {
  replaces: ['contacts_come', 'contacts_go', 'contacts_move', 'contacts_subscribe'],
  statements: [
    ...createStatementTrigger({
      name: 'contact_counts_come',
      event: 'insert',
      table: 'contacts',
      body: addToRows(countsOf(countedIn('added', ''))),
    }),
    ...createStatementTrigger({
      name: 'contact_counts_change',
      event: 'update',
      table: 'contacts',
      body: addToRows({
        ...countsOf(`${countedIn('old_rows', '-')} union all ${countedIn('new_rows', '')}`),
        skipsZero: true,
      }),
    }),
    ...createStatementTrigger({
      name: 'contact_counts_go',
      event: 'delete',
      table: 'contacts',
      body: addToRows(countsOf(countedIn('removed', '-'))),
    }),
  ],
}
