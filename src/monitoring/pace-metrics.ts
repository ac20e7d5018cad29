/** The paces of providers: what they refused for pace, and what is kept to now. */

import type { PaceControl } from '../delivery/shaping/pace-control.js'
import { type PaceSignal, paceSignals } from '../delivery/shaping/pace-signal.js'
import type { PaceId } from '../delivery/shaping/pace-state.js'
import { providerGroups } from '../mail/mailbox-providers.js'
import type { Metrics } from './registry.js'

export interface PaceObservers {
  readonly onPaceRefused: (id: PaceId, signal: PaceSignal) => void
  /** `list`: the paces that are read at each scrape. */
  readonly watchPaces: (list: () => readonly PaceControl[]) => void
}

export function createPaceObservers(metrics: Metrics): PaceObservers {
  const labels = { provider: providerGroups }
  const refusals = metrics.counter({
    name: 'posthorn_pace_refusals_total',
    help: 'Messages and sessions that a provider refused for their pace, by what it was a matter of.',
    labels: { ...labels, signal: paceSignals },
  })
  const sessions = metrics.gauge({
    name: 'posthorn_pace_sessions',
    help: 'Sessions that may be open with a provider at a time; 0: no limit is kept.',
    labels,
  })
  const rate = metrics.gauge({
    name: 'posthorn_pace_rate',
    help: 'Messages a second that are sent to a provider at most; 0: no limit is known.',
    labels,
  })
  const paused = metrics.gauge({
    name: 'posthorn_pace_paused',
    help: 'Paces (of a provider and one of our addresses) that wait for the end of a pause, or for what a probe shows.',
    labels,
  })
  return {
    onPaceRefused: ({ provider }, signal) => refusals.add([groupOf(provider), signal]),
    watchPaces: (list) =>
      metrics.onScrape(() => {
        const sums = sumByGroup(list())
        for (const group of providerGroups) {
          const sum = sums.get(group) ?? noPace
          sessions.set([group], sum.sessions)
          rate.set([group], sum.rate)
          paused.set([group], sum.paused)
        }
      }),
  }
}

const noPace = { sessions: 0, rate: 0, paused: 0 }

function sumByGroup(paces: readonly PaceControl[]): ReadonlyMap<string, typeof noPace> {
  const sums = new Map<string, typeof noPace>()
  for (const { id, state } of paces) {
    const group = groupOf(id.provider)
    const sum = sums.get(group) ?? noPace
    sums.set(group, {
      sessions: sum.sessions + (Number.isFinite(state.window.size) ? state.window.size : 0),
      rate: sum.rate + (state.rate ?? 0),
      paused: sum.paused + (state.pause === null ? 0 : 1),
    })
  }
  return sums
}

function groupOf(provider: string): string {
  return providerGroups.includes(provider) ? provider : 'other'
}
