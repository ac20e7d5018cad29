/** Wires our own MTA-STS policy: which hosts have it, by the domains that receive mail here and their MX records. */
import type { ReadSettings, StartSettings } from '../config/live-config.js'
import { createPolicyFinder, type FindPolicy } from '../domains/mta-sts/find-policy.js'
import type { ReceivingDomainCache } from '../domains/receiving-domain-cache.js'
import type { Clock } from '../platform/clock.js'
import { defaultResolverSettings, openResolver } from '../platform/dns/resolver.js'
import type { Edges } from './edges.js'

interface OwnPolicyDeps {
  readonly config: StartSettings
  readonly settings: ReadSettings
  readonly clock: Clock
  readonly edges: Edges
  readonly receivingDomains: ReceivingDomainCache
}

interface OwnPolicy {
  readonly find: FindPolicy
  readonly stop: () => Promise<void>
}

export function wireOwnPolicy({ config, clock, edges, receivingDomains }: OwnPolicyDeps): OwnPolicy {
  const stopped = new AbortController()
  const settings = { ...defaultResolverSettings, servers: config.dns.servers }
  const resolver = edges.resolver ?? openResolver(settings, clock, stopped.signal)
  const find = createPolicyFinder({
    config,
    receives: (domain) => receivingDomains.find(domain)?.inbound === true,
    resolveMx: (domain) => resolver.resolveMx(domain),
  })
  return { find, stop: async () => stopped.abort() }
}
