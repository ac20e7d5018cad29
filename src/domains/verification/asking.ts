/**
 * How DNS is asked for the records of sending domains: afresh each time, because who has just
 * published a record and asks again must not be told what was remembered; and with little
 * patience, because somebody waits for the answer.
 */
import type { Config } from '../../config/complete.js'
import type { Clock } from '../../platform/clock.js'
import { openResolver } from '../../platform/dns/resolver.js'
import type { RotationDeps } from '../dkim/rotate-keys.js'
import type { AskDns } from './look-up-records.js'

const patience = { timeout: 2000, tries: 2, cacheSize: 0 }

/** Questions under way end as failures once `signal` is aborted. */
export function openAsk({ dns: { servers } }: Pick<Config, 'dns'>, clock: Clock, signal: AbortSignal): AskDns {
  return openResolver({ ...patience, servers }, clock, signal)
}

const A_DAY = 24 * 3_600_000
/** A message that waits to the last keeps its signature; on its way, and at those who verify late, it may take longer. */
const ON_THE_WAY = 3 * A_DAY

export function checkingIn(
  { service, outbound, dns }: Pick<Config, 'service' | 'outbound' | 'dns'>,
  edges: Pick<RotationDeps, 'read' | 'commit' | 'ask' | 'dice'>,
): RotationDeps {
  return {
    ...edges,
    names: service,
    retirement: outbound.expire_after + ON_THE_WAY,
    settling: Math.max(A_DAY, dns.ttl),
  }
}
