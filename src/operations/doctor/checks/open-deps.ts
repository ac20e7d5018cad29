/** Opens what checks ask: DNS without a long memory, the network, the clock, and the machine. */
import type { Config } from '../../../base/config/complete.js'
import type { WrittenConfig } from '../../../base/config/load.js'
import type { Clock } from '../../../base/platform/clock.js'
import { createDialer, type Dialer } from '../../../base/platform/dialer.js'
import { openResolver, type ResolverSettings } from '../../../base/platform/dns/resolver.js'
import { listOwnAddresses } from '../../../base/platform/processes/host-facts.js'
import type { Read } from '../../../base/storage/db/prepared.js'
import type { CheckDeps, DoctorResolver } from '../check.js'
import { readClockState } from './clock-checks.js'

/** It is short: if a server does not answer, a look-up ends after 4.5 seconds. The cache lives for one run. */
const resolverSettings: Omit<ResolverSettings, 'servers'> = { timeout: 1_500, tries: 2, cacheSize: 5_000 }

export interface DoctorEdges {
  readonly config: Config
  readonly written?: WrittenConfig
  readonly clock: Clock
  readonly read: Read | null
  /** If it is absent, the configured servers are used. */
  readonly resolver?: DoctorResolver | null
  readonly dialer?: Dialer
  readonly authorities?: string | undefined
}

export function openCheckDeps(edges: DoctorEdges, signal: AbortSignal): CheckDeps {
  const { config, clock, read, authorities } = edges
  return {
    ...{ config, clock, read, authorities, signal },
    ...(edges.written && { written: edges.written }),
    resolver: edges.resolver ?? openResolver({ ...resolverSettings, servers: config.dns.servers }, clock, signal),
    openServerResolver: (server) => openResolver({ ...resolverSettings, servers: [server] }, clock, signal),
    dialer: edges.dialer ?? createDialer(authorities),
    readClockState,
    ownAddresses: listOwnAddresses(),
  }
}
