/**
 * The request pipeline of the REST API: one entry, one table of routes, one exit for errors.
 *
 * For each request in this order: its identity and rate (`request-identity.ts`); its field Host; `/healthz` and `/readyz`; 503
 * unless the service is serving; a route under `/ui/api` (`browser-api.ts`), a page (`page-router.ts`), or a route (`dispatch.ts`), else 404 or
 * 405; then the steps of `run-route.ts`.
 *
 * The listener opens before the routes exist: until `serve` is called, and after `drain`, every
 * request is answered 503.
 */
import type { IncomingMessage, RequestListener } from 'node:http'
import Koa from 'koa'
import { Refusal } from '../../../../base/mail/refusal.js'
import type { ClientLog } from '../../../../base/platform/connections/client-log.js'
import { uuidv7 } from '../../../../base/platform/ids.js'
import type { Log } from '../../../../base/platform/log.js'
import { requireHost } from '../input/host-field.js'
import { BodyTooSlow, ClientGone } from '../input/read-body.js'
import { type ErrorBody, errorHeaders, toErrorBody } from '../output/error-answer.js'
import { formatPreRequestAnswer, type PreRequestAnswer } from '../output/pre-request-answer.js'
import { JSON_TYPE, type Reply, send } from '../output/send-reply.js'
import type { Route } from '../route.js'
import { logFailedLogin, logOnClose } from './access-log.js'
import type { ApiContext, ApiState } from './api-context.js'
import { type BrowserApi, createBrowserDispatch, findBrowserPath } from './browser-api.js'

import { createDispatch, type Dispatch, type Endpoint, methodNotAllowed, toResourcePath } from './dispatch.js'
import { createPageRouter, isAssetRequest, isPageRequest, type Pages } from './page-router.js'
import { type FindPolicy, isPolicyRequest, sendPolicy } from './policy-file.js'
import type { CheckReadiness } from './readiness.js'
import { checkRate, type IdentityResolver, type RequestIdentity } from './request-identity.js'
import type { Peer } from './request-source.js'
import { createHandler, type RunRouteDeps } from './run-route.js'

interface AppDeps extends RunRouteDeps {
  readonly identityResolver: IdentityResolver
  readonly checkReadiness: CheckReadiness
  readonly peerOf: (request: IncomingMessage) => Peer
  readonly log: Pick<Log, 'debug' | 'info' | 'error' | 'isLevelEnabled'>
  /** Limits the lines about unauthenticated clients. */
  readonly lines: ClientLog
  /** The MTA-STS policy of a host. */
  readonly findPolicy: FindPolicy
  /** A request was answered; large answers may still be on their way. */
  readonly onRequest?: ((request: EndedRequest) => void) | undefined
}

interface EndedRequest {
  readonly method: string | undefined
  /** Undefined: no route has the path. */
  readonly route: string | undefined
  readonly status: number
  readonly milliseconds: number
}

export interface ApiApp {
  readonly listener: RequestListener
  /** Starts answering requests. `readDocument`: the OpenAPI document as JSON, public. `pages`: those under `/ui/`. */
  readonly serve: (routes: readonly Route[], readDocument: () => string, pages?: Pages, browser?: BrowserApi) => void
  /** From now on requests are answered 503, and their connections close. */
  readonly drain: () => void
  /** The bytes of an answer to a client that sent no complete request. */
  readonly formatPreRequestAnswer: (
    answer: PreRequestAnswer,
    client: { readonly address: string; readonly isSecure: boolean },
  ) => string
}

type Phase =
  | { readonly kind: 'starting' }
  | {
      readonly kind: 'serving'
      readonly dispatch: Dispatch
      readonly showPage: ShowPage | null
      readonly browser: ServedBrowser | null
      readonly findOpenArea: FindOpenArea
    }
  | { readonly kind: 'draining' }

/** The area of a path that is open to all and asked for often; null: it is none. */
type FindOpenArea = (path: string) => 'tracking' | 'callback' | null

type ShowPage = (ctx: ApiContext) => Promise<void>

/** What answers under `/ui/api`. */
interface ServedBrowser {
  readonly dispatch: Dispatch
  readonly sessions: BrowserApi['sessions']
}

export function createApiApp(deps: AppDeps): ApiApp {
  let phase: Phase = { kind: 'starting' }
  const app = new Koa<ApiState>()
  if (deps.onRequest !== undefined) app.use(measureRequests(deps.onRequest))
  app.use((ctx: ApiContext) => answerRequest(ctx, phase, deps))
  app.on('error', (err: unknown, ctx: ApiContext) => logSendFault(err, ctx, deps))
  return {
    listener: app.callback(),
    serve: (routes, readDocument, pages, browserApi) => {
      const errorBodyOf = (error: unknown, requestId: string): ErrorBody => toLoggedErrorBody(error, deps, requestId)
      const showPage = pages === undefined ? null : createPageRouter(pages, { ...deps, errorBodyOf })
      const dispatch = createDispatch(endpointsOf(routes, readDocument, deps))
      const browser = browserApi === undefined ? null : serveBrowser(routes, browserApi, deps)
      phase = { kind: 'serving', dispatch, showPage, browser, findOpenArea: createAreaFinder(routes) }
    },
    drain: () => {
      phase = { kind: 'draining' }
    },
    formatPreRequestAnswer: createPreRequestFormatter(deps),
  }
}

