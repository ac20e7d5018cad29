/**
 * The metrics of the service: observers that the rooms below call, and what is read at each scrape.
 *
 * An *observer* is a function that a room calls when something has happened, and that only adds to a number. Scrapes at
 * the same moment share one collection, and its text serves for a second, so that the number of scrapers has no effect
 * on the service.
 */

import { providerGroupOfHost, providerGroups } from '../../base/mail/mailbox-providers.js'
import { type Reason, reasons } from '../../base/mail/reasons.js'
import type { Clock } from '../../base/platform/clock.js'
import { type ActivityObservers, createActivityObservers } from './activity-metrics.js'
import { createPaceObservers, type PaceObservers } from './pace-metrics.js'
import { createReceivingObservers, type ReceivingObservers } from './receiving-metrics.js'
import { createMetrics, type Metrics } from './registry.js'
import { createSessionObservers, type SessionObservers } from './session-metrics.js'
import { createStorageObservers, type StorageObservers } from './storage-metrics.js'
import { createTlsObservers, type TlsObservers } from './tls-metrics.js'

/** Stands in place of a provider if no host was called. */
const NO_HOST = 'none'

/** Seconds, from an immediate delivery to the default of `outbound.expire_after`. */
const DELIVERY_BUCKETS = [0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 300, 900, 3_600, 14_400, 86_400, 345_600]

/** Milliseconds that a collection serves. */
const FRESH_FOR = 1_000

export interface Observers
  extends ActivityObservers,
    PaceObservers,
    ReceivingObservers,
    SessionObservers,
    StorageObservers,
    TlsObservers {
  readonly onAttempt: AttemptObserver
  readonly onTlsReport: TlsReportObserver
}

export interface Monitoring {
  readonly observers: Observers
  /** Adds the values that are read at each scrape. */
  readonly metrics: Metrics
  /** The text of a scrape. */
  readonly collect: () => Promise<string>
}

/** `onFault` says that something could not be read; its metrics keep their values. */
export function createMonitoring(deps: {
  readonly clock: Clock
  readonly onFault: (error: unknown) => void
}): Monitoring {
  const metrics = createMetrics(deps.onFault)
  const observers: Observers = {
    ...createSessionObservers(metrics),
    ...createReceivingObservers(metrics),
    ...createActivityObservers(metrics),
    ...createPaceObservers(metrics),
    ...createStorageObservers(metrics),
    ...createTlsObservers(metrics),
    onAttempt: createAttemptObserver(metrics),
    onTlsReport: createTlsReportObserver(metrics),
  }
  return { observers, metrics, collect: createCollector(metrics, deps.clock) }
}

function createCollector({ render }: Metrics, clock: Clock): Monitoring['collect'] {
  let last: { readonly text: Promise<string>; endedAt: number | null } | null = null
  return () => {
    if (last !== null && (last.endedAt === null || Math.abs(clock() - last.endedAt) < FRESH_FOR)) return last.text
    const collection: NonNullable<typeof last> = { text: render(), endedAt: null }
    const end = (): void => {
      collection.endedAt = clock()
    }
    collection.text.then(end, end)
    last = collection
    return collection.text
  }
}

interface EndedAttempt {
  readonly outcome: 'accepted' | 'deferred' | 'bounced' | 'failed'
  /** Null if it was accepted. */
  readonly reason: Reason | null
  /** Name of the host. Null if none was called. */
  readonly mx: string | null
  /** When the email was accepted, or was due, in epoch milliseconds. */
  readonly enqueuedAt: number
  readonly endedAt: number
}

/** Attempts of delivery: outcomes by provider, reasons of failures, and the time from acceptance to delivery. */
type AttemptObserver = (attempt: EndedAttempt) => void

type TlsReportObserver = (outcome: 'mailed' | 'posted' | 'failed' | 'unwanted') => void

function createAttemptObserver(metrics: Metrics): AttemptObserver {
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

function createTlsReportObserver(metrics: Metrics): TlsReportObserver {
  const reports = metrics.counter({
    name: 'posthorn_tls_reports_total',
    help: 'TLS reports about a domain and day: queued as mail, posted over HTTPS, failed permanently, or unwanted (the domain asks for none).',
    labels: { outcome: ['mailed', 'posted', 'failed', 'unwanted'] },
  })
  return (outcome) => reports.add([outcome])
}
