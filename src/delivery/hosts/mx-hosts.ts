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
import type { Dice } from '../../platform/dice.js'
import type { Lookup, Resolver } from '../../platform/dns/resolver.js'
import type { AddressGuard } from './address-guard.js'
import type { Destination, FindDestination, Host } from './destination.js'
import { interleaved, mxOrder } from './mx-order.js'
import type { Routed, RouteFor } from './routes.js'

export interface MxDependencies {
  readonly resolver: Resolver
  readonly routeFor: RouteFor
  readonly mayDial: AddressGuard
  readonly dice: Dice
  /** Port of MX hosts. */
  readonly port: number
  /** Names under which we could be an MX ourselves; mail is never sent to these. */
  readonly ownNames: ReadonlySet<string>
}

const mostAddresses = 20

export function destinationFinder(deps: MxDependencies): FindDestination {
  return async (domain) => {
    const routed = deps.routeFor(domain)
    return routed === null ? await byMx(deps, domain) : await byRoute(deps, routed)
  }
}

async function byRoute({ resolver, dice }: MxDependencies, { route, final }: Routed): Promise<Destination> {
  const found: Lookup<string> =
    isIP(route.host) === 0 ? await resolver.addresses(route.host) : { kind: 'records', records: [route.host] }
  // Our own configuration or DNS is at fault, which must not bounce anybody's mail.
  if (found.kind !== 'records') return temporary(`no address for ${route.host}, which a route names: ${told(found)}`)
  return hosts(interleaved(found.records, dice).map((address) => routeHost(route, address, final)))
}

function routeHost({ host, port, tls, auth }: Route, address: string, final: boolean): Host {
  return { mx: host, address, port, tls, auth, final }
}

async function byMx(deps: MxDependencies, domain: DomainName): Promise<Destination> {
  const found = await deps.resolver.mx(domain)
  switch (found.kind) {
    case 'failure':
      return temporary(`the MX records of ${domain} cannot be looked up: ${told(found)}`)
    case 'no-domain':
      return badDomain('5.1.2', `the domain ${domain} does not exist`)
    case 'no-data':
      return await byAddress(deps, domain)
    case 'records':
      break
  }
  const order = mxOrder(found.records, deps.ownNames, deps.dice)
  switch (order.kind) {
    case 'null-mx':
      return {
        ...refused('null-mx', '5.1.10', `the domain ${domain} accepts no mail (null MX)`),
        recipientsFault: true,
      }
    case 'loop':
      return refused(
        'routing-loop',
        '5.4.6',
        `the best MX host of ${domain} is this server, which does not take its mail`,
      )
    case 'junk':
      return badDomain('5.4.4', `no MX record of ${domain} names a host`)
    case 'hosts':
      return await byHosts(deps, domain, order.hosts)
  }
}

/** Implicit MX: a domain without MX records, but with an address. */
async function byAddress(deps: MxDependencies, domain: DomainName): Promise<Destination> {
  const found = await deps.resolver.addresses(domain)
  if (found.kind === 'failure') return temporary(`the addresses of ${domain} cannot be looked up: ${told(found)}`)
  if (found.kind !== 'records') return badDomain('5.1.2', `the domain ${domain} has neither MX host nor address`)
  return choose(deps, domain, [{ host: domain, found }])
}

async function byHosts(deps: MxDependencies, domain: DomainName, names: readonly DomainName[]): Promise<Destination> {
  const found = await Promise.all(names.map(async (host) => ({ host, found: await deps.resolver.addresses(host) })))
  return choose(deps, domain, found)
}

interface HostLookup {
  readonly host: DomainName
  readonly found: Lookup<string>
}

function choose({ mayDial, dice, port }: MxDependencies, domain: DomainName, all: readonly HostLookup[]): Destination {
  const known = all.flatMap(({ host, found }) =>
    found.kind === 'records' ? interleaved(found.records, dice).map((address) => ({ mx: host, address })) : [],
  )
  const allowed = known.filter(({ address }) => mayDial(address)).slice(0, mostAddresses)
  if (allowed.length > 0) {
    return hosts(allowed.map((place) => ({ ...place, port, tls: 'opportunistic', auth: null, final: true })))
  }
  const open = all.find(({ found }) => found.kind === 'failure')
  if (open !== undefined) return temporary(`the addresses of ${open.host} cannot be looked up: ${told(open.found)}`)
  const [inside] = known
  if (inside === undefined) return badDomain('5.4.4', `no MX host of ${domain} has an address`)
  const response = `the mail host ${inside.mx} of ${domain} points at ${inside.address}, which is no public address`
  return refused('private-address', '5.4.4', response)
}

type Refused = Extract<Destination, { kind: 'refused' }>

function hosts(found: readonly Host[]): Destination {
  return { kind: 'hosts', hosts: found.slice(0, mostAddresses) }
}

function refused(reason: Refused['reason'], status: string, response: string): Refused {
  return { kind: 'refused', reason, status, response, recipientsFault: false }
}

function badDomain(status: string, response: string): Refused {
  return refused('bad-domain', status, response)
}

function temporary(response: string): Destination {
  return { kind: 'temporary', reason: 'dns', response }
}

function told(lookup: Lookup<unknown>): string {
  switch (lookup.kind) {
    case 'failure':
      return lookup.detail
    case 'no-domain':
      return 'no such name'
    default:
      return 'no such record'
  }
}
