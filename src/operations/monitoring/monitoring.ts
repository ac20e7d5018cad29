/**
 * The metrics of the service: observers that the rooms below call, and what is read at each scrape.
 *
 * An *observer* is a function that a room calls when something has happened, and that only adds to a number. Scrapes at
 * the same moment share one collection, and its text serves for a second, so that the number of scrapers has no effect
 * on the service.
 */
import type { Clock } from '../../base/platform/clock.js'
import { type ActivityObservers, createActivityObservers } from './activity-metrics.js'
import {
  type AttemptObserver,
  createAttemptObserver,
  createTlsReportObserver,
  type TlsReportObserver,
} from './delivery-metrics.js'
import { createPaceObservers, type PaceObservers } from './pace-metrics.js'
import { createReceivingObservers, type ReceivingObservers } from './receiving-metrics.js'
import { createMetrics, type Metrics } from './registry.js'
import { createSessionObservers, type SessionObservers } from './session-metrics.js'
import { createStorageObservers, type StorageObservers } from './storage-metrics.js'
import { createTlsObservers, type TlsObservers } from './tls-metrics.js'

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
  /** For what is read at each scrape. */
  readonly metrics: Metrics
  /** The text of a scrape. */
  readonly collect: () => Promise<string>
}

/** `onFault`: something could not be read; its metrics keep their values. */
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
