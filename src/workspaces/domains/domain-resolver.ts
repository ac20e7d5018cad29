/**
 * The resolver for checks of sending domains. It has no cache, because a user who has just published a record must see
 * it, and short timeouts, because a user waits for the answer.
 */
import type { Config } from '../../base/config/complete.js'
import type { Clock } from '../../base/platform/clock.js'
import { openResolver } from '../../base/platform/dns/resolver.js'
import { DAY } from '../../base/platform/time-units.js'
import type { RotationDeps } from './rotate-keys.js'
import type { DomainResolver } from './verification/look-up-records.js'

const resolverOptions = { timeout: 2000, tries: 2, cacheSize: 0 }

/** Queries under way end as failures once `signal` is aborted. */
export function openDomainResolver(
  { dns: { servers } }: Pick<Config, 'dns'>,
  clock: Clock,
  signal: AbortSignal,
): DomainResolver {
  return openResolver({ ...resolverOptions, servers }, clock, signal)
}

/**
 * A retired key stays published for the time that a message may be in the queue and this reserve, for its transport and
 * late verifiers.
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
