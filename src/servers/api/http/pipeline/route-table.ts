/**
 * Finds the endpoint that answers a path: one table for the API (`/v1/…`, `/api/v1/…` and `/…`), for the interface of
 * pages in a browser (`/ui/api/v1/…`, `/ui/api/…`), and for pages.
 *
 * A router tries its paths in turn, so each first segment has a router of its own and a request is
 * compared with the few paths of one resource.
 */
import type { IncomingMessage } from 'node:http'
import Router from '@koa/router'
import { formatForDisplay } from '../../../../base/mail/address.js'
import { Refusal } from '../../../../base/mail/refusal.js'
import type { ApiContext, ApiState } from './api-context.js'

/** Under which prefix a group of endpoints is served; '': pages, whose paths are complete. */
type Mount = '' | '/v1' | '/ui/api' | '/ui/api/v1'

/** Where a request leads. `path`: below the mount, not decoded, since the router compares text. */
export interface Place {
  readonly mount: Mount
  readonly path: string
}

export interface Endpoint {
  readonly methods: readonly string[]
  /** `/emails/:id`. */
  readonly path: string
  readonly run: (ctx: ApiContext) => Promise<void> | void
}

/** RFC 8461 section 3.3. */
export const POLICY_PATH = '/.well-known/mta-sts.txt'

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

/** The place of a request. `hasSessions`: sessions are served, and not pages alone. */
export function placeOf({ url = '', method, headers }: IncomingMessage, hasSessions: boolean): Place {
  const path = stripHost(pathOf(url))
  if (stripMount(path, '/ui') !== null) {
    for (const mount of hasSessions ? SESSION_MOUNTS : []) {
      const below = stripMount(path, mount)
      if (below !== null) return { mount, path: below }
    }
    return { mount: '', path }
  }
  const isRead = method === 'GET' || method === 'HEAD'
  // The root is a page only for clients that accept HTML.
  const isStartPage = path === '/' && isRead && /\btext\/html\b/i.test(headers.accept ?? '')
  if (isStartPage || path === POLICY_PATH) return { mount: '', path }
  return { mount: '/v1', path: stripMount(path, '/v1') ?? stripMount(path, '/api/v1') ?? path }
}

const SESSION_MOUNTS = ['/ui/api/v1', '/ui/api'] as const

/** Whether the request is for a page or a file of the dashboard, existing or not. */
export function isPage({ mount, path }: Place): boolean {
  return mount === '' && path !== POLICY_PATH
}

/** Whether the request is for a route under `/ui/api`. */
export function isForSessions({ mount }: Place): boolean {
  return mount === '/ui/api' || mount === '/ui/api/v1'
}

/** The path for people: that of the API without its version. */
export function nameOf({ mount, path }: Place): string {
  return mount === '/v1' ? path : mount + path
}

/** The part of a request target before its query. */
export function pathOf(url: string): string {
  const end = url.indexOf('?')
  return end === -1 ? url : url.slice(0, end)
}

/** Null: the path is not below the mount. */
function stripMount(path: string, mount: string): string | null {
  const next = path[mount.length]
  return path.startsWith(mount) && (next === '/' || next === undefined) ? path.slice(mount.length) || '/' : null
}

/** A target in absolute form, as sent to a proxy, has the host in it (RFC 9112 section 3.2.2). */
function stripHost(target: string): string {
  return target.startsWith('/') ? target : target.replace(/^https?:\/\/[^/]*/i, '')
}

/** The key of a router: the mount and the first segment of the path. All pages have one. */
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
