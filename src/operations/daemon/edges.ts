/**
 * Opens what the daemon uses of the world, besides its clock, listeners and disk: randomness, DNS and the network.
 * Tests replace it.
 */

import type { StartSettings } from '../../base/config/live-config.js'
import type { Clock } from '../../base/platform/clock.js'
import { createDialer, type Dialer } from '../../base/platform/dialer.js'
import {
  defaultResolverSettings,
  openResolver,
  type RecordResolver,
  type Resolver,
} from '../../base/platform/dns/resolver.js'
import { type RandomSource, systemRandom } from '../../base/platform/random.js'
import { defaultTimeouts, type Timeouts } from '../../outbound/delivery/smtp/timeouts.js'

export interface Edges {
  readonly random: RandomSource
  /** Null if the resolvers use the configured servers. */
  readonly resolver: (Resolver & RecordResolver) | null
  readonly dialer: Dialer
  /** Timeouts of the SMTP client. */
  readonly timeouts: Timeouts
  /** PEM certificates that verify webhooks and the hosts of MTA-STS policies. Undefined if the system's are used. */
  readonly authorities: string | undefined
  /** Port of the hosts of MTA-STS policies. */
  readonly policyPort: number
}

/** A resolver that asks the configured servers until the signal strikes, unless a test has replaced it. */
export function resolverOf(
  { resolver }: Edges,
  { dns }: StartSettings,
  clock: Clock,
  signal: AbortSignal,
): Resolver & RecordResolver {
  return resolver ?? openResolver({ ...defaultResolverSettings, servers: dns.servers }, clock, signal)
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
