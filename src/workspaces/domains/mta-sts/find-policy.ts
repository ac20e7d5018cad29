/**
 * Finds the MTA-STS policy of a policy host. We publish ours for the service zone. We publish it for a domain that
 * receives mail here while each of its MX records names our host, because a policy that does not list a domain's
 * other hosts would keep mail from them.
 */
import type { StartSettings } from '../../../base/config/live-config.js'
import { type DomainName, tryParseDomainName } from '../../../base/mail/address.js'
import type { Resolver } from '../../../base/platform/dns/resolver.js'
import { buildOwnPolicy, domainOfPolicyHost } from './own-policy.js'

interface PolicyDeps {
  readonly config: Pick<StartSettings, 'inbound' | 'service'>
  readonly receives: (domain: DomainName) => Promise<boolean>
  readonly resolveMx: Resolver['resolveMx']
}

type FoundPolicy =
  | { readonly kind: 'policy'; readonly text: string }
  | { readonly kind: 'none' }
  /** We do not know the MX records of the domain now. */
  | { readonly kind: 'unknown' }

export class PolicyFinder {
  private readonly text: string | null

  constructor(private readonly deps: PolicyDeps) {
    this.text = buildOwnPolicy(deps.config)?.text ?? null
  }

  /** `host` is as a request names it, with or without a port. */
  async find(host: string): Promise<FoundPolicy> {
    const { receives, resolveMx } = this.deps
    const { zone, inbound_mx_host: mxHost } = this.deps.config.service
    const name = tryParseDomainName(host.replace(/:\d{1,5}$/, ''))
    const domain = name === null ? null : domainOfPolicyHost(name)
    if (this.text === null || domain === null) return { kind: 'none' }
    const own: FoundPolicy = { kind: 'policy', text: this.text }
    if (domain === zone) return own
    if (!(await receives(domain))) return { kind: 'none' }
    const found = await resolveMx(domain)
    if (found.kind === 'failure') return { kind: 'unknown' }
    const isOurs = found.kind === 'records' && found.records.every(({ exchange }) => exchange.toLowerCase() === mxHost)
    return isOurs ? own : { kind: 'none' }
  }
}