async function answerRequest(ctx: ApiContext, phase: Phase, deps: AppDeps): Promise<void> {
  const path = toResourcePath(ctx.req.url ?? '')
  const isHealth = path === '/healthz' || path === '/readyz'
  const area = phase.kind === 'serving' ? phase.findOpenArea(path) : null
  const isQuiet = isHealth || area === 'tracking' || isAssetRequest(ctx.req)
  ctx.state.identity =
    isQuiet || area !== null || phase.kind !== 'serving'
      ? deps.identityResolver.identifyOpen(ctx.req, deps.peerOf(ctx.req))
      : identify(ctx.req, phase, deps)
  logOnClose(ctx, path, isQuiet, deps)
  if (phase.kind === 'draining') ctx.res.shouldKeepAlive = false
  try {
    // Before the route: an unknown path costs as much as a known one. A page refuses in HTML.
    if (phase.kind !== 'serving' || !isPageRequest(ctx.req)) checkRate(ctx.state.identity)
    requireHost(ctx.req)
    if (isHealth) await answerHealth(ctx, phase, deps)
    else await serveRequest(ctx, phase, path, deps.findPolicy)
  } catch (error) {
    answerError(ctx, error, deps)
  }
}

function createPreRequestFormatter({ identityResolver, clock }: AppDeps): ApiApp['formatPreRequestAnswer'] {
  return (answer, { address, isSecure }) => {
    const requestId = uuidv7(clock())
    return formatPreRequestAnswer(answer, { requestId, rate: identityResolver.rateOf(address), isSecure })
  }
}

function measureRequests(onRequest: NonNullable<AppDeps['onRequest']>) {
  return async ({ method, state, res }: ApiContext, next: () => Promise<void>): Promise<void> => {
    const begunAt = performance.now()
    await next()
    const milliseconds = performance.now() - begunAt
    if (res.headersSent) onRequest({ method, route: state.route, status: res.statusCode, milliseconds })
  }
}

function logSendFault(err: unknown, { req }: ApiContext, { log }: AppDeps): void {
  if (req.socket.destroyed) log.debug({ err }, 'a connection broke')
  else log.error({ err }, 'an answer could not be sent')
}

function serveBrowser(routes: readonly Route[], api: BrowserApi, deps: AppDeps): ServedBrowser {
  return { dispatch: createBrowserDispatch(routes, api, deps), sessions: api.sessions }
}

function identify(
  request: IncomingMessage,
  { browser }: Extract<Phase, { kind: 'serving' }>,
  { identityResolver, peerOf }: AppDeps,
): RequestIdentity {
  const peer = peerOf(request)
  if (browser === null || findBrowserPath(request.url ?? '') === null) return identityResolver.identify(request, peer)
  return browser.sessions.identify(request, peer, identityResolver.identifyAnonymous(request, peer))
}

function createAreaFinder(routes: readonly Route[]): FindOpenArea {
  const prefixes = routes.flatMap(({ area, path }) =>
    area === 'tracking' || area === 'callback' ? [{ area, prefix: path.slice(0, path.indexOf(':')) }] : [],
  )
  return (path) => prefixes.find(({ prefix }) => path.startsWith(prefix))?.area ?? null
}

function endpointsOf(routes: readonly Route[], readDocument: () => string, deps: AppDeps): readonly Endpoint[] {
  const documentEndpoint: Endpoint = {
    method: 'GET',
    path: '/openapi.json',
    run: async (ctx) => {
      ctx.state.route = '/openapi.json'
      checkRate(ctx.state.identity)
      await deps.answers.send(ctx, { status: 200, type: JSON_TYPE, payload: readDocument() })
    },
  }
  return [...routes.map((route) => endpointOf(route, deps)), documentEndpoint]
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

/** Bytes of a request target; RFC 9112 section 3 requires at least 8,000. */
const MAX_URL = 8_192

async function serveRequest(ctx: ApiContext, phase: Phase, path: string, findPolicy: FindPolicy): Promise<void> {
  if (phase.kind !== 'serving') throw notServingRefusal(phase.kind)
  const { url = '' } = ctx.req
  if (url.length > MAX_URL) {
    const message = `the request target is longer than ${MAX_URL} bytes`
    return send(ctx, toErrorReply({ error: { code: 'validation_error', message, status: 414 } }))
  }
  const browserPath = findBrowserPath(url)
  if (phase.browser !== null && browserPath !== null) await phase.browser.dispatch(ctx, browserPath)
  else if (phase.showPage !== null && isPageRequest(ctx.req)) await phase.showPage(ctx)
  else if (isPolicyRequest(ctx.req)) await sendPolicy(ctx, findPolicy)
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
  const state = kind === 'starting' ? 'starting' : 'shutting down'
  return new Refusal('unavailable', `the service is ${state}, try again later`, { retry_after: 1 })
}

function answerError(ctx: ApiContext, error: unknown, deps: AppDeps): void {
  ctx.respond = false
  if (error instanceof ClientGone) return
  const { requestId } = ctx.state.identity
  if (ctx.res.headersSent) {
    // A partial answer must not look complete.
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
