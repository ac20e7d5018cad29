/**
 * Where the operator sends mail instead of asking DNS: exact domains first, then `*`.
 *
 * A route for exactly that domain stands in for its MX, so a hop there is final; `*` is
 * a smarthost, behind which delivery is still to come. A malformed route is refused when
 * the table is made, never when mail is due.
 */
import type { DomainName } from '../../mail/address.js'
import { domainNameOrNull, shown } from '../../mail/address.js'
import { Refusal } from '../../mail/refusal.js'
import { parseRoute, type Route } from '../../mail/route.js'

export interface Routed {
  readonly route: Route
  readonly final: boolean
}

export type RouteFor = (domain: DomainName) => Routed | null

/** `settings`: domain or `*` to a route, as in `outbound.routes`. */
export function routeTable(settings: Readonly<Record<string, string>>): RouteFor {
  const exact = new Map<string, Routed>()
  let smarthost: Routed | null = null
  for (const [key, text] of Object.entries(settings)) {
    const route = checkedRoute(key, text)
    if (key === '*') smarthost = { route, final: false }
    else exact.set(checkedDomain(key), { route, final: true })
  }
  return (domain) => exact.get(domain) ?? smarthost
}

function checkedRoute(key: string, text: string): Route {
  const parsed = parseRoute(text)
  if (parsed.kind === 'route') return parsed.route
  throw new Refusal('invalid-parameter', `the route of ${shown(key)}: ${parsed.problem}`)
}

function checkedDomain(key: string): DomainName {
  const domain = domainNameOrNull(key)
  if (domain === null) throw new Refusal('invalid-parameter', `a route for ${shown(key)}, which is no domain name`)
  return domain
}
