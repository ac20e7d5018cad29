/**
 * Finds where mail for a domain goes: by a route, else to its MX hosts, else to its own address.
 *
 * RFC 5321 section 5.1 is the source, RFC 7505 that of null MX. The result is `temporary` whenever a look-up failed; a
 * refusal needs authoritative answers. A domain is refused if none of its MX hosts has an address, which is the default
 * of Postfix too. Addresses from DNS must pass the guard; addresses of a route need not.
 *
 * Known limits: at most 10 hosts and 20 addresses; a chain of routes is not followed.
 */
import { isIP } from 'node:net'
import type { Config } from '../../../base/config/complete.js'
import { followSetting } from '../../../base/config/follow-setting.js'
import { type DomainName, tryParseDomainName } from '../../../base/mail/address.js'
import type { Route } from '../../../base/mail/route.js'
import { type AddressGuard, createAddressGuard } from '../../../base/platform/address-guard.js'
import type { LookupResult, MxRecord, Resolver } from '../../../base/platform/dns/resolver.js'
import type { RandomSource } from '../../../base/platform/random.js'
import type { ReceivingDomainCache } from '../../../workspaces/domains/receiving-domain-cache.js'
import type { Destination, Host } from '../hosts/destination.js'
import { type RouteMatch, Routes } from '../hosts/routes.js'
import type { DestinationSecurer } from '../transport-security/secure-destination.js'

const MAX_MX_HOSTS = 10

export interface DestinationDeps {
  readonly resolver: Resolver
  readonly settings: () => Pick<Config['outbound'], 'routes' | 'port' | 'allowed_private_networks'>
  readonly random: RandomSource
  /** Names under which this server may be an MX. It sends mail to them only for domains that it serves. */
  readonly ownNames: ReadonlySet<string>
  readonly receiving: Pick<ReceivingDomainCache, 'receives'>
  /** Adds the TLS policies of the domain. Null if policies are not looked up. */
  readonly security: Pick<DestinationSecurer, 'secure'> | null
  /** The domain of the simulator, which takes precedence over routes. */
  readonly simulatorDomain: DomainName
}

const MAX_ADDRESSES = 20
const NO_NAMES: ReadonlySet<string> = new Set()

export class DestinationFinder {
  private readonly routes: () => Routes
  private readonly guard: () => AddressGuard

  constructor(private readonly deps: DestinationDeps) {
    const { settings } = deps
    this.routes = followSetting(
      () => settings().routes,
      (routes) => new Routes(routes),
    )
    this.guard = followSetting(() => settings().allowed_private_networks, createAddressGuard)
  }

  async find(domain: DomainName): Promise<Destination> {
    if (domain === this.deps.simulatorDomain) return { kind: 'scripted', host: domain }
    const routed = this.routes().find(domain)
    if (routed !== null) return await this.findByRoute(routed)
    const finding = this.findByMx(domain)
    return await (this.deps.security?.secure(domain, finding) ?? finding)
  }

  async findByRoute({ route, final }: RouteMatch): Promise<Destination> {
    const { resolver, random } = this.deps
    const lookup: LookupResult<string> =
      isIP(route.host) === 0 ? await resolver.resolveAddresses(route.host) : { kind: 'records', records: [route.host] }
    // A fault of our configuration or of DNS must not bounce mail.
    if (lookup.kind !== 'records')
      return toTemporaryFailure(`no address for ${route.host}, which a route names: ${describeLookup(lookup)}`)
    return toDestination(interleaveFamilies(lookup.records, random).map((address) => toHost(route, address, final)))
  }

  private async findByMx(domain: DomainName): Promise<Destination> {
    const { resolver, ownNames, random, receiving } = this.deps
    const lookup = await resolver.resolveMx(domain)
    switch (lookup.kind) {
      case 'failure':
        return toTemporaryFailure(`the MX records of ${domain} cannot be looked up: ${describeLookup(lookup)}`)
      case 'no-domain':
        return toBadDomainRefusal('5.1.2', `the domain ${domain} does not exist`)
      case 'no-data':
        return await this.findByAddress(domain)
      case 'records':
        break
    }
    const strict = orderMxHosts(lookup.records, ownNames, random)
    const isLocal = strict.kind === 'loop' && (await receiving.receives(domain))
    const order = isLocal ? orderMxHosts(lookup.records, NO_NAMES, random) : strict
    return order.kind === 'hosts' ? await this.findByHosts(domain, order.hosts) : refuseOrder(domain, order.kind)
  }

  /** Finds the implicit MX of a domain that has an address, but no MX records. */
  private async findByAddress(domain: DomainName): Promise<Destination> {
    const lookup = await this.deps.resolver.resolveAddresses(domain)
    if (lookup.kind === 'failure')
      return toTemporaryFailure(`the addresses of ${domain} cannot be looked up: ${describeLookup(lookup)}`)
    if (lookup.kind !== 'records')
      return toBadDomainRefusal('5.1.2', `the domain ${domain} has neither MX host nor address`)
    return this.chooseHosts(domain, [{ host: domain, lookup }])
  }

  private async findByHosts(domain: DomainName, names: readonly DomainName[]): Promise<Destination> {
    const lookups = await Promise.all(
      names.map(async (host) => ({ host, lookup: await this.deps.resolver.resolveAddresses(host) })),
    )
    return this.chooseHosts(domain, lookups)
  }

