/**
 * Decides which emails a filter by status finds: emails with this status, and for `bounced` and `failed` also emails
 * with one recipient of this status. The conditions of these two must be the same as in the indexes `emails_bounced`
 * and `emails_failed`.
 */
import { type Compilable, type InferResult, type RawBuilder, sql } from 'kysely'
import { type Awaitable, prepareRead, type Read, type StatementBuilder } from '../../../base/storage/db/prepared.js'
import type { EmailStatus } from '../../../base/storage/tables/email-tables.js'

const ofRecipients = {
  bounced: sql<boolean>`(recipients_bounced > 0) = 1`,
  failed: sql<boolean>`(recipients_failed > 0 or status = 'failed') = 1`,
} as const

/** If true, `email_counts.listed` counts what the filter finds, and `count` does not. */
export function findsByRecipient(status: EmailStatus): status is keyof typeof ofRecipients {
  return status in ofRecipients
}

interface Filtered {
  /** Null for any status. */
  readonly status: EmailStatus | null
}

type ReadFiltered<Values, Rows> = (read: Read, values: Values & Filtered) => Awaitable<Rows>

type FilteredReadFactory<Values> = <Query extends Compilable<unknown>>(
  build: (builder: StatementBuilder<Values & Filtered>, condition: RawBuilder<boolean>) => Query,
) => ReadFiltered<Values, InferResult<Query>>

/** Prepares a read for each kind of filter. `build` gets the condition. Give `prepareLongRead` for what takes long. */
export function prepareFilteredRead<Values extends object>(prepareOne = prepareRead): FilteredReadFactory<Values> {
  return (build) => {
    const prepare = prepareOne<Values & Filtered>()
    const readAny = prepare((builder) => build(builder, sql<boolean>`true`))
    const readStatus = prepare((builder) => build(builder, sql<boolean>`status = ${builder.slot('status')}`))
    const readBounced = prepare((builder) => build(builder, ofRecipients.bounced))
    const readFailed = prepare((builder) => build(builder, ofRecipients.failed))
    return (read, values) => {
      if (values.status === null) return readAny(read, values)
      if (values.status === 'bounced') return readBounced(read, values)
      return (values.status === 'failed' ? readFailed : readStatus)(read, values)
    }
  }
}
