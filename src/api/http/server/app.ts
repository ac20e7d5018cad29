/**
 * The pipeline of the REST door: one way in, one exit for errors, one table of routes.
 *
 * The order for each request: its id and who asks; `/healthz` and `/readyz`; whether we
 * serve at all; a page (`page-door.ts`) or the route, else 404 or 405; then what `mount.ts` says.
 *
 * The door opens before there are routes: until `serve` is called, and after `drain`, every
 * request is answered 503.
 */
import type { IncomingMessage, RequestListener } from 'node:http'
import Koa from 'koa'
import { Refusal } from '../../../mail/refusal.js'
import type { ClientLog } from '../../../platform/connections/client-log.js'
import { uuidv7 } from '../../../platform/ids.js'
import type { Log } from '../../../platform/log.js'
import { JSON_TYPE, type Reply, send } from '../../emails/send.js'
import type { Peer } from '../client-address.js'
import { BodyTooSlow, ClientGone } from '../input/read-body.js'
import { createHandler, type MountDeps } from '../mount.js'
import { type ErrorBody, errorHeaders, toErrorBody } from '../output/error-answer.js'
import { formatPreRequestAnswer, type PreRequestAnswer } from '../output/pre-request-answer.js'
import { createPageRouter, isPageRequest, type Pages } from '../page-router.js'
import { checkRate, type IdentityResolver } from '../request-identity.js'
import type { Route } from '../route.js'
import { createDispatch, type Dispatch, type Endpoint, methodNotAllowed, toResourcePath } from '../routing.js'
import { logFailedLogin, logOnClose } from './access-log.js'
import type { ApiContext, ApiState } from './api-state.js'
import type { CheckReadiness } from './readiness.js'

export interface AppDeps extends MountDeps {
  readonly identityResolver: IdentityResolver
  readonly checkReadiness: CheckReadiness
  readonly peerOf: (request: IncomingMessage) => Peer
  readonly log: Pick<Log, 'debug' | 'info' | 'error' | 'isLevelEnabled'>
  /** Lines about clients without a key. */
  readonly lines: ClientLog
}

export interface ApiApp {
  readonly listener: RequestListener
  /**
   * From now on requests are answered. `document`: the OpenAPI document as JSON, read without a key.
   * `pages`: what stands under `/ui/`.
   */
  readonly serve: (routes: readonly Route[], document: string, pages?: Pages) => void
  /** From now on requests are answered 503, and their connections end. */
  readonly drain: () => void
  /** The text of an answer where there is no request. */
  readonly formatPreRequestAnswer: (what: PreRequestAnswer, address: string) => string
}

type Phase =
  | { readonly kind: 'starting' }
  | { readonly kind: 'serving'; readonly dispatch: Dispatch; readonly showPage: ShowPage | null }
  | { readonly kind: 'draining' }

type ShowPage = (ctx: ApiContext) => Promise<void>

export function createApiApp(deps: AppDeps): ApiApp {
  const { identityResolver, clock, peerOf } = deps
  let phase: Phase = { kind: 'starting' }
  const app = new Koa<ApiState>()
  app.use(async (ctx: ApiContext) => {
    const path = toResourcePath(ctx.req.url ?? '')
    const isHealth = path === '/healthz' || path === '/readyz'
    const look = isHealth || phase.kind !== 'serving' ? identityResolver.identifyAnonymous : identityResolver.identify
    ctx.state.identity = look(ctx.req, peerOf(ctx.req))
    logOnClose(ctx, path, isHealth, deps)
    if (phase.kind === 'draining') ctx.res.shouldKeepAlive = false
    try {
      if (isHealth) await answerHealth(ctx, phase, deps)
      else await serveRequest(ctx, phase, path)
    } catch (error) {
      answerError(ctx, error, deps)
    }
  })
  app.on('error', (err: unknown, ctx: ApiContext) => {
    if (ctx.req.socket.destroyed) deps.log.debug({ err }, 'a connection broke')
    else deps.log.error({ err }, 'an answer could not be sent')
  })
  return {
    listener: app.callback(),
    serve: (routes, document, pages) => {
      const errorBodyOf = (error: unknown, requestId: string): ErrorBody => toLoggedErrorBody(error, deps, requestId)
      const showPage = pages === undefined ? null : createPageRouter(pages, { ...deps, errorBodyOf })
      phase = { kind: 'serving', dispatch: createDispatch(endpointsOf(routes, document, deps)), showPage }
    },
    drain: () => {
      phase = { kind: 'draining' }
    },
    formatPreRequestAnswer: (what, address) =>
      formatPreRequestAnswer(what, uuidv7(clock()), identityResolver.rateOf(address)),
  }
}

