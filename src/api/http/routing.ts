/**
 * From a path to what answers it: one table for `/v1/…`, `/api/v1/…` and `/…`.
 *
 * A router tries its paths one after the other. So each first segment has a router of its
 * own, and a request is compared with the few paths of one resource.
 */
import Router from '@koa/router'
import { formatForDisplay } from '../../mail/address.js'
import { Refusal } from '../../mail/refusal.js'
import type { ApiContext, ApiState } from './server/api-state.js'

export interface Endpoint {
  readonly method: string
  /** `/emails/:id`. */
  readonly path: string
  readonly run: (ctx: ApiContext) => Promise<void> | void
}

/** Rejects with a Refusal: not-found, method-not-allowed, or whatever the endpoint throws. */
export type Dispatch = (ctx: ApiContext, path: string) => Promise<void>

export function createDispatch(endpoints: readonly Endpoint[]): Dispatch {
  const routers = new Map<string, Router<ApiState>>()
  const literal = new Set(endpoints.map(({ path }) => path).filter((path) => !path.includes(':')))
  for (const { method, path, run } of endpoints) {
    const segment = firstSegment(path)
    const router = routers.get(segment) ?? new Router<ApiState>({ sensitive: true })
    // `/emails/batch` is no email of that name.
    const isAnother = (asked: unknown): boolean => asked !== path && literal.has(String(asked))
    router.register(path, [method], (ctx, next) => (isAnother(ctx['newRouterPath']) ? next() : run(ctx)))
    routers.set(segment, router)
  }
  const resources = new Map([...routers].map(([segment, router]) => [segment, router.routes()]))

  return async (ctx, path) => {
    const resource = resources.get(firstSegment(path))
    if (resource === undefined) throw notFound(path)
    ctx['newRouterPath'] = path
    // What its type lacks, the router adds itself.
    await resource(ctx as Parameters<typeof resource>[0], () => refuseUnmatched(ctx, path))
  }
}

/** The path of a request target below the version. Nothing is decoded: a router compares text. */
export function toResourcePath(url: string): string {
  const end = url.indexOf('?')
  const path = stripHost(end === -1 ? url : url.slice(0, end))
  const version = path.startsWith('/v1') ? 3 : path.startsWith('/api/v1') ? 7 : 0
  const next = path[version]
  if (version === 0 || (next !== '/' && next !== undefined)) return path
  return path.slice(version) || '/'
}

/** A client may send the whole address, as to a proxy (RFC 9112 section 3.2.2). */
function stripHost(target: string): string {
  return target.startsWith('/') ? target : target.replace(/^https?:\/\/[^/]*/i, '')
}

function firstSegment(path: string): string {
  const end = path.indexOf('/', 1)
  return end === -1 ? path.slice(1) : path.slice(1, end)
}

/** No route took it: the path is unknown, or known with other methods. */
async function refuseUnmatched(ctx: ApiContext, path: string): Promise<never> {
  const matched: readonly { readonly path: string; readonly methods: readonly string[] }[] = ctx['matched'] ?? []
  const itself = matched.filter((layer) => layer.path === path)
  const methods = [...new Set((itself.length > 0 ? itself : matched).flatMap(({ methods }) => methods))].sort()
  if (methods.length === 0) throw notFound(path)
  throw methodNotAllowed(ctx.method, methods)
}

function notFound(path: string): Refusal {
  return new Refusal('not-found', `no such resource: ${formatForDisplay(path)}`, { path: formatForDisplay(path) })
}

/** The door puts `allowed` into `Allow`. */
export function methodNotAllowed(method: string, allowed: readonly string[]): Refusal {
  return new Refusal('method-not-allowed', `${method} is not allowed here`, { allowed })
}
