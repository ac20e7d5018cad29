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
import type { ApiContext, ApiState } from '../context/api-context.js'
import type { Mount, Place } from '../context/place.js'

export interface Endpoint {
  readonly methods: readonly string[]
  /** `/emails/:id`. */
  readonly path: string
  readonly run: (ctx: ApiContext) => Promise<void> | void
}

export class RouteTable {
  private readonly routers = new Map<string, Router<ApiState>>()
  private readonly dispatchers = new Map<string, ReturnType<Router<ApiState>['routes']>>()

  mount(mount: Mount, endpoints: readonly Endpoint[]): void {
    const literal = new Set(endpoints.map(({ path }) => path).filter((path) => !path.includes(':')))
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
    if (dispatcher === undefined) throw resourceNotFound(place)
    ctx.newRouterPath = place.path
    // The router adds the fields that its own context type has beyond ours.
    await dispatcher(ctx as Parameters<typeof dispatcher>[0], () => refuseUnmatched(ctx))
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

/** No route matched: the path is unknown, or has other methods. */
async function refuseUnmatched(ctx: ApiContext): Promise<never> {
  const { place } = ctx.state
  const { matched = [] } = ctx
  const exact = matched.filter((layer) => layer.path === place.path)
  const methods = [...new Set((exact.length > 0 ? exact : matched).flatMap(({ methods }) => methods))].sort()
  if (methods.length === 0) throw resourceNotFound(place)
  throw methodNotAllowed(ctx.method, methods)
}

function resourceNotFound(place: Place): Refusal {
  const path = formatForDisplay(place.path)
  return new Refusal('not-found', `no such resource: ${path}`, { path })
}

/** `errorHeaders` puts `allowed` into the field `Allow`. */
export function methodNotAllowed(method: string, allowed: readonly string[]): Refusal {
  return new Refusal('method-not-allowed', `${method} is not allowed here`, { allowed })
}
