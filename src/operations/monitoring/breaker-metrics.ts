/** Collects what the circuit breaker warns of and holds, at a scrape. */

import type { Read } from '../../base/storage/db/prepared.js'
import { countScopes } from '../../outbound/breaker/breaker-states.js'
import type { Metrics } from './registry.js'

const scopes = ['workspace', 'domain', 'broadcast'] as const
const states = ['warning', 'held'] as const

export function reportBreaker(metrics: Metrics, read: Read): void {
  const gauge = metrics.gauge({
    name: 'posthorn_breaker_scopes',
    help: 'Workspaces, sender domains and broadcasts with too many bounces or complaints, by what the circuit breaker does.',
    labels: { scope: scopes, state: states },
  })
  metrics.onScrape(async () => {
    for (const scope of scopes) {
      for (const state of states) gauge.set([scope, state], await countScopes(read, { scope, state }))
    }
  })
}
