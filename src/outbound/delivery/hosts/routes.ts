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

export class Routes {
  private readonly exact: ReadonlyMap<string, RouteMatch>
  private readonly fallback: RouteMatch | null

  /** `routes`: by domain in lower case, or `*`, as `outbound.routes` holds them. */
  constructor({ '*': smarthost, ...exact }: Readonly<Record<string, Route>>) {
    this.exact = new Map(Object.entries(exact).map(([domain, route]) => [domain, { route, final: true }]))
    this.fallback = smarthost === undefined ? null : { route: smarthost, final: false }
  }

  find(domain: DomainName): RouteMatch | null {
    return this.exact.get(domain) ?? this.fallback
  }
}
