/**
 * The paces of providers: what they refused for pace, and what is kept to now. Only providers that have refused
 * something have series; all that are not among the known ones share one.
 */

import { providerGroups } from '../../base/mail/mailbox-providers.js'
import type { PaceControl } from '../../outbound/delivery/shaping/pace-control.js'
import type { PaceId } from '../../outbound/delivery/shaping/pace-state.js'
import { type PaceSignal, paceSignals } from '../../records/messages/replies/pace-signal.js'
import type { Metrics } from './registry.js'

export interface PaceObservers {
  readonly onPaceRefused: (id: PaceId, signal: PaceSignal) => void
  /** `list` returns the paces that are read at each scrape. */
  readonly watchPaces: (list: () => readonly PaceControl[]) => void
}

export function createPaceObservers(metrics: Metrics): PaceObservers {
  const refusals = metrics.counter({
    name: 'posthorn_pace_refusals_total',
    help: 'Messages and sessions that providers refused for their pace, by what it was a matter of.',
    labels: { signal: paceSignals },
  })
  const byProvider = { label: 'provider', max: providerGroups.length }
  const sessions = metrics.namedGauge({
    name: 'posthorn_pace_sessions',
    help: 'Sessions that may be open with a provider at a time.',
    ...byProvider,
  })
  const rate = metrics.namedGauge({
    name: 'posthorn_pace_rate',
    help: 'Messages a second that are sent to a provider at most.',
    ...byProvider,
  })
  const paused = metrics.namedGauge({
    name: 'posthorn_pace_paused',
    help: 'Paces (of a provider and one of our addresses) that wait for the end of a pause, or for what a probe shows.',
    ...byProvider,
  })
  return {
    onPaceRefused: (_id, signal) => refusals.add([signal]),
    watchPaces: (list) =>
      metrics.onScrape(() => {
        const learned = list().filter(({ isLearned }) => isLearned)
        const size = ({ state }: PaceControl): number => (Number.isFinite(state.window.size) ? state.window.size : 0)
        sessions.replace(sumByGroup(learned, size))
        rate.replace(sumByGroup(learned, ({ state }) => state.rate ?? 0))
        paused.replace(sumByGroup(learned, ({ state }) => (state.pause === null ? 0 : 1)))
      }),
  }
}

function sumByGroup(
  paces: readonly PaceControl[],
  numberOf: (pace: PaceControl) => number,
): readonly (readonly [string, number])[] {
  const sums = new Map<string, number>()
  for (const pace of paces) {
    const group = providerGroups.includes(pace.id.provider) ? pace.id.provider : 'other'
    sums.set(group, (sums.get(group) ?? 0) + numberOf(pace))
  }
  return [...sums]
}
