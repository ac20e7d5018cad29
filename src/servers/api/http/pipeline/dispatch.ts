/**
 * Finds the endpoint that answers a path: one table for `/v1/…`, `/api/v1/…` and `/…`.
 *
 * A router tries its paths in turn, so each first segment has a router of its own and a request is
 * compared with the few paths of one resource.
 */
import Router from '@koa/router'
import { formatForDisplay } from '../../../../base/mail/address.js'
import { Refusal } from '../../../../base/mail/refusal.js'
import type { ApiContext, ApiState } from './api-context.js'

export interface Endpoint {
  readonly method: string
  /** `/emails/:id`. */
  readonly path: string
  readonly run: (ctx: ApiContext) => Promise<void> | void
}

/** Rejects with a Refusal `not-found` or `method-not-allowed`, or with what the endpoint throws. */
export type Dispatch = (ctx: ApiContext, path: string) => Promise<void>

export function createDispatch(endpoints: readonly Endpoint[]): Dispatch {
  const routers = new Map<string, Router<ApiState>>()
  const literal = new Set(endpoints.map(({ path }) => path).filter((path) => !path.includes(':')))
  for (const { method, path, run } of endpoints) {
    const segment = firstSegment(path)
    const router = routers.get(segment) ?? new Router<ApiState>({ sensitive: true })
    // `/emails/batch` must not match `/emails/:id`.
    const isOther = (requested: string): boolean => requested !== path && literal.has(requested)
    router.register(path, [method], (ctx, next) => (isOther(ctx.path) ? next() : run(ctx)))
    routers.set(segment, router)
  }
  const resources = new Map([...routers].map(([segment, router]) => [segment, router.routes()]))

  return async (ctx, path) => {
    const resource = resources.get(firstSegment(path))
    if (resource === undefined) throw resourceNotFound(path)
    // The router matches `ctx.path`. Assigning to it would rewrite the URL of the request, so a property of
    // the context itself hides Koa's accessor.
    Object.defineProperty(ctx, 'path', { value: path })
    // The router adds the fields that its own context type has beyond ours.
    await resource(ctx as Parameters<typeof resource>[0], () => refuseUnmatched(ctx, path))
  }
}

/** The path of a request target below the version, not decoded: the router compares text. */
export function toResourcePath(url: string): string {
  const end = url.indexOf('?')
  const path = stripHost(end === -1 ? url : url.slice(0, end))
  const version = path.startsWith('/v1') ? 3 : path.startsWith('/api/v1') ? 7 : 0
  const next = path[version]
  if (version === 0 || (next !== '/' && next !== undefined)) return path
  return path.slice(version) || '/'
}

/** A target in absolute form, as sent to a proxy, has the host in it (RFC 9112 section 3.2.2). */
function stripHost(target: string): string {
  return target.startsWith('/') ? target : target.replace(/^https?:\/\/[^/]*/i, '')
}

function firstSegment(path: string): string {
  const end = path.indexOf('/', 1)
  return end === -1 ? path.slice(1) : path.slice(1, end)
}

/** No route matched: the path is unknown, or has other methods. */
async function refuseUnmatched(ctx: ApiContext, path: string): Promise<never> {
  const matched: readonly { readonly path: string; readonly methods: readonly string[] }[] = ctx['matched'] ?? []
  const exact = matched.filter((layer) => layer.path === path)
  const methods = [...new Set((exact.length > 0 ? exact : matched).flatMap(({ methods }) => methods))].sort()
  if (methods.length === 0) throw resourceNotFound(path)
  throw methodNotAllowed(ctx.method, methods)
}

function resourceNotFound(path: string): Refusal {
  return new Refusal('not-found', `no such resource: ${formatForDisplay(path)}`, { path: formatForDisplay(path) })
}

/** `errorHeaders` puts `allowed` into the field `Allow`. */
export function methodNotAllowed(method: string, allowed: readonly string[]): Refusal {
  return new Refusal('method-not-allowed', `${method} is not allowed here`, { allowed })
}
