/**
 * The operator's routes, which replace DNS: exact domains first, then `*`.
 *
 * A route for an exact domain replaces its MX, so that a hop there is final; `*` is a smarthost, which
 * still has to deliver.
 */
import type { DomainName } from '../../../base/mail/address.js'
import type { Route } from '../../../base/mail/route.js'

export interface RouteMatch {
  readonly route: Route
  readonly final: boolean
}

export type FindRoute = (domain: DomainName) => RouteMatch | null

/** `routes`: by domain in lower case, or `*`, as `outbound.routes` holds them. */
export function createRouteFinder(routes: Readonly<Record<string, Route>>): FindRoute {
  const { '*': smarthost, ...exact } = routes
  const matches = new Map(Object.entries(exact).map(([domain, route]) => [domain, { route, final: true }]))
  const fallback = smarthost === undefined ? null : { route: smarthost, final: false }
  return (domain) => matches.get(domain) ?? fallback
}
