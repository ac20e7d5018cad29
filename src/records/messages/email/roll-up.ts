/**
 * The status of a recipient, and the status of an email rolled up from its recipients.
 *
 *   scheduled  waits for its time            queued     waits for an attempt, or is held
 *   sent       a next hop accepted it        delivered  an MX of the recipient's domain accepted it
 *   bounced    refused permanently, or expired after only temporary refusals
 *   failed     no server was ever reached, or the operator or the removal of the domain ended it
 *   suppressed the address is on the suppression list: not tried, or not tried again
 *   cancelled  cancelled while scheduled
 *
 * The roll-up is the first status, in the order below, that any recipient has. Only a complaint sets `complained` on an
 * email, and nothing replaces it. Columns of the email tell how many recipients are in each state
 * (`recipient-counts.ts`).
 */
import { type RawBuilder, sql } from 'kysely'
import { prepareWrite } from '../../../base/storage/db/prepared.js'
import type { EmailStatus, RecipientStatus } from '../../../base/storage/tables/email-tables.js'
import { type RecipientCountColumn, recipientCountColumns, statusesIn } from './recipient-counts.js'

const statusOrder: readonly RecipientStatus[] = [
  'queued',
  'scheduled',
  'delivered',
  'sent',
  'bounced',
  'failed',
  'cancelled',
  'suppressed',
]

/** Returns the status of an email whose recipients have `statuses`. `failed` if all are suppressed. */
export function rollUp(statuses: readonly RecipientStatus[]): EmailStatus {
  const first = statusOrder.find((status) => statuses.includes(status))
  return first === undefined || first === 'suppressed' ? 'failed' : first
}

/** The rank of each status, and the result for each rank, for SQL. */
const rollUpRanks: readonly { readonly status: RecipientStatus; readonly rolledUp: EmailStatus }[] = statusOrder.map(
  (status) => ({ status, rolledUp: rollUp([status]) }),
)

const rankCases = sql.join(
  rollUpRanks.map(({ status }, rank) => sql`when ${sql.lit(status)} then ${sql.lit(rank)}`),
  sql` `,
)
const statusCases = sql.join(
  rollUpRanks.map(({ rolledUp }, rank) => sql`when ${sql.lit(rank)} then ${sql.lit(rolledUp)}`),
  sql` `,
)

const rolledUpStatus = sql<EmailStatus>`case min(case status ${rankCases} end) ${statusCases} end`

function countUnder(column: RecipientCountColumn): RawBuilder<number> {
  if (column === 'recipients_complained') return sql`count(complained_at)`
  const statuses = sql.join(statusesIn[column].map((status) => sql.lit(status)))
  return sql`count(*) filter (where status in (${statuses}) and complained_at is null)`
}

const countedColumns = sql`(status, ${sql.join(recipientCountColumns.map((column) => sql.ref(column)))})`
const rolledUp = sql`case when emails.status = 'complained' then 'complained' else ${rolledUpStatus} end,
  ${sql.join(recipientCountColumns.map(countUnder))}`

interface EmailTimes {
  readonly emailId: string
  readonly sentAt: number | null
  readonly deliveredAt: number | null
  readonly bouncedAt: number | null
}

/**
 * Sets an email's status and counts from its recipients, in the commit that changed them. It is one statement, because
 * two recipients of an email may be settled at the same moment, and the later write has to see the earlier one. Moments
 * that are null, or were set before, stay as they are.
 */
export const rollUpEmail = prepareWrite<EmailTimes>(({ db, slot }) =>
  db
    .updateTable('emails')
    .set(countedColumns, sql`(select ${rolledUp} from recipients where email_id = ${slot('emailId')})`)
    .set({
      sent_at: sql`coalesce(sent_at, ${slot('sentAt')})`,
      delivered_at: sql`coalesce(delivered_at, ${slot('deliveredAt')})`,
      bounced_at: sql`coalesce(bounced_at, ${slot('bouncedAt')})`,
    })
    .where('id', '=', slot('emailId')),
)
