/**
 * Opens what the daemon uses of the world, besides its clock, listeners and disk: randomness, DNS and the network.
 * Tests replace it.
 */

import { createDialer, type Dialer } from '../../base/platform/dialer.js'
import type { RecordResolver, Resolver } from '../../base/platform/dns/resolver.js'
import { type RandomSource, systemRandom } from '../../base/platform/random.js'
import { defaultTimeouts, type Timeouts } from '../../outbound/delivery/smtp/timeouts.js'

export interface Edges {
  readonly random: RandomSource
  /** Null: resolvers with the configured servers. */
  readonly resolver: (Resolver & RecordResolver) | null
  readonly dialer: Dialer
  /** Timeouts of the SMTP client. */
  readonly timeouts: Timeouts
  /** PEM certificates that webhooks, and hosts of MTA-STS policies, are verified with; undefined: the system's. */
  readonly authorities: string | undefined
  /** Port of the hosts of MTA-STS policies. */
  readonly policyPort: number
}

export function systemEdges(): Edges {
  return {
    random: systemRandom,
    resolver: null,
    dialer: createDialer(),
    timeouts: defaultTimeouts,
    authorities: undefined,
    policyPort: 443,
  }
}
