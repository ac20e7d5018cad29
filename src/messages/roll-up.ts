/**
 * Sets an email's status from its recipients, in the same commit that changed them.
 *
 * Done by the database in one statement, because two recipients of one email may be
 * settled at the same moment: whoever is written last sees the other.
 */
import { sql } from 'kysely'
import { prepareWrite } from '../storage/prepared.js'
import type { EmailStatus } from '../storage/tables/email-tables.js'
import { rollUpRanks } from './states.js'

const rankCases = sql.join(
  rollUpRanks.map(({ status }, rank) => sql`when ${sql.lit(status)} then ${sql.lit(rank)}`),
  sql` `,
)
const statusCases = sql.join(
  rollUpRanks.map(({ rolledUp }, rank) => sql`when ${sql.lit(rank)} then ${sql.lit(rolledUp)}`),
  sql` `,
)

const rolledUpStatus = sql<EmailStatus>`(
  select case min(case r.status ${rankCases} end) ${statusCases} end from recipients as r where r.email_id = emails.id)`

interface EmailTimes {
  readonly emailId: string
  readonly sentAt: number | null
  readonly deliveredAt: number | null
  readonly bouncedAt: number | null
}

/** Moments that are null, or were set before, stay as they are. */
export const rollUpEmail = prepareWrite<EmailTimes>(({ db, slot }) =>
  db
    .updateTable('emails')
    .set({
      status: rolledUpStatus,
      sent_at: sql`coalesce(sent_at, ${slot('sentAt')})`,
      delivered_at: sql`coalesce(delivered_at, ${slot('deliveredAt')})`,
      bounced_at: sql`coalesce(bounced_at, ${slot('bouncedAt')})`,
    })
    .where('id', '=', slot('emailId'))
    .where('status', '<>', 'complained'),
)
