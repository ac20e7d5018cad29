/**
 * Finds where mail for a domain goes: by a route, else its MX hosts, else its own address.
 *
 * RFC 5321 section 5.1; null MX: RFC 7505. The result is `temporary` whenever a look-up failed; a
 * refusal needs authoritative answers. As with Postfix by default, a domain is refused if none of
 * its MX hosts has an address. Addresses from DNS must pass the guard; those of a route need not.
 *
 * Known limits: at most 10 hosts and 20 addresses; a chain of routes is not followed.
 */
import { isIP } from 'node:net'
import type { DomainName } from '../../mail/address.js'
import type { Route } from '../../mail/route.js'
import type { AddressGuard } from '../../platform/address-guard.js'
import type { LookupResult, Resolver } from '../../platform/dns/resolver.js'
import type { RandomSource } from '../../platform/random.js'
import type { SecureDestination } from '../transport-security/secure-destination.js'
import type { Destination, FindDestination, Host } from './destination.js'
import { interleaveFamilies, orderMxHosts } from './mx-order.js'
import type { FindRoute, RouteMatch } from './routes.js'

export interface DestinationDeps {
  readonly resolver: Resolver
  readonly findRoute: FindRoute
  readonly mayDial: AddressGuard
  readonly random: RandomSource
  /** Port of MX hosts. */
  readonly port: () => number
  /** Names under which this server may be an MX itself; mail is sent to them for domains alone that it receives mail for. */
  readonly ownNames: ReadonlySet<string>
  /** Whether the MX listener accepts mail for the domain; absent: for none. */
  readonly receives?: (domain: DomainName) => boolean
  /** Adds the TLS policies of the domain; absent: there are none. */
  readonly secure?: SecureDestination | undefined
  /** Goes before routes; absent: there is none. */
  readonly simulatorDomain?: DomainName
}

const MAX_ADDRESSES = 20
const NO_NAMES: ReadonlySet<string> = new Set()

export function createDestinationFinder(deps: DestinationDeps): FindDestination {
  return async (domain) => {
    if (domain === deps.simulatorDomain) return { kind: 'scripted', host: domain }
    const routed = deps.findRoute(domain)
    if (routed !== null) return await findByRoute(deps, routed)
    const finding = findByMx(deps, domain)
    return await (deps.secure === undefined ? finding : deps.secure(domain, finding))
  }
}

async function findByRoute({ resolver, random }: DestinationDeps, { route, final }: RouteMatch): Promise<Destination> {
  const lookup: LookupResult<string> =
    isIP(route.host) === 0 ? await resolver.resolveAddresses(route.host) : { kind: 'records', records: [route.host] }
  // A fault of our configuration or DNS must not bounce mail.
  if (lookup.kind !== 'records')
    return toTemporaryFailure(`no address for ${route.host}, which a route names: ${describeLookup(lookup)}`)
  return toDestination(interleaveFamilies(lookup.records, random).map((address) => toHost(route, address, final)))
}

function toHost({ host, port, tls, auth }: Route, address: string, final: boolean): Host {
  return { mx: host, address, port, tls, auth, final, isRouted: true }
}

async function findByMx(deps: DestinationDeps, domain: DomainName): Promise<Destination> {
  const lookup = await deps.resolver.resolveMx(domain)
  switch (lookup.kind) {
    case 'failure':
      return toTemporaryFailure(`the MX records of ${domain} cannot be looked up: ${describeLookup(lookup)}`)
    case 'no-domain':
      return toBadDomainRefusal('5.1.2', `the domain ${domain} does not exist`)
    case 'no-data':
      return await findByAddress(deps, domain)
    case 'records':
      break
  }
  const strict = orderMxHosts(lookup.records, deps.ownNames, deps.random)
  const isLocal = strict.kind === 'loop' && deps.receives?.(domain) === true
  const order = isLocal ? orderMxHosts(lookup.records, NO_NAMES, deps.random) : strict
  switch (order.kind) {
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
    case 'hosts':
      return await findByHosts(deps, domain, order.hosts)
  }
}

/** Implicit MX: a domain without MX records, but with an address. */
async function findByAddress(deps: DestinationDeps, domain: DomainName): Promise<Destination> {
  const lookup = await deps.resolver.resolveAddresses(domain)
  if (lookup.kind === 'failure')
    return toTemporaryFailure(`the addresses of ${domain} cannot be looked up: ${describeLookup(lookup)}`)
  if (lookup.kind !== 'records')
    return toBadDomainRefusal('5.1.2', `the domain ${domain} has neither MX host nor address`)
  return chooseHosts(deps, domain, [{ host: domain, lookup }])
}

async function findByHosts(
  deps: DestinationDeps,
  domain: DomainName,
  names: readonly DomainName[],
): Promise<Destination> {
  const lookups = await Promise.all(
    names.map(async (host) => ({ host, lookup: await deps.resolver.resolveAddresses(host) })),
  )
  return chooseHosts(deps, domain, lookups)
}

interface HostLookup {
  readonly host: DomainName
  readonly lookup: LookupResult<string>
}

function chooseHosts(
  { mayDial, random, port }: DestinationDeps,
  domain: DomainName,
  lookups: readonly HostLookup[],
): Destination {
  const known = lookups.flatMap(({ host, lookup }) =>
    lookup.kind === 'records'
      ? interleaveFamilies(lookup.records, random).map((address) => ({ mx: host, address }))
      : [],
  )
  const allowed = known.filter(({ address }) => mayDial(address)).slice(0, MAX_ADDRESSES)
  if (allowed.length > 0) {
    return toDestination(
      allowed.map((known) => ({ ...known, port: port(), tls: 'opportunistic', auth: null, final: true })),
    )
  }
  const failed = lookups.find(({ lookup }) => lookup.kind === 'failure')
  if (failed !== undefined)
    return toTemporaryFailure(`the addresses of ${failed.host} cannot be looked up: ${describeLookup(failed.lookup)}`)
  const [internal] = known
  if (internal === undefined) return toBadDomainRefusal('5.4.4', `no MX host of ${domain} has an address`)
  const response = `the mail host ${internal.mx} of ${domain} points at ${internal.address}, which is no public address`
  return toRefusal('private-address', '5.4.4', response)
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
