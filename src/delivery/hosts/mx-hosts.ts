/**
 * Where mail for a domain goes: a route, else its MX hosts, else its own address.
 *
 * RFC 5321 section 5.1, null MX RFC 7505. The answer is `temporary` whenever DNS left
 * something open; a refusal needs authoritative answers alone. As Postfix does by
 * default, a domain whose MX hosts all have no address is refused. Addresses that only
 * a stranger's DNS vouches for pass the guard; those of a route do not need to.
 *
 * Known limits: at most 10 hosts and 20 addresses; a chain of routes is not followed.
 */
import { isIP } from 'node:net'
import type { DomainName } from '../../mail/address.js'
import type { Route } from '../../mail/route.js'
import type { LookupResult, Resolver } from '../../platform/dns/resolver.js'
import type { RandomSource } from '../../platform/random.js'
import type { AddressGuard } from './address-guard.js'
import type { Destination, FindDestination, Host } from './destination.js'
import { interleaveFamilies, orderMxHosts } from './mx-order.js'
import type { FindRoute, RouteMatch } from './routes.js'

export interface DestinationDeps {
  readonly resolver: Resolver
  readonly findRoute: FindRoute
  readonly mayDial: AddressGuard
  readonly random: RandomSource
  /** Port of MX hosts. */
  readonly port: number
  /** Names under which we could be an MX ourselves; mail is never sent to these. */
  readonly ownNames: ReadonlySet<string>
}

const MAX_ADDRESSES = 20

export function createDestinationFinder(deps: DestinationDeps): FindDestination {
  return async (domain) => {
    const routed = deps.findRoute(domain)
    return routed === null ? await findByMx(deps, domain) : await findByRoute(deps, routed)
  }
}

async function findByRoute({ resolver, random }: DestinationDeps, { route, final }: RouteMatch): Promise<Destination> {
  const found: LookupResult<string> =
    isIP(route.host) === 0 ? await resolver.resolveAddresses(route.host) : { kind: 'records', records: [route.host] }
  // Our own configuration or DNS is at fault, which must not bounce anybody's mail.
  if (found.kind !== 'records')
    return toTemporaryFailure(`no address for ${route.host}, which a route names: ${describeLookup(found)}`)
  return toDestination(interleaveFamilies(found.records, random).map((address) => toHost(route, address, final)))
}

function toHost({ host, port, tls, auth }: Route, address: string, final: boolean): Host {
  return { mx: host, address, port, tls, auth, final }
}

async function findByMx(deps: DestinationDeps, domain: DomainName): Promise<Destination> {
  const found = await deps.resolver.resolveMx(domain)
  switch (found.kind) {
    case 'failure':
      return toTemporaryFailure(`the MX records of ${domain} cannot be looked up: ${describeLookup(found)}`)
    case 'no-domain':
      return toBadDomainRefusal('5.1.2', `the domain ${domain} does not exist`)
    case 'no-data':
      return await findByAddress(deps, domain)
    case 'records':
      break
  }
  const order = orderMxHosts(found.records, deps.ownNames, deps.random)
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
        `the best MX host of ${domain} is this server, which does not take its mail`,
      )
    case 'junk':
      return toBadDomainRefusal('5.4.4', `no MX record of ${domain} names a host`)
    case 'hosts':
      return await findByHosts(deps, domain, order.hosts)
  }
}

/** Implicit MX: a domain without MX records, but with an address. */
async function findByAddress(deps: DestinationDeps, domain: DomainName): Promise<Destination> {
  const found = await deps.resolver.resolveAddresses(domain)
  if (found.kind === 'failure')
    return toTemporaryFailure(`the addresses of ${domain} cannot be looked up: ${describeLookup(found)}`)
  if (found.kind !== 'records')
    return toBadDomainRefusal('5.1.2', `the domain ${domain} has neither MX host nor address`)
  return chooseHosts(deps, domain, [{ host: domain, found }])
}

async function findByHosts(
  deps: DestinationDeps,
  domain: DomainName,
  names: readonly DomainName[],
): Promise<Destination> {
  const found = await Promise.all(
    names.map(async (host) => ({ host, found: await deps.resolver.resolveAddresses(host) })),
  )
  return chooseHosts(deps, domain, found)
}

interface HostLookup {
  readonly host: DomainName
  readonly found: LookupResult<string>
}

function chooseHosts(
  { mayDial, random, port }: DestinationDeps,
  domain: DomainName,
  all: readonly HostLookup[],
): Destination {
  const known = all.flatMap(({ host, found }) =>
    found.kind === 'records' ? interleaveFamilies(found.records, random).map((address) => ({ mx: host, address })) : [],
  )
  const allowed = known.filter(({ address }) => mayDial(address)).slice(0, MAX_ADDRESSES)
  if (allowed.length > 0) {
    return toDestination(allowed.map((place) => ({ ...place, port, tls: 'opportunistic', auth: null, final: true })))
  }
  const undecided = all.find(({ found }) => found.kind === 'failure')
  if (undecided !== undefined)
    return toTemporaryFailure(
      `the addresses of ${undecided.host} cannot be looked up: ${describeLookup(undecided.found)}`,
    )
  const [inside] = known
  if (inside === undefined) return toBadDomainRefusal('5.4.4', `no MX host of ${domain} has an address`)
  const response = `the mail host ${inside.mx} of ${domain} points at ${inside.address}, which is no public address`
  return toRefusal('private-address', '5.4.4', response)
}

type RefusedDestination = Extract<Destination, { kind: 'refused' }>

function toDestination(found: readonly Host[]): Destination {
  return { kind: 'hosts', hosts: found.slice(0, MAX_ADDRESSES) }
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
