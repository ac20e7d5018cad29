/**
 * Counts how many recipients of an email are in each state. The email itself has only one status.
 *
 * A recipient counts once: as `complained` if it complained, otherwise by its status, and under `queued` while its
 * email is scheduled. `roll-up.ts` sets the columns in the commit that changes a recipient.
 */
import type { Selectable } from 'kysely'
import type { RecipientStatus } from '../../../base/storage/tables/email-tables.js'
import type { Tables } from '../../../base/storage/tables/tables.js'

type EmailRow = Selectable<Tables['emails']>
export type RecipientCountColumn = Extract<keyof EmailRow, `recipients_${string}`>
type CountedState = RecipientCountColumn extends `recipients_${infer State}` ? State : never

type CountedRecipient = Pick<Selectable<Tables['recipients']>, 'status' | 'complained_at'>

export type RecipientCounts = Readonly<Record<CountedState, number>>

export const recipientCountColumns = [
  'recipients_queued',
  'recipients_sent',
  'recipients_delivered',
  'recipients_bounced',
  'recipients_failed',
  'recipients_suppressed',
  'recipients_cancelled',
  'recipients_complained',
] as const satisfies readonly RecipientCountColumn[]

export function toRecipientCounts(row: Pick<EmailRow, RecipientCountColumn>): RecipientCounts {
  return {
    queued: row.recipients_queued,
    sent: row.recipients_sent,
    delivered: row.recipients_delivered,
    bounced: row.recipients_bounced,
    failed: row.recipients_failed,
    suppressed: row.recipients_suppressed,
    cancelled: row.recipients_cancelled,
    complained: row.recipients_complained,
  }
}

export function countRecipients(recipients: readonly CountedRecipient[]): RecipientCounts {
  const counts = {
    ...{ queued: 0, sent: 0, delivered: 0, bounced: 0, failed: 0 },
    suppressed: 0,
    cancelled: 0,
    complained: 0,
  }
  for (const { status, complained_at } of recipients) {
    const state = status === 'scheduled' ? 'queued' : status
    counts[complained_at === null ? state : 'complained']++
  }
  return counts
}

/** The statuses of a recipient that each column counts, as long as the recipient did not complain. */
export const statusesIn: Readonly<Record<RecipientCountColumn, readonly RecipientStatus[]>> = {
  recipients_queued: ['queued', 'scheduled'],
  recipients_sent: ['sent'],
  recipients_delivered: ['delivered'],
  recipients_bounced: ['bounced'],
  recipients_failed: ['failed'],
  recipients_suppressed: ['suppressed'],
  recipients_cancelled: ['cancelled'],
  recipients_complained: [],
}
