/**
 * A *roll-up* is numbers that triggers keep for a stretch of time, on `emails`, `events` and `links`, so that a query
 * of metrics adds up rows and counts no emails. Part of `tables.ts`, which says what holds for all tables. `metrics/`
 * reads them.
 */
import type { Slot, Timestamp } from './columns.js'

/** Days for which rows are kept, whatever the retention of the emails. */
export const KEPT_METRICS_DAYS = 400

/** Emails by the quarter of an hour in which they were made; what happens to them later counts there too. */
export interface EmailMetricsTable {
  workspace_id: string
  /** The sender's domain. Empty if it is of all domains. */
  domain: string
  /** `name:value`. Empty if it is of all emails, whatever their tags. */
  tag: string
  /** When the quarter of an hour begins. */
  bucket: Timestamp
  /** Emails in each status. */
  scheduled: number
  queued: number
  sent: number
  delivered: number
  bounced: number
  failed: number
  cancelled: number
  complained: number
  /** Emails that persons have opened or clicked. */
  unique_opens: number
  unique_clicks: number
  /** Opens and clicks, repeats included, of persons and of machines. */
  opens: number
  clicks: number
  machine_opens: number
  machine_clicks: number
  /** Recipients of the emails, in each state. */
  recipients_queued: number
  recipients_sent: number
  recipients_delivered: number
  recipients_bounced: number
  recipients_failed: number
  recipients_suppressed: number
  recipients_cancelled: number
  recipients_complained: number
  /** Emails that were removed since; they remain counted above. */
  removed: number
  slot: Slot
}

/** Clicks of persons by URL, in emails of a day. */
export interface LinkMetricsTable {
  workspace_id: string
  /** The sender's domain. Empty if it is of all domains. */
  domain: string
  /** When the day of the emails begins, in UTC. */
  day: Timestamp
  url: string
  clicks: number
  /** Emails in which it was clicked. */
  unique_clicks: number
  first_clicked_at: Timestamp
  last_clicked_at: Timestamp
  slot: Slot
}
