/** Wires our own MTA-STS policy: which hosts have it, by the domains that receive mail here and their MX records. */
import type { ReadSettings, StartSettings } from '../../base/config/live-config.js'
import type { Clock } from '../../base/platform/clock.js'
import { defaultResolverSettings, openResolver } from '../../base/platform/dns/resolver.js'
import { createPolicyFinder, type FindPolicy } from '../../workspaces/domains/mta-sts/find-policy.js'
import type { ReceivingDomainCache } from '../../workspaces/domains/receiving-domain-cache.js'
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
