/**
 * Counts what happened to the emails of each local day of a window, for plots: one line for each number. An email
 * counts on the day on which it was made, as in `email-metrics.ts`.
 */
import { prepareLongRead, type Read } from '../../base/storage/db/prepared.js'
import { type BucketRange, MAX_BUCKETS, type RangeRequest, walkRanges } from './bucket-ranges.js'
import { createDayFinder } from './time-series.js'
import type { OffsetAt } from './time-zone.js'

const columns = ['sent', 'delivered', 'complained', 'bounced', 'failed', 'unique_opens', 'unique_clicks'] as const

const bucketsOfRange = prepareLongRead<BucketRange>()(({ db, slot }) =>
  db
    .selectFrom('email_metrics')
    .select('bucket')
    .select((eb) => columns.map((column) => eb.fn.sum<number>(column).as(column)))
    .where('workspace_id', '=', slot('workspaceId'))
    .where('domain', '=', slot('domain'))
    .where('tag', '=', slot('tag'))
    .where('bucket', '>=', slot('start'))
    .where('bucket', '<', slot('end'))
    .groupBy('bucket')
    .orderBy('bucket')
    .limit(MAX_BUCKETS),
)

interface Day {
  /** A date such as `2026-11-22`. */
  readonly date: string
  /** All emails that left, including those that were delivered, complained about, or bounced. */
  readonly sent: number
  /** Includes complaints. */
  readonly delivered: number
  readonly bounced: number
  readonly failed: number
  readonly complained: number
  /** Emails that persons opened, or in which they clicked a link. */
  readonly opened: number
  readonly clicked: number
}

interface DailyRequest extends RangeRequest {
  readonly offsetAt: OffsetAt
}

/** Returns each day once, oldest first, even if it has no emails. */
export async function readDailyMetrics(read: Read, request: DailyRequest): Promise<readonly Day[]> {
  const { dates, placeOf } = createDayFinder(request.window, request.offsetAt)
  const days = dates.map((date) => ({
    ...{ date, sent: 0, delivered: 0, bounced: 0, failed: 0, complained: 0, opened: 0, clicked: 0 },
  }))
  for await (const range of walkRanges(request)) {
    for (const row of await bucketsOfRange(read, range)) {
      const day = days[placeOf(row.bucket)]
      if (day === undefined) continue
      const delivered = row.delivered + row.complained
      day.sent += row.sent + delivered + row.bounced
      day.delivered += delivered
      day.bounced += row.bounced
      day.failed += row.failed
      day.complained += row.complained
      day.opened += row.unique_opens
      day.clicked += row.unique_clicks
    }
  }
  return days
}
