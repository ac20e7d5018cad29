/**
 * Adds to the hosts of a destination what the policies of the domain demand of TLS: DANE where DNSSEC covers the host,
 * else MTA-STS (RFC 8461 section 2).
 *
 * Routes of the operator have no policy. Memory answers the look-ups for a domain without policies.
 */
import type { Config } from '../../../base/config/complete.js'
import type { DomainName } from '../../../base/mail/address.js'
import type { DnssecResolver } from '../../../base/platform/dns/resolver.js'
import type { Destination, Host } from '../hosts/destination.js'
import { type HostSecurity, noPolicy, noSecurity } from '../hosts/host-security.js'
import type { AppliedPolicy } from '../hosts/tls-result.js'
import { type DaneFinding, findDane } from './dane-lookup.js'
import type { StsPolicies } from './sts-policies.js'
import { formatStsPolicy, matchesStsPolicy, type StsPolicy } from './sts-policy.js'

interface SecurityLookupDeps {
  readonly resolver: DnssecResolver
  readonly stsPolicies: Pick<StsPolicies, 'find' | 'size'>
  readonly settings: () => Pick<Config['outbound'], 'dane' | 'mta_sts'>
}

export class DestinationSecurer {
  constructor(private readonly deps: SecurityLookupDeps) {}

  /** The number of known MTA-STS policies. */
  get policyCount(): number {
    return this.deps.stsPolicies.size
  }

  /** `finding` resolves to the hosts by MX or address. The policy is looked up at the same time. */
  async secure(domain: DomainName, finding: Promise<Destination>): Promise<Destination> {
    const { settings, stsPolicies, resolver } = this.deps
    const { dane, mta_sts: mtaSts } = settings()
    const [destination, policy] = await Promise.all([finding, mtaSts ? stsPolicies.find(domain) : null])
    if (destination.kind !== 'hosts') return destination
    // This is the answer by which the destination was found, unless it has left the cache since.
    const mx = dane === 'auto' ? await resolver.judgeMx(domain) : null
    if (mx?.lookup.kind === 'failure') return toTemporaryFailure(domain, mx.lookup.detail)
    const isMxAuthentic = mx?.isAuthentic === true
    if (!isMxAuthentic && policy === null)
      return { kind: 'hosts', hosts: destination.hosts.map((host) => ({ ...host, security: noSecurity })) }
    const findings = isMxAuthentic ? await findEachDane(resolver, destination.hosts) : null
    return {
      kind: 'hosts',
      hosts: destination.hosts.map((host) => {
        const dane = findings?.get(host.mx) ?? { kind: 'none' }
        return { ...host, security: securityFor(domain, host, { dane, policy, isMxAuthentic }) }
      }),
    }
  }
}

/** Without an answer it is unknown whether DNSSEC covers the hosts, because an attacker may have suppressed it. */
function toTemporaryFailure(domain: DomainName, detail: string): Destination {
  const response = `the MX records of ${domain} cannot be looked up: ${detail}`
  return { kind: 'temporary', reason: 'dns', response, status: '4.4.3' }
}

async function findEachDane(
  { judgeRecords }: DnssecResolver,
  hosts: readonly Host[],
): Promise<ReadonlyMap<string, DaneFinding>> {
  const ports = new Map(hosts.map(({ mx, port }) => [mx, port]))
  const found = [...ports].map(async ([mx, port]) => [mx, await findDane(judgeRecords, mx, port)] as const)
  return new Map(await Promise.all(found))
}

interface DomainFindings {
  readonly dane: DaneFinding
  readonly policy: StsPolicy | null
  readonly isMxAuthentic: boolean
}

function securityFor(domain: DomainName, { mx }: Host, { dane, policy, isMxAuthentic }: DomainFindings): HostSecurity {
  switch (dane.kind) {
    case 'failed': {
      const text = `the DNS look-ups for DANE fail (${dane.what})`
      const rule = { kind: 'refused', reason: 'dns', text, failure: 'dnssec-invalid' } as const
      return { rule, isNameTrusted: false, applied: { ...noPolicy, type: 'tlsa' } }
    }
    case 'dane': {
      const { base, records, strings } = dane
      const names = [...new Set([base, mx, domain])]
      return {
        rule: { kind: 'dane', base, names, records },
        isNameTrusted: true,
        applied: { type: 'tlsa', strings, hosts: [] },
      }
    }
    case 'none':
      if (policy === null) return { rule: { kind: 'none' }, isNameTrusted: isMxAuthentic, applied: noPolicy }
      return stsSecurityFor(mx, policy, isMxAuthentic)
  }
}

function stsSecurityFor(mx: string, policy: StsPolicy, isMxAuthentic: boolean): HostSecurity {
  const applied: AppliedPolicy = { type: 'sts', strings: formatStsPolicy(policy), hosts: policy.patterns }
  const isListed = matchesStsPolicy(policy, mx)
  const isNameTrusted = isListed || isMxAuthentic
  if (policy.mode === 'testing') return { rule: { kind: 'sts-testing', isListed }, isNameTrusted, applied }
  if (isListed) return { rule: { kind: 'sts-enforce' }, isNameTrusted, applied }
  const text = 'the MTA-STS policy does not list the host'
  const rule = { kind: 'refused', reason: 'tls', text, failure: 'validation-failure' } as const
  return { rule, isNameTrusted, applied }
}
