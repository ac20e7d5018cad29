/**
 * Decides which emails a filter by status finds: emails with this status, and for `bounced` and `failed` also emails
 * with one recipient of this status. The conditions of these two must be the same as in the indexes `emails_bounced`
 * and `emails_failed`.
 */
import { type Compilable, type InferResult, type RawBuilder, sql } from 'kysely'
import { isTrue, textOf } from '../../../base/storage/db/dialect.js'
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
  /** Null for the emails that belong to no broadcast, unless `withBroadcasts` is true. */
  readonly broadcastId: string | null
  /** Also finds emails of broadcasts. No index has their statuses, so rows are compared with it one by one. */
  readonly withBroadcasts?: boolean
}

/** Whether a row has the status of the filter, where no index has it. */
export function hasStatus<Values extends Pick<Filtered, 'status'>>({
  slot,
}: StatementBuilder<Values>): RawBuilder<boolean> {
  const status = textOf(slot('status'))
  return sql<boolean>`(${status} is null or status = ${status}
    or (${status} = 'bounced' and ${ofRecipients.bounced}) or (${status} = 'failed' and ${ofRecipients.failed}))`
}

type ReadFiltered<Values, Rows> = (read: Read, values: Values & Filtered) => Awaitable<Rows>

type BuildFiltered<Values, Query> = (
  builder: StatementBuilder<Values & Filtered>,
  condition: RawBuilder<boolean>,
  compared: RawBuilder<boolean>,
) => Query

type FilteredReadFactory<Values> = <Query extends Compilable<unknown>>(
  build: BuildFiltered<Values, Query>,
) => ReadFiltered<Values, InferResult<Query>>

/**
 * Prepares a read for each kind of filter by broadcast and by status, because a condition that serves all kinds is in no
 * index. `build` gets the condition, and one that rows are compared with. Give `prepareLongRead` for what takes long.
 */
export function prepareFilteredRead<Values extends object>(prepareOne = prepareRead): FilteredReadFactory<Values> {
  return <Query extends Compilable<unknown>>(build: BuildFiltered<Values, Query>) => {
    const prepareStatuses = (toBroadcast: ToCondition<Values>) => {
      const prepare = (toStatus: ToCondition<Values>) =>
        prepareOne<Values & Filtered>()((builder) =>
          build(builder, sql<boolean>`${toBroadcast(builder)} and ${toStatus(builder)}`, sql<boolean>`true`),
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
    const ofAll = prepareOne<Values & Filtered>()((builder) => build(builder, sql<boolean>`true`, hasStatus(builder)))
    return (read, values) => {
      if (values.broadcastId !== null) return ofBroadcast[kindOf(values)](read, values)
      return values.withBroadcasts === true ? ofAll(read, values) : ofNone[kindOf(values)](read, values)
    }
  }
}

type ToCondition<Values> = (builder: StatementBuilder<Values & Filtered>) => RawBuilder<unknown>

function kindOf({ status }: Filtered): 'any' | 'status' | keyof typeof ofRecipients {
  if (status === null) return 'any'
  return findsByRecipient(status) ? status : 'status'
}
