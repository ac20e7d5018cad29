/**
 * From a route to a request handler: who asks, may they, what do they say, run, answer.
 *
 * The order is fixed: the key before the permission, the permission before the body, so
 * that a stranger cannot make us read 22 MB.
 */
import type { Context } from 'koa'
import { requirePermission } from '../accounts/permissions.js'
import type { Principal } from '../accounts/principal.js'
import type { Clock } from '../platform/clock.js'
import { parse } from './input.js'
import { readJson } from './json-body.js'
import type { Answer, Call, Route } from './route.js'

export interface MountDeps {
  /** Whose key the request bears; throws a Refusal. Counts the request. */
  readonly admit: (ctx: Context) => Principal
  /** Where the request comes from, behind proxies too. */
  readonly remoteAddress: (ctx: Context) => string
  readonly clock: Clock
}

export function handle(route: Route, deps: MountDeps): (ctx: Context) => Promise<void> {
  return async (ctx) => {
    const principal = deps.admit(ctx)
    const ownKey = only(route, principal)
    const query = route.query === null ? undefined : parse(route.query, ctx.query)
    const { raw, value } = route.body === null ? { raw: Buffer.alloc(0), value: undefined } : await readJson(ctx.req)
    const call: Call = {
      principal,
      ownKey,
      params: ctx['params'] as Call['params'],
      query,
      body: route.body === null ? undefined : parse(route.body, value),
      rawBody: raw,
      header: (name) => fieldOf(ctx, name),
      remoteAddress: deps.remoteAddress(ctx),
      now: deps.clock(),
    }
    send(ctx, await route.run(call))
  }
}

/** Undefined: there is none. */
function fieldOf({ req }: Context, name: string): string | undefined {
  const value = req.headers[name]
  return Array.isArray(value) ? value.join(', ') : value
}

/** The key whose own sends the caller is restricted to, or null. Throws a Refusal `forbidden`. */
function only(route: Route, principal: Principal): string | null {
  if (requirePermission(principal, route.area) === 'yes') return null
  // A permission for own sends alone is none where the route knows no such thing.
  if (route.own !== true) requirePermission({ ...principal, scopes: [] }, route.area)
  return principal.keyId
}

function send(ctx: Context, answer: Answer): void {
  switch (answer.kind) {
    case 'json':
      ctx.status = answer.status
      ctx.type = 'application/json'
      ctx.body = JSON.stringify(answer.body)
      return
    case 'text':
      ctx.status = answer.status
      ctx.type = 'application/json'
      ctx.body = answer.json
      return
    case 'bytes':
      ctx.status = 200
      ctx.type = answer.type
      ctx.body = answer.bytes
      return
    case 'nothing':
      ctx.status = 204
      return
  }
}
