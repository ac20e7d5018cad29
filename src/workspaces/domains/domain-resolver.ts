/**
 * The resolver for checks of sending domains. It has no cache, because a user who has just published a record must
 * see it. Its timeouts are short, because a user waits for the answer.
 */
import type { Config } from '../../base/config/complete.js'
import type { Clock } from '../../base/platform/clock.js'
import { openResolver } from '../../base/platform/dns/resolver.js'
import { DAY } from '../../base/platform/time-units.js'
import type { RotationDeps } from './rotate-keys.js'
import type { DomainResolver } from './verification/look-up-records.js'

const resolverOptions = { timeout: 2000, tries: 2, cacheSize: 0 }

/** Queries under way end as failures when `signal` aborts. */
export function openDomainResolver(
  { dns: { servers } }: Pick<Config, 'dns'>,
  clock: Clock,
  signal: AbortSignal,
): DomainResolver {
  return openResolver({ ...resolverOptions, servers }, clock, signal)
}

/**
 * Milliseconds beyond the longest time in the queue for which a retired key stays published. They cover the
 * transport of a message and late verifiers.
 */
const TRANSIT_MARGIN = 3 * DAY

export function buildRotationDeps(
  { service, dns }: Pick<Config, 'service' | 'dns'>,
  expireAfter: () => number,
  edges: Pick<RotationDeps, 'read' | 'commit' | 'resolver' | 'random'>,
): RotationDeps {
  return {
    ...edges,
    names: service,
    retirementTime: () => expireAfter() + TRANSIT_MARGIN,
    settlingTime: Math.max(DAY, dns.ttl),
  }
}
