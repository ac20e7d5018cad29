/** Makes totals and rates from the sums of a window, as the interface defines them. */
import type { Sums } from './email-metrics.js'

interface Summary {
  readonly total: number
  readonly sent: number
  readonly delivered: number
  readonly bounced: number
  readonly failed: number
  readonly queued: number
  readonly scheduled: number
  readonly opens: number
  readonly unique_opens: number
  readonly clicks: number
  readonly unique_clicks: number
  readonly machine_opens: number
  readonly machine_clicks: number
}

/** `sent` is all that left, and `delivered` includes complaints. Cancelled emails are only in the total. */
export function summarize(sums: Omit<Sums, `recipients_${string}`>): Summary {
  const { scheduled, queued, bounced, failed, cancelled, complained } = sums
  const delivered = sums.delivered + complained
  const sent = sums.sent + delivered + bounced
  const { opens, unique_opens, clicks, unique_clicks, machine_opens, machine_clicks } = sums
  return {
    total: sent + failed + queued + scheduled + cancelled,
    ...{ sent, delivered, bounced, failed, queued, scheduled },
    ...{ opens, unique_opens, clicks, unique_clicks, machine_opens, machine_clicks },
  }
}

export interface Rates {
  readonly delivery_rate: number
  readonly bounce_rate: number
  readonly open_rate: number
  readonly click_rate: number
}

type RatedCounts = Pick<Summary, 'sent' | 'delivered' | 'bounced' | 'unique_opens' | 'unique_clicks'>

export function ratesOf({ sent, delivered, bounced, unique_opens, unique_clicks }: RatedCounts): Rates {
  return {
    delivery_rate: percentageOf(delivered, sent),
    bounce_rate: percentageOf(bounced, sent),
    open_rate: percentageOf(unique_opens, delivered),
    click_rate: percentageOf(unique_clicks, delivered),
  }
}

/**
 * Returns a percentage with two decimals, at most 100. An email that was opened counts as opened even if it is not
 * delivered, for example because it bounced for another of its recipients.
 */
export function percentageOf(part: number, whole: number): number {
  return whole === 0 ? 0 : Math.min(100, Math.round((part / whole) * 10_000) / 100)
}
