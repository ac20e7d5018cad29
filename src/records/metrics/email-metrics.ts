/**
 * Metrics of the emails of a window, from the roll-ups that triggers maintain (`storage/schema/metrics.ts`). It reads a
 * range of one primary key in steps, whatever the number of emails is.
 *
 * An email counts at the time when it was made, in its present status. Opens and clicks count where their email does.
 */
import { sql } from 'kysely'
import { keysOf } from '../../base/platform/records.js'
import { prepareLongRead, type Read } from '../../base/storage/db/prepared.js'
import { type BucketRange, MAX_BUCKETS, type RangeRequest, walkRanges } from './bucket-ranges.js'
import { createTimeSeries, type Grouping, type Point } from './time-series.js'
import type { OffsetAt } from './time-zone.js'

/** The statuses in the order of time series. */
const statuses = ['scheduled', 'queued', 'sent', 'delivered', 'complained', 'bounced', 'failed', 'cancelled'] as const

const nothing = {
  ...{ scheduled: 0, queued: 0, sent: 0, delivered: 0, complained: 0, bounced: 0, failed: 0, cancelled: 0 },
  ...{ recipients_queued: 0, recipients_sent: 0, recipients_delivered: 0, recipients_bounced: 0 },
  ...{ recipients_failed: 0, recipients_suppressed: 0, recipients_cancelled: 0, recipients_complained: 0 },
  ...{ opens: 0, unique_opens: 0, clicks: 0, unique_clicks: 0, machine_opens: 0, machine_clicks: 0 },
}
const columns = keysOf(nothing)

export type Sums = Readonly<typeof nothing>

const sumsOfRange = prepareLongRead<BucketRange>()(({ db, slot }) =>
  db
    .selectFrom('email_metrics')
    .select((eb) => columns.map((column) => eb.fn.sum<number | null>(column).as(column)))
    .where('workspace_id', '=', slot('workspaceId'))
    .where('domain', '=', slot('domain'))
    .where('tag', '=', slot('tag'))
    .where('bucket', '>=', slot('start'))
    .where('bucket', '<', slot('end')),
)

const emailsOfBucket = sql<number>`sum(${sql.raw(statuses.join(' + '))})`

const totalsOfRange = prepareLongRead<BucketRange>()(({ db, slot }) =>
  db
    .selectFrom('email_metrics')
    .select(['bucket', emailsOfBucket.as('total')])
    .where('workspace_id', '=', slot('workspaceId'))
    .where('domain', '=', slot('domain'))
    .where('tag', '=', slot('tag'))
    .where('bucket', '>=', slot('start'))
    .where('bucket', '<', slot('end'))
    .groupBy('bucket')
    .orderBy('bucket')
    .limit(MAX_BUCKETS),
)

interface MetricsRequest extends RangeRequest {
  readonly grouping: Grouping
  readonly offsetAt: OffsetAt
}

interface EmailMetrics {
  readonly sums: Sums
  readonly series: readonly Point[]
}

export async function readEmailMetrics(read: Read, request: MetricsRequest): Promise<EmailMetrics> {
  const { window, grouping, offsetAt } = request
  const series = grouping === 'status' ? null : createTimeSeries(grouping, window, offsetAt)
  const sums = { ...nothing }
  for await (const range of walkRanges(request)) {
    const [found] = await sumsOfRange(read, range)
    for (const column of columns) sums[column] += found?.[column] ?? 0
    series?.add(await totalsOfRange(read, range))
  }
  return { sums, series: series?.toPoints() ?? statuses.map((status) => ({ period: status, count: sums[status] })) }
}
