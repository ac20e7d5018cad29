/**
 * The operator's routes, which replace DNS: exact domains first, then `*`.
 *
 * A route for an exact domain replaces its MX, so that a hop there is final; `*` is a smarthost, which
 * still has to deliver. A malformed route is refused when the table is built, not when mail is due.
 */
import type { DomainName } from '../../mail/address.js'
import { formatForDisplay, tryParseDomainName } from '../../mail/address.js'
import { Refusal } from '../../mail/refusal.js'
import { parseRoute, type Route } from '../../mail/route.js'

export interface RouteMatch {
  readonly route: Route
  readonly final: boolean
}

export type FindRoute = (domain: DomainName) => RouteMatch | null

/** `settings`: routes by domain or `*`, as in `outbound.routes`. */
export function createRouteFinder(settings: Readonly<Record<string, string>>): FindRoute {
  const exact = new Map<string, RouteMatch>()
  let smarthost: RouteMatch | null = null
  for (const [key, text] of Object.entries(settings)) {
    const route = parseConfiguredRoute(key, text)
    if (key === '*') smarthost = { route, final: false }
    else exact.set(parseConfiguredDomain(key), { route, final: true })
  }
  return (domain) => exact.get(domain) ?? smarthost
}

function parseConfiguredRoute(key: string, text: string): Route {
  const parsed = parseRoute(text)
  if (parsed.kind === 'route') return parsed.route
  throw new Refusal('invalid-parameter', `the route of ${formatForDisplay(key)}: ${parsed.problem}`)
}

function parseConfiguredDomain(key: string): DomainName {
  const domain = tryParseDomainName(key)
  if (domain === null)
    throw new Refusal('invalid-parameter', `a route for ${formatForDisplay(key)}, which is no domain name`)
  return domain
}
