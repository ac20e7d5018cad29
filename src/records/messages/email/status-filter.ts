/**
 * Decides which emails a filter by status finds: emails with this status, and for `bounced` and `failed` also emails
 * with one recipient of this status. The conditions of these two must be the same as in the indexes `emails_bounced`
 * and `emails_failed`.
 */
import { type Compilable, type InferResult, type RawBuilder, sql } from 'kysely'
import { isTrue } from '../../../base/storage/db/dialect.js'
import { type Awaitable, prepareRead, type Read, type StatementBuilder } from '../../../base/storage/db/prepared.js'
import type { EmailStatus } from '../../../base/storage/tables/email-tables.js'

const ofRecipients = {
  bounced: sql`recipients_bounced > 0`,
  failed: sql`recipients_failed > 0 or status = 'failed'`,
} as const

/** If true, `email_counts.listed` counts what the filter finds, and `count` does not. */
export function findsByRecipient(status: EmailStatus): status is keyof typeof ofRecipients {
  return status in ofRecipients
}

interface Filtered {
  /** Null for any status. */
  readonly status: EmailStatus | null
  /** Null for the emails that belong to no broadcast. */
  readonly broadcastId: string | null
}

type ReadFiltered<Values, Rows> = (read: Read, values: Values & Filtered) => Awaitable<Rows>

type FilteredReadFactory<Values> = <Query extends Compilable<unknown>>(
  build: (builder: StatementBuilder<Values & Filtered>, condition: RawBuilder<boolean>) => Query,
) => ReadFiltered<Values, InferResult<Query>>

/**
 * Prepares a read for each kind of filter by broadcast and by status, because a condition that serves all kinds is in no
 * index. `build` gets the condition. Give `prepareLongRead` for what takes long.
 */
export function prepareFilteredRead<Values extends object>(prepareOne = prepareRead): FilteredReadFactory<Values> {
  return <Query extends Compilable<unknown>>(
    build: (builder: StatementBuilder<Values & Filtered>, condition: RawBuilder<boolean>) => Query,
  ) => {
    const prepareStatuses = (toBroadcast: ToCondition<Values>) => {
      const prepare = (toStatus: ToCondition<Values>) =>
        prepareOne<Values & Filtered>()((builder) =>
          build(builder, sql<boolean>`${toBroadcast(builder)} and ${toStatus(builder)}`),
        )
      return {
        any: prepare(() => sql`true`),
        status: prepare(({ slot }) => sql`status = ${slot('status')}`),
        bounced: prepare(() => isTrue(ofRecipients.bounced)),
        failed: prepare(() => isTrue(ofRecipients.failed)),
      }
    }
    const ofNone = prepareStatuses(() => sql`broadcast_id is null`)
    const ofBroadcast = prepareStatuses(({ slot }) => sql`broadcast_id = ${slot('broadcastId')}`)
    return (read, values) => (values.broadcastId === null ? ofNone : ofBroadcast)[kindOf(values)](read, values)
  }
}

type ToCondition<Values> = (builder: StatementBuilder<Values & Filtered>) => RawBuilder<unknown>

function kindOf({ status }: Filtered): 'any' | 'status' | keyof typeof ofRecipients {
  if (status === null) return 'any'
  return findsByRecipient(status) ? status : 'status'
}
