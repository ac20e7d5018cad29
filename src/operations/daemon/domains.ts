/** Wires domains: the checks of sending domains, with key rotation and the periodic recheck, and our own MTA-STS policy. */
import type { ReadSettings, StartSettings } from '../../base/config/live-config.js'
import type { Clock } from '../../base/platform/clock.js'
import type { Log } from '../../base/platform/log.js'
import type { Database } from '../../base/storage/db/database.js'
import { buildRotationDeps, openDomainResolver } from '../../workspaces/domains/domain-resolver.js'
import { PolicyFinder } from '../../workspaces/domains/mta-sts/find-policy.js'
import type { ReceivingDomainCache } from '../../workspaces/domains/receiving-domain-cache.js'
import { type RecheckDeps, RecheckRunner } from '../../workspaces/domains/recheck-domains.js'
import type { RotationDeps } from '../../workspaces/domains/rotate-keys.js'
import type { StopSteps } from './daemon-options.js'
import { type Edges, resolverOf } from './edges.js'

interface DomainDeps {
  readonly config: StartSettings
  readonly settings: ReadSettings
  readonly clock: Clock
  readonly log: Log
  readonly edges: Edges
  readonly database: Database
}

interface DomainChecks {
  readonly domainChecks: RecheckRunner
  /** Dependencies of the checks that a request asks for. */
  readonly rotationDeps: RotationDeps
  /** Ends the questions to DNS that are under way, and all later ones. */
  readonly stopAsking: () => Promise<void>
}

export function wireDomainChecks(
  { config, settings, clock, log, edges, database }: DomainDeps,
  onChanged: RecheckDeps['onChanged'],
): DomainChecks {
  const stopped = new AbortController()
  const resolver = edges.resolver ?? openDomainResolver(config, clock, stopped.signal)
  const { random } = edges
  const rotationDeps = buildRotationDeps(config, () => settings().outbound.expire_after, {
    ...{ ...database, resolver, random },
  })
  const domainChecks = new RecheckRunner({ ...rotationDeps, clock, log, onChanged })
  return { domainChecks, rotationDeps, stopAsking: async () => stopped.abort() }
}

/** Finds which hosts have our policy, by the domains that receive mail here and their MX records. */
export function wireOwnPolicy(
  { config, clock, edges }: Pick<DomainDeps, 'config' | 'clock' | 'edges'>,
  receivingDomains: ReceivingDomainCache,
  stopSteps: StopSteps,
): PolicyFinder {
  const stopped = new AbortController()
  stopSteps.push(() => stopped.abort())
  const resolver = resolverOf(edges, config, clock, stopped.signal)
  return new PolicyFinder({
    config,
    receives: async (domain) => (await receivingDomains.find(domain))?.inbound === true,
    resolveMx: (domain) => resolver.resolveMx(domain),
  })
}
