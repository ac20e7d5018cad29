/**
 * The operator's routes, which replace DNS: exact domains first, then `*`.
 *
 * A route for an exact domain replaces its MX, so a hop there is final. The route `*` is a smarthost, which still has
 * to deliver the message.
 */
import type { DomainName } from '../../../base/mail/address.js'
import type { Route } from '../../../base/mail/route.js'

export interface RouteMatch {
  readonly route: Route
  readonly final: boolean
}

export class Routes {
  private readonly exact: ReadonlyMap<string, RouteMatch>
  private readonly fallback: RouteMatch | null

  /** The keys of the routes are domains in lower case, or `*`, as in `outbound.routes`. */
  constructor({ '*': smarthost, ...exact }: Readonly<Record<string, Route>>) {
    this.exact = new Map(Object.entries(exact).map(([domain, route]) => [domain, { route, final: true }]))
    this.fallback = smarthost === undefined ? null : { route: smarthost, final: false }
  }

  find(domain: DomainName): RouteMatch | null {
    return this.exact.get(domain) ?? this.fallback
  }
}
