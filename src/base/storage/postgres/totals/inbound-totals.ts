/** Counts what inbound mail takes, the entries of the greylist and what spam filters know, for each statement. */
import { weightOfRecord } from '../../schema/inbound.js'
import {
  addToPresentRows,
  addToRows,
  createStatementTrigger,
  joinEmail,
  type Parts,
  type Totals,
} from './statement-triggers.js'

const bytesOf = (query: string): Parts => ({ table: 'inbound_totals', key: ['workspace_id'], sums: ['bytes'], query })

/** Their records are there. */
const bytesIn = (rows: string, sign: '' | '-'): string =>
  `select email.workspace_id, ${sign}email.size as bytes
    from ${rows} as message ${joinEmail('inbound_emails', 'message.inbound_id')}`

export const inboundTotals: Totals = {
  replaces: ['inbound_raw_comes', 'inbound_raw_goes', 'inbound_emails_come', 'inbound_emails_go'],
  statements: [
    ...createStatementTrigger({
      name: 'inbound_totals_bytes_come',
      event: 'insert',
      table: 'inbound_raw',
      body: addToRows(bytesOf(bytesIn('added', ''))),
    }),
    ...createStatementTrigger({
      name: 'inbound_totals_bytes_go',
      event: 'delete',
      table: 'inbound_raw',
      body: addToPresentRows(bytesOf(bytesIn('removed', '-'))),
    }),
    ...createStatementTrigger({
      name: 'inbound_totals_records_come',
      event: 'insert',
      table: 'inbound_emails',
      body: addToRows(bytesOf(`select workspace_id, ${weightOfRecord('')} as bytes from added`)),
    }),
    ...createStatementTrigger({
      name: 'inbound_totals_records_go',
      event: 'delete',
      table: 'inbound_emails',
      body: addToPresentRows(
        bytesOf(`select workspace_id, -(${weightOfRecord('')})
          - case when (select true from inbound_raw where inbound_id = removed.id limit 1) then size else 0 end as bytes
          from removed`),
      ),
    }),
  ],
}

const entriesIn = (rows: string, sign: '' | '-'): string =>
  `select case passes when 0 then 'waiting' else 'known' end as kind, ${sign}1 as entries from ${rows}`

const entriesOf = (query: string): string =>
  addToRows({ table: 'greylist_totals', key: ['kind'], sums: ['entries'], query, skipsZero: true })

export const greylistTotals: Totals = {
  replaces: ['greylist_entries_come', 'greylist_entries_go', 'greylist_entries_pass'],
  statements: [
    ...createStatementTrigger({
      name: 'greylist_totals_come',
      event: 'insert',
      table: 'greylist_entries',
      body: entriesOf(entriesIn('added', '')),
    }),
    ...createStatementTrigger({
      name: 'greylist_totals_go',
      event: 'delete',
      table: 'greylist_entries',
      body: entriesOf(entriesIn('removed', '-')),
    }),
    ...createStatementTrigger({
      name: 'greylist_totals_change',
      event: 'update',
      table: 'greylist_entries',
      body: entriesOf(`${entriesIn('old_rows', '-')} union all ${entriesIn('new_rows', '')}`),
    }),
  ],
}

const tokensIn = (rows: string, sign: '' | '-'): Parts => ({
  table: 'bayes_counts',
  key: ['workspace_id'],
  sums: ['tokens'],
  query: `select workspace_id, ${sign}1 as tokens from ${rows}`,
})

export const tokenCounts: Totals = {
  replaces: ['bayes_tokens_counted', 'bayes_tokens_uncounted'],
  statements: [
    ...createStatementTrigger({
      name: 'bayes_counts_come',
      event: 'insert',
      table: 'bayes_tokens',
      body: addToRows(tokensIn('added', '')),
    }),
    ...createStatementTrigger({
      name: 'bayes_counts_go',
      event: 'delete',
      table: 'bayes_tokens',
      body: addToPresentRows(tokensIn('removed', '-')),
    }),
  ],
}