  private chooseHosts(domain: DomainName, lookups: readonly HostLookup[]): Destination {
    const { random, settings } = this.deps
    const known = lookups.flatMap(({ host, lookup }) =>
      lookup.kind === 'records'
        ? interleaveFamilies(lookup.records, random).map((address) => ({ mx: host, address }))
        : [],
    )
    const mayDial = this.guard()
    const { port } = settings()
    const allowed = known.filter(({ address }) => mayDial(address)).slice(0, MAX_ADDRESSES)
    if (allowed.length > 0)
      return toDestination(allowed.map((known) => ({ ...known, port, tls: 'opportunistic', auth: null, final: true })))
    const failed = lookups.find(({ lookup }) => lookup.kind === 'failure')
    if (failed !== undefined)
      return toTemporaryFailure(`the addresses of ${failed.host} cannot be looked up: ${describeLookup(failed.lookup)}`)
    const [internal] = known
    if (internal === undefined) return toBadDomainRefusal('5.4.4', `no MX host of ${domain} has an address`)
    const response = `the mail host ${internal.mx} of ${domain} points at ${internal.address}, which is not a public address`
    return toRefusal('private-address', '5.4.4', response)
  }
}

interface HostLookup {
  readonly host: DomainName
  readonly lookup: LookupResult<string>
}

function toHost({ host, port, tls, auth }: Route, address: string, final: boolean): Host {
  return { mx: host, address, port, tls, auth, final, isRouted: true }
}

function refuseOrder(domain: DomainName, kind: 'null-mx' | 'loop' | 'junk'): Destination {
  switch (kind) {
    case 'null-mx':
      return {
        ...toRefusal('null-mx', '5.1.10', `the domain ${domain} accepts no mail (null MX)`),
        recipientsFault: true,
      }
    case 'loop':
      return toRefusal(
        'routing-loop',
        '5.4.6',
        `the best MX host of ${domain} is this server, which does not accept mail for it`,
      )
    case 'junk':
      return toBadDomainRefusal('5.4.4', `no MX record of ${domain} names a host`)
  }
}

type RefusedDestination = Extract<Destination, { kind: 'refused' }>

function toDestination(hosts: readonly Host[]): Destination {
  return { kind: 'hosts', hosts: hosts.slice(0, MAX_ADDRESSES) }
}

function toRefusal(reason: RefusedDestination['reason'], status: string, response: string): RefusedDestination {
  return { kind: 'refused', reason, status, response, recipientsFault: false }
}

function toBadDomainRefusal(status: string, response: string): RefusedDestination {
  return toRefusal('bad-domain', status, response)
}

function toTemporaryFailure(response: string): Destination {
  return { kind: 'temporary', reason: 'dns', response }
}

function describeLookup(lookup: LookupResult<unknown>): string {
  switch (lookup.kind) {
    case 'failure':
      return lookup.detail
    case 'no-domain':
      return 'no such name'
    default:
      return 'no such record'
  }
}

type MxOrder =
  | { readonly kind: 'hosts'; readonly hosts: readonly DomainName[] }
  /** The domain takes no mail (RFC 7505). */
  | { readonly kind: 'null-mx' }
  /** No host is better than this server. */
  | { readonly kind: 'loop' }
  | { readonly kind: 'junk' }

/**
 * Orders MX hosts as RFC 5321 section 5.1 requires. Pure.
 *
 * Hosts with a lower preference come first, and equal ones are shuffled. Exchanges that are no domain names are
 * skipped. If this server is among the hosts, it is removed with all hosts of the same or a higher preference value, so
 * that mail cannot loop.
 */
function orderMxHosts(records: readonly MxRecord[], ownNames: ReadonlySet<string>, random: RandomSource): MxOrder {
  if (records.every(({ exchange }) => exchange === '')) return { kind: 'null-mx' }
  const named = records.flatMap(({ preference, exchange }) => {
    const host = tryParseDomainName(exchange)
    return host === null ? [] : [{ preference, host }]
  })
  const own = named.filter(({ host }) => ownNames.has(host)).map(({ preference }) => preference)
  const better = named.filter(({ preference }) => preference < Math.min(...own))
  const sorted = shuffle(better, random).sort((a, b) => a.preference - b.preference)
  const hosts = [...new Set(sorted.map(({ host }) => host))].slice(0, MAX_MX_HOSTS)
  if (hosts.length > 0) return { kind: 'hosts', hosts }
  return { kind: own.length > 0 ? 'loop' : 'junk' }
}

/** Returns the addresses of one host, IPv4 and IPv6 alternating, each family shuffled. */
function interleaveFamilies(addresses: readonly string[], random: RandomSource): readonly string[] {
  const all = shuffle([...new Set(addresses)], random)
  // IPv4 comes first, because many small machines have no IPv6, or IPv6 without reverse DNS.
  const v4 = all.filter((address) => !address.includes(':'))
  const v6 = all.filter((address) => address.includes(':'))
  return Array.from({ length: Math.max(v4.length, v6.length) }, (_, at) => [v4[at], v6[at]])
    .flat()
    .filter((address) => address !== undefined)
}

/** Shuffles by the algorithm of Fisher and Yates. */
function shuffle<T>(items: readonly T[], random: RandomSource): T[] {
  const left = [...items]
  return items.flatMap(() => left.splice(Math.floor(random() * left.length), 1))
}
