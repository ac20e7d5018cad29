/**
 * Metrics of the emails of a window, from the roll-ups that triggers maintain (migration 0024): a range of one primary
 * key, read in steps, whatever the number of emails.
 *
 * An email counts when it was made, in its present status. Opens and clicks count where their email does.
 */
import { sql } from 'kysely'
import { keysOf } from '../platform/records.js'
import { prepareRead, type Read } from '../storage/prepared.js'
import { waitForStep } from '../storage/stepped-walk.js'
import type { Timestamp } from '../storage/tables/columns.js'
import { createTimeSeries, type Grouping, type Point } from './time-series.js'
import type { OffsetAt } from './time-zone.js'
import { BUCKET, type Window } from './window.js'

/** In the order of time series. */
const statuses = ['scheduled', 'queued', 'sent', 'delivered', 'complained', 'bounced', 'failed', 'cancelled'] as const

const nothing = {
  ...{ scheduled: 0, queued: 0, sent: 0, delivered: 0, complained: 0, bounced: 0, failed: 0, cancelled: 0 },
  ...{ opens: 0, unique_opens: 0, clicks: 0, unique_clicks: 0, machine_opens: 0, machine_clicks: 0 },
}
const columns = keysOf(nothing)

export type Sums = Readonly<typeof nothing>

/** Buckets of one step, which takes a third of a millisecond. */
const STEP = 250

interface Range {
  readonly workspaceId: string
  /** Of the sender; empty: all. */
  readonly domain: string
  /** `name:value`; empty: all. */
  readonly tag: string
  readonly start: Timestamp
  /** Exclusive. */
  readonly end: Timestamp
}

const sumsOfRange = prepareRead<Range>()(({ db, slot }) =>
  db
    .selectFrom('email_metrics')
    .select((eb) => columns.map((column) => eb.fn.sum<number | null>(column).as(column)))
    .where('workspace_id', '=', slot('workspaceId'))
    .where('domain', '=', slot('domain'))
    .where('tag', '=', slot('tag'))
    .where('bucket', '>=', slot('start'))
    .where('bucket', '<', slot('end')),
)

const emailsOfBucket = sql<number>`${sql.raw(statuses.join(' + '))}`

const totalsOfRange = prepareRead<Range & { limit: number }>()(({ db, slot }) =>
  db
    .selectFrom('email_metrics')
    .select(['bucket', emailsOfBucket.as('total')])
    .where('workspace_id', '=', slot('workspaceId'))
    .where('domain', '=', slot('domain'))
    .where('tag', '=', slot('tag'))
    .where('bucket', '>=', slot('start'))
    .where('bucket', '<', slot('end'))
    .orderBy('bucket')
    .limit(slot('limit')),
)

interface MetricsRequest {
  readonly workspaceId: string
  readonly domain: string | undefined
  readonly tag: string | undefined
  readonly window: Window
  readonly grouping: Grouping
  readonly offsetAt: OffsetAt
}

interface EmailMetrics {
  readonly sums: Sums
  readonly series: readonly Point[]
}

export async function readEmailMetrics(read: Read, request: MetricsRequest): Promise<EmailMetrics> {
  const { workspaceId, domain = '', tag = '', window, grouping, offsetAt } = request
  const series = grouping === 'status' ? null : createTimeSeries(grouping, window, offsetAt)
  const sums = { ...nothing }
  for (let start = window.start; start < window.end; start += STEP * BUCKET) {
    if (start > window.start) await waitForStep()
    const range = { workspaceId, domain, tag, start, end: Math.min(start + STEP * BUCKET, window.end) }
    const [found] = sumsOfRange(read, range)
    for (const column of columns) sums[column] += found?.[column] ?? 0
    series?.add(totalsOfRange(read, { ...range, limit: STEP }))
  }
  return { sums, series: series?.toPoints() ?? statuses.map((status) => ({ period: status, count: sums[status] })) }
}
