/** Attempts of delivery: outcomes by provider, reasons of failures, and the time from acceptance to delivery. */
import { providerGroupOfHost, providerGroups } from '../../base/mail/mailbox-providers.js'
import { type Reason, reasons } from '../../base/mail/reasons.js'
import type { Metrics } from './registry.js'

interface EndedAttempt {
  readonly outcome: 'accepted' | 'deferred' | 'bounced' | 'failed'
  /** Null: it was accepted. */
  readonly reason: Reason | null
  /** Name of the host; null: none was called. */
  readonly mx: string | null
  /** When the email was accepted, or was due; epoch milliseconds. */
  readonly enqueuedAt: number
  readonly endedAt: number
}

export type AttemptObserver = (attempt: EndedAttempt) => void

export type TlsReportObserver = (outcome: 'mailed' | 'posted' | 'failed' | 'unwanted') => void

/** In place of a provider: no host was called. */
const NO_HOST = 'none'
/** Seconds: from a delivery at once to the default of `outbound.expire_after`. */
const DELIVERY_BUCKETS = [0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 300, 900, 3_600, 14_400, 86_400, 345_600]

export function createAttemptObserver(metrics: Metrics): AttemptObserver {
  const attempts = metrics.counter({
    name: 'posthorn_attempts_total',
    help: 'Attempts of delivery, by outcome and by the provider that the MX host belongs to (none: no host was called).',
    labels: { outcome: ['accepted', 'deferred', 'bounced', 'failed'], provider: [...providerGroups, NO_HOST] },
  })
  const failures = metrics.counter({
    name: 'posthorn_attempt_failures_total',
    help: 'Attempts that did not deliver, by reason. The reasons are those of the attempts in the API.',
    labels: { reason: reasons },
  })
  const latency = metrics.histogram({
    name: 'posthorn_delivery_seconds',
    help: 'Time from the acceptance of an email, or from its scheduled time, until a next hop accepted it for a recipient.',
    buckets: DELIVERY_BUCKETS,
  })
  return ({ outcome, reason, mx, enqueuedAt, endedAt }) => {
    attempts.add([outcome, mx === null ? NO_HOST : providerGroupOfHost(mx)])
    if (outcome === 'accepted') latency.observe([], Math.max(0, endedAt - enqueuedAt) / 1_000)
    else if (reason !== null) failures.add([reason])
  }
}

export function createTlsReportObserver(metrics: Metrics): TlsReportObserver {
  const reports = metrics.counter({
    name: 'posthorn_tls_reports_total',
    help: 'TLS reports about a domain and day: queued as mail, posted over HTTPS, failed for good, or unwanted (the domain asks for none).',
    labels: { outcome: ['mailed', 'posted', 'failed', 'unwanted'] },
  })
  return (outcome) => reports.add([outcome])
}
