/** Wires the choice of source addresses: pools of the configuration, the warm-up, and the route for what is beyond its caps. */
import type { Config } from '../config/complete.js'
import { followSetting } from '../config/follow-setting.js'
import type { ReadSettings, StartSettings } from '../config/live-config.js'
import type { AttemptSteps } from '../delivery/attempt/make-attempt.js'
import type { FindDestination } from '../delivery/hosts/destination.js'
import { createDestinationFinder } from '../delivery/hosts/mx-hosts.js'
import type { RouteMatch } from '../delivery/hosts/routes.js'
import { createSourceAssigner } from '../delivery/sources/assign-sources.js'
import { MissingSources } from '../delivery/sources/missing-sources.js'
import { NewDomains } from '../delivery/sources/new-domains.js'
import { readSenderDomain } from '../delivery/sources/sender-domain.js'
import { compilePools, type SourcePools } from '../delivery/sources/source-pools.js'
import { WarmUps } from '../delivery/sources/warm-ups.js'
import type { Route } from '../mail/route.js'
import type { Clock } from '../platform/clock.js'
import { defaultResolverSettings, openResolver } from '../platform/dns/resolver.js'
import type { Log } from '../platform/log.js'
import type { Database } from '../storage/database.js'
import type { Edges } from './edges.js'

interface SourcesDeps {
  readonly config: StartSettings
  readonly settings: ReadSettings
  readonly clock: Clock
  readonly log: Log
  readonly edges: Edges
  readonly database: Database
}

interface Sources {
  readonly steps: Pick<AttemptSteps, 'assignSources' | 'onMissingSource'>
  /** To be called after a foreign commit. */
  readonly drop: () => void
  /** To be called when no attempt is under way any more. */
  readonly stop: () => Promise<void>
}

export function wireSources(deps: SourcesDeps, signal: AbortSignal): Sources {
  const { settings, clock, log, database } = deps
  const warmUps = new WarmUps({ ...database, clock, log, readPlan: () => settings().outbound.warm_up_plan })
  const newDomains = new NewDomains({ read: database.read, clock })
  const missing = new MissingSources({ clock, log })
  const findOverflowHosts = overflowFinderOf(deps, signal)
  return {
    steps: {
      assignSources: createSourceAssigner({
        readPools: poolsOf(settings),
        ...{ warmUps, missing },
        warmsDomains: () => settings().outbound.domain_warm_up,
        isNewDomain: (workspaceId, domain) => newDomains.has(workspaceId, domain),
        readSenderDomain: (entry) => readSenderDomain(database.read, entry),
        findOverflow: async () => (readOverflow(settings()) === null ? null : await findOverflowHosts()),
      }),
      onMissingSource: (address) => missing.add(address),
    },
    drop: () => {
      warmUps.drop()
      newDomains.drop()
    },
    stop: () => warmUps.stop(),
  }
}

/** A reload replaces each setting, changed or not, and all of them at once. */
function poolsOf(settings: ReadSettings): () => SourcePools | null {
  return followSetting(
    () => settings().outbound.sources,
    () => compilePools(settings().outbound),
  )
}

function readOverflow({ outbound: { warm_up_route, routes } }: Config): Route | null {
  return warm_up_route ?? routes['*'] ?? null
}

/** With a resolver of its own, which is asked for the names of routes alone. */
function overflowFinderOf(
  { config: { dns, service }, settings, clock, edges: { random, resolver } }: SourcesDeps,
  signal: AbortSignal,
): () => ReturnType<FindDestination> {
  const findRoute = (): RouteMatch | null => {
    const route = readOverflow(settings())
    return route === null ? null : { route, final: false }
  }
  const find = createDestinationFinder({
    resolver: resolver ?? openResolver({ ...defaultResolverSettings, servers: dns.servers }, clock, signal),
    ...{ findRoute, random, port: () => settings().outbound.port },
    mayDial: () => false,
    ownNames: new Set([service.hostname]),
  })
  return () => find(service.hostname)
}
