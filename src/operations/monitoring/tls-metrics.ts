/**
 * Observes what sessions with MX hosts say about the TLS policies of their domains, and counts the policies that are
 * known.
 */
import type { TlsSessionResult } from '../../outbound/delivery/hosts/tls-result.js'
import type { Metrics } from './registry.js'

export interface TlsObservers {
  readonly onTlsResult: (result: TlsSessionResult) => void
}

const policies = ['none', 'dane', 'sts-enforce', 'sts-testing', 'sts-unknown'] as const

export function createTlsObservers(metrics: Metrics): TlsObservers {
  const sessions = metrics.counter({
    name: 'posthorn_tls_sessions_total',
    help: 'Sessions with MX hosts by the TLS policy of the domain (sts-unknown: it cannot be fetched), and whether TLS was as the policy demands; without one, whether TLS was used.',
    labels: { policy: policies, result: ['success', 'failure'] },
  })
  return {
    onTlsResult: ({ policy, failure }) =>
      sessions.add([policyLabelOf(policy), failure === null ? 'success' : 'failure']),
  }
}

function policyLabelOf({ type, strings }: TlsSessionResult['policy']): (typeof policies)[number] {
  if (type === 'tlsa') return 'dane'
  if (type === 'no-policy-found') return 'none'
  if (strings.length === 0) return 'sts-unknown'
  return strings.includes('mode: testing') ? 'sts-testing' : 'sts-enforce'
}

export function reportStsPolicies(metrics: Metrics, countPolicies: () => number): void {
  const known = metrics.gauge({
    name: 'posthorn_sts_policies',
    help: 'MTA-STS policies of recipients’ domains in the cache.',
  })
  metrics.onScrape(() => known.set([], countPolicies()))
}
