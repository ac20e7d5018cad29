/**
 * Finds the endpoint that answers a path: one table for the API (`/v1/…`, `/api/v1/…` and `/…`), for the interface of
 * pages in a browser (`/ui/api/v1/…`, `/ui/api/…`), and for pages.
 *
 * A router tries its paths in turn, so each first segment has a separate router and a request is compared with the few
 * paths of one resource.
 */
import Router from '@koa/router'
import { formatForDisplay } from '../../../../base/mail/address.js'
import { Refusal } from '../../../../base/mail/refusal.js'
import { findClosestWord } from '../../../../base/platform/closest-word.js'
import type { ApiContext, ApiState } from '../context/api-context.js'
import { type Mount, type Place, serviceOf } from '../context/place.js'

export interface Endpoint {
  readonly methods: readonly string[]
  /** `/emails/:id`. */
  readonly path: string
  readonly run: (ctx: ApiContext) => Promise<void> | void
}

export class RouteTable {
  /** Paths without parameters, by mount. */
  private readonly paths = new Map<Mount, Set<string>>()
  private readonly routers = new Map<string, Router<ApiState>>()
  private readonly dispatchers = new Map<string, ReturnType<Router<ApiState>['routes']>>()

  private explainPath: (path: string) => string | null = () => null

  /** What to say of a path that is not found, beyond that. Null for nothing. */
  explainPaths(explain: (path: string) => string | null): void {
    this.explainPath = explain
  }

  mount(mount: Mount, endpoints: readonly Endpoint[]): void {
    const literal = new Set(endpoints.map(({ path }) => path).filter((path) => !path.includes(':')))
    this.paths.set(mount, new Set([...(this.paths.get(mount) ?? []), ...literal]))
    for (const { methods, path, run } of endpoints) {
      // `/emails/batch` must not match `/emails/:id`.
      const isOther = (requested: string): boolean => requested !== path && literal.has(requested)
      this.routerOf({ mount, path }).register(path, [...methods], (ctx, next) =>
        isOther(ctx.state.place.path) ? next() : run(ctx),
      )
    }
  }

  /** Rejects with a Refusal `not-found` or `method-not-allowed`, or with what the endpoint throws. */
  async dispatch(ctx: ApiContext): Promise<void> {
    const { place } = ctx.state
    const dispatcher = this.dispatchers.get(resourceOf(place))
    if (dispatcher === undefined) throw this.resourceNotFound(place)
    ctx.newRouterPath = place.path
    // The router adds the fields that its own context type has beyond ours.
    await dispatcher(ctx as Parameters<typeof dispatcher>[0], () => this.refuseUnmatched(ctx))
  }

  /** No route matched: the path is unknown, or has other methods. */
  private async refuseUnmatched(ctx: ApiContext): Promise<never> {
    const { place } = ctx.state
    const { matched = [] } = ctx
    const exact = matched.filter((layer) => layer.path === place.path)
    const methods = [...new Set((exact.length > 0 ? exact : matched).flatMap(({ methods }) => methods))].sort()
    if (methods.length === 0) throw this.resourceNotFound(place)
    throw methodNotAllowed(ctx.method, methods)
  }

  private resourceNotFound({ mount, path: given }: Place): Refusal {
    const path = formatForDisplay(given)
    const meant = findClosestWord(given, this.paths.get(mount) ?? [])
    const service = serviceOf(mount)
    const suggestion = meant === null ? '' : `; did you mean "${service === null ? mount : ''}${meant}"?`
    const served = service === null ? null : `docs/coming-from/${service}.md has the paths that are served`
    const explanation = mount === '/v1' ? this.explainPath(given) : served
    const more = explanation === null ? '' : `; ${explanation}`
    return new Refusal('not-found', `no such resource: ${path}${suggestion}${more}`, { path })
  }

  private routerOf(place: Place): Router<ApiState> {
    const resource = resourceOf(place)
    const known = this.routers.get(resource)
    if (known !== undefined) return known
    const router = new Router<ApiState>({ sensitive: true, strict: place.mount === '' })
    this.routers.set(resource, router)
    this.dispatchers.set(resource, router.routes())
    return router
  }
}

/** The key of a router: the mount and the first segment of the path. All pages have the same key. */
function resourceOf({ mount, path }: Place): string {
  if (mount === '') return mount
  const end = path.indexOf('/', 1)
  return mount + (end === -1 ? path : path.slice(0, end))
}

/** `errorHeaders` puts `allowed` into the field `Allow`. */
export function methodNotAllowed(method: string, allowed: readonly string[]): Refusal {
  return new Refusal('method-not-allowed', `${method} is not allowed here`, { allowed })
}
