/**
 * How DNS is asked for the records of sending domains: afresh each time, because who has just
 * published a record and asks again must not be told what was remembered; and with little
 * patience, because somebody waits for the answer.
 */
import type { Config } from '../../config/complete.js'
import type { Clock } from '../../platform/clock.js'
import { openResolver } from '../../platform/dns/resolver.js'
import type { RotationDeps } from '../dkim/rotate-keys.js'
import type { DomainResolver } from './look-up-records.js'

const resolverOptions = { timeout: 2000, tries: 2, cacheSize: 0 }

/** Questions under way end as failures once `signal` is aborted. */
export function openDomainResolver(
  { dns: { servers } }: Pick<Config, 'dns'>,
  clock: Clock,
  signal: AbortSignal,
): DomainResolver {
  return openResolver({ ...resolverOptions, servers }, clock, signal)
}

const DAY = 24 * 3_600_000
/** A message that waits to the last keeps its signature; on its way, and at those who verify late, it may take longer. */
const TRANSIT_MARGIN = 3 * DAY

export function buildRotationDeps(
  { service, outbound, dns }: Pick<Config, 'service' | 'outbound' | 'dns'>,
  edges: Pick<RotationDeps, 'read' | 'commit' | 'resolver' | 'random'>,
): RotationDeps {
  return {
    ...edges,
    names: service,
    retirementTime: outbound.expire_after + TRANSIT_MARGIN,
    settlingTime: Math.max(DAY, dns.ttl),
  }
}