function endpointsOf(routes: readonly Route[], document: string, deps: AppDeps): readonly Endpoint[] {
  const reply = { status: 200, type: JSON_TYPE, payload: document }
  const about: Endpoint = {
    method: 'GET',
    path: '/openapi.json',
    run: async (ctx) => {
      ctx.state.route = '/openapi.json'
      checkRate(ctx.state.identity)
      await deps.answers.send(ctx, reply)
    },
  }
  return [...routes.map((route) => endpointOf(route, deps)), about]
}

function endpointOf(route: Route, deps: AppDeps): Endpoint {
  const { method, path } = route
  const run = createHandler(route, deps)
  return {
    method,
    path,
    run: (ctx) => {
      ctx.state.route = path
      return run(ctx)
    },
  }
}

/** The longest request target; RFC 9112 section 3 asks for 8,000 octets at least. */
const MAX_URL = 8_192

async function serveRequest(ctx: ApiContext, phase: Phase, path: string): Promise<void> {
  if (phase.kind !== 'serving') throw notServingRefusal(phase.kind)
  const { url = '', headers, httpVersionMinor } = ctx.req
  if (url.length > MAX_URL) {
    const message = `the address is longer than ${MAX_URL} bytes`
    return send(ctx, toErrorReply({ error: { code: 'validation_error', message, status: 414 } }))
  }
  // RFC 9112 section 3.2. Node would refuse it too, but without a word.
  if (headers.host === undefined && httpVersionMinor > 0) throw new Refusal('invalid-parameter', 'Host: is required')
  if (phase.showPage !== null && isPageRequest(ctx.req)) await phase.showPage(ctx)
  else await phase.dispatch(ctx, path)
}

async function answerHealth(ctx: ApiContext, phase: Phase, { checkReadiness }: AppDeps): Promise<void> {
  if (ctx.method !== 'GET' && ctx.method !== 'HEAD') throw methodNotAllowed(ctx.method, ['GET', 'HEAD'])
  if (phase.kind !== 'serving') throw notServingRefusal(phase.kind)
  const problem = await checkReadiness()
  if (problem !== null) throw new Refusal('unavailable', problem, { retry_after: 5 })
  send(ctx, { status: 200, type: JSON_TYPE, payload: '{"status":"ok"}' })
}

function notServingRefusal(kind: 'starting' | 'draining'): Refusal {
  const what = kind === 'starting' ? 'starting' : 'shutting down'
  return new Refusal('unavailable', `the service is ${what}, try again later`, { retry_after: 1 })
}

function answerError(ctx: ApiContext, error: unknown, deps: AppDeps): void {
  ctx.respond = false
  if (error instanceof ClientGone) return
  const { requestId } = ctx.state.identity
  if (ctx.res.headersSent) {
    // Nobody may take the half of it for the whole.
    deps.log.error({ err: error, requestId }, 'an answer broke off')
    ctx.res.destroy()
    return
  }
  logFailedLogin(ctx, error, deps)
  const body = error instanceof BodyTooSlow ? toTooSlowBody(error) : toLoggedErrorBody(error, deps, requestId)
  ctx.state.code = body.error.code
  send(ctx, toErrorReply(body))
}

function toLoggedErrorBody(error: unknown, { log }: AppDeps, requestId: string): ErrorBody {
  return toErrorBody(error, (err) => log.error({ err, requestId }, 'a request failed on our side'))
}

function toTooSlowBody({ message }: BodyTooSlow): ErrorBody {
  return { error: { code: 'validation_error', message, status: 408 } }
}

function toErrorReply(body: ErrorBody): Reply {
  return { status: body.error.status, type: JSON_TYPE, payload: JSON.stringify(body), headers: errorHeaders(body) }
}
