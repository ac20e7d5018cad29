/**
 * The pipeline of the REST door: one way in, one exit for errors, one router.
 *
 * The same resource answers under `/v1/…`, `/api/v1/…` and `/…`.
 */
import Router from '@koa/router'
import Koa, { type Context, type Next } from 'koa'
import { Refusal } from '../mail/refusal.js'
import { uuidv7 } from '../platform/ids.js'
import type { Log } from '../platform/log.js'
import { answer } from './answer.js'
import { handle, type MountDeps } from './mount.js'
import type { Route } from './route.js'

export interface AppDeps extends MountDeps {
  readonly log: Pick<Log, 'error'>
  /** The OpenAPI document, as JSON; read without a key. */
  readonly document: string
}

export function apiApp(routes: readonly Route[], deps: AppDeps): Koa {
  const app = new Koa()
  const router = new Router()
  for (const route of routes) router.register(route.path, [route.method], handle(route, deps))
  router.get('/openapi.json', (ctx) => {
    ctx.type = 'application/json'
    ctx.body = deps.document
  })
  app.use(withRequestId(deps))
  app.use(errorExit(deps))
  app.use(withoutPrefix)
  app.use(router.routes())
  app.use(elsewhere)
  app.on('error', (error: unknown) => deps.log.error({ err: error }, 'a request went wrong'))
  return app
}

const saneId = /^[\w.:-]{1,128}$/

function withRequestId({ clock }: AppDeps) {
  return async (ctx: Context, next: Next): Promise<void> => {
    const given = ctx.get('x-request-id')
    ctx.set('X-Request-Id', saneId.test(given) ? given : uuidv7(clock()))
    await next()
  }
}

function errorExit({ log }: AppDeps) {
  return async (ctx: Context, next: Next): Promise<void> => {
    try {
      await next()
    } catch (error) {
      const requestId = ctx.response.get('X-Request-Id')
      const body = answer(error, (err) => log.error({ err, requestId }, 'a request failed on our side'))
      ctx.status = body.error.status
      ctx.type = 'application/json'
      ctx.body = JSON.stringify(body)
    }
  }
}

async function withoutPrefix(ctx: Context, next: Next): Promise<void> {
  ctx.path = ctx.path.replace(/^(?:\/api)?\/v1(?=\/|$)/, '') || '/'
  await next()
}

/** No route took it: the path is unknown, or known with other methods. */
function elsewhere(ctx: Context): never {
  const matched = (ctx['matched'] ?? []) as readonly { readonly methods: readonly string[] }[]
  const methods = [...new Set(matched.flatMap(({ methods }) => methods))].sort()
  if (methods.length === 0) throw new Refusal('not-found', `no such resource: ${ctx.path}`, { path: ctx.path })
  ctx.set('Allow', methods.join(', '))
  throw new Refusal('method-not-allowed', `${ctx.method} is not allowed here`, { allowed: methods })
}
