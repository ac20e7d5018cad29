/**
 * The request pipeline of the REST listener: Koa's middleware in its order, one table of routes, one exit for errors.
 *
 * Each request gets its identity (`request-identity.ts`, `session-identity.ts`); its rate, its field Host and the state of
 * the service are checked; the table (`route-table.ts`) finds what answers its path: a route (`route-runner.ts`), a page
 * (`page-server.ts`), a probe, or nothing, which is 404 or 405.
 *
 * The listener opens before the routes exist: until `serve` is called, and after `drain`, every
 * request is answered 503.
 */
import { METHODS, type RequestListener } from 'node:http'
import Koa from 'koa'
import { Refusal } from '../../../../base/mail/refusal.js'
import type { Clock } from '../../../../base/platform/clock.js'
import { uuidv7 } from '../../../../base/platform/ids.js'
import type { Log } from '../../../../base/platform/log.js'
import type { MemoryShares } from '../../../../base/platform/memory/shares.js'
import { StorageFault } from '../../../../base/storage/db/write.js'
import type { ApiContext, ApiState, Next, RouterFields } from '../context/api-context.js'
import type { Connections } from '../context/connections.js'
import { isForSessions, isPage, nameOf, type Place, POLICY_PATH, placeOf } from '../context/place.js'
import { checkRate, type KeyIdentities, type RequestIdentity } from '../context/request-identity.js'
import { type ErrorBody, errorHeaders, toErrorBody } from '../error-answer.js'
import { requireHost } from '../input/host-field.js'
import { type BodyPace, BodyTooSlow, HttpClientGone } from '../input/read-body.js'
import { formatPreRequestAnswer, type PreRequestAnswer } from '../output/pre-request-answer.js'
import type { AnswerSender } from '../output/send-answer.js'
import { type HttpReply, JSON_TYPE, send } from '../output/send-reply.js'
import { isOpenArea, type Route } from '../route/route.js'
import type { AccessLog } from './access-log.js'
import { CompatiblePaths, type CompatibleSettings, noCompatible } from './compatible-paths.js'
import { PageServer, type Pages } from './page-server.js'
import { type Policies, sendPolicy } from './policy-file.js'
import { InputReader, type LargeBodies } from './read-input.js'
import type { Readiness } from './readiness.js'
import { RequestTurns } from './request-turns.js'
import { RouteRunner } from './route-runner.js'
import { type Endpoint, RouteTable } from './route-table.js'
import type { SessionIdentities } from './session-identity.js'

interface AppParts {
  readonly keys: KeyIdentities
  readonly connections: Connections
  readonly readiness: Readiness
  readonly sender: AnswerSender
  readonly accessLog: AccessLog
  readonly clock: Clock
  readonly log: Log
  /** Memory for request bodies, by workspace, user or client address. */
  readonly memory: MemoryShares
  readonly pace: BodyPace
  readonly bodies: LargeBodies
  /** The MTA-STS policy of a host. */
  readonly policies: Policies
  /** A request was answered; large answers may still be on their way. */
  readonly onRequest?: ((request: EndedRequest) => void) | undefined
}

interface EndedRequest {
  readonly method: string | undefined
  /** Undefined if no route has the path. */
  readonly route: string | undefined
  readonly status: number
  readonly milliseconds: number
}

/** The routes for people in a browser, under `/ui/api`; those of the API are repeated there. */
export interface BrowserApi {
  readonly sessions: SessionIdentities
  readonly routes: readonly Route[]
  /** The public OpenAPI document of the routes, as JSON. */
  readonly readDocument: () => string
}

interface Served {
  readonly routes: readonly Route[]
  /** The OpenAPI document as JSON, public. */
  readonly readDocument: () => string
  readonly compatible?: CompatibleSettings
  /** The pages under `/ui/`. */
  readonly pages?: Pages
  readonly browser?: BrowserApi | undefined
}

/** The beginning of paths that are open to anyone who has the rest of the path, and asked for often. */
interface OpenPath {
  readonly area: string
  readonly prefix: string
}

interface Client {
  readonly address: string
  readonly isSecure: boolean
}

/** Bytes of a request target; RFC 9112 section 3 requires at least 8,000. */
const MAX_URL = 8_192

export class ApiApp {
  readonly listener: RequestListener
  private phase: 'starting' | 'serving' | 'draining' = 'starting'
  private readonly table = new RouteTable()
  private sessions: SessionIdentities | null = null
  private openPaths: readonly OpenPath[] = []
  private readonly compatible = new CompatiblePaths(this.table)

  constructor(private readonly parts: AppParts) {
    const app = new Koa<ApiState, RouterFields>()
    if (parts.onRequest !== undefined) app.use(measureRequests(parts.onRequest))
    app.use((ctx: ApiContext, next) => this.identify(ctx, next))
    app.use((ctx: ApiContext, next) => this.answerErrors(ctx, next))
    app.use((ctx: ApiContext, next) => this.admit(ctx, next))
    app.use((ctx: ApiContext) => this.table.dispatch(ctx))
    app.on('error', (err: unknown, ctx: ApiContext) => logSendFault(err, ctx, parts.log))
    this.listener = app.callback()
    const run = (ctx: ApiContext): Promise<void> => this.answerProbe(ctx)
    this.table.mount(
      '/v1',
      probes.map((path) => ({ methods: ['GET'], path, run })),
    )
  }

  /** Starts answering requests. */
  serve({ routes, readDocument, pages, browser, compatible = noCompatible }: Served): void {
    const { keys, sender, memory, pace, bodies, clock, policies } = this.parts
    this.sessions = browser?.sessions ?? null
    const input = new InputReader(memory, pace, bodies, new RequestTurns())
    const runner = new RouteRunner(keys, this.sessions, input, sender, clock)
    const endpointOf = (route: Route): Endpoint => {
      return { methods: [route.method], path: route.path, run: (ctx) => runner.run(ctx, route) }
    }
    this.table.mount('/v1', [...routes.map(endpointOf), this.documentEndpoint('/openapi.json', readDocument)])
    this.compatible.serve(compatible, endpointOf, (path, read) => this.documentEndpoint(path, read))
    this.table.mount('', [{ methods: ['GET'], path: POLICY_PATH, run: (ctx) => sendPolicy(ctx, policies) }])
    if (pages !== undefined) {
      const server = new PageServer(pages, memory, pace, clock, (error, id) => this.toErrorBody(error, id))
      const run = (ctx: ApiContext): Promise<void> => server.serve(ctx)
      this.table.mount(
        '',
        pagePaths.map((path) => ({ methods: METHODS, path, run })),
      )
    }
    if (browser !== undefined) {
      this.table.mount('/ui/api/v1', routes.filter((route) => !isOpenArea(route.area)).map(endpointOf))
      this.table.mount('/ui/api', [
        ...browser.routes.map(endpointOf),
        this.documentEndpoint('/openapi.json', browser.readDocument),
      ])
    }
    this.openPaths = openPathsOf(routes)
    this.phase = 'serving'
  }

  /** From now on requests are answered 503, and their connections close. */
  drain(): void {
    this.phase = 'draining'
  }

  /** The bytes of an answer to a client that sent no complete request. */
  formatPreRequestAnswer(answer: PreRequestAnswer, { address, isSecure }: Client): string {
    const { keys, clock } = this.parts
    return formatPreRequestAnswer(answer, { requestId: uuidv7(clock()), rate: keys.rateOf(address), isSecure })
  }

  private async identify(ctx: ApiContext, next: Next): Promise<void> {
    const { state, req } = ctx
    state.peer = this.parts.connections.peerOf(req.socket)
    state.place = this.compatible.placeOf(placeOf(req, this.sessions !== null), req.headers)
    const { mount, path } = state.place
    const open = mount === '/v1' ? this.openPaths.find(({ prefix }) => path.startsWith(prefix)) : undefined
    state.isQuiet =
      isProbe(state.place) || open?.area === 'tracking' || (mount === '' && path.startsWith('/ui/assets/'))
    state.shownPath = this.shownPathOf(state.place, open)
    state.identity = await this.resolve(ctx, state.isQuiet || open !== undefined)
    this.compatible.nameRequest(ctx)
    this.parts.accessLog.logOnClose(ctx)
    if (this.phase === 'draining') ctx.res.shouldKeepAlive = false
    await next()
  }

  /** The rest of an open path is a permission, such as the token of a link. Until `serve` is called all paths may be open. */
  private shownPathOf(place: Place, open: OpenPath | undefined): string {
    if (open !== undefined) return `${open.prefix}…`
    const [, first = ''] = place.path.split('/', 2)
    return this.phase === 'starting' && !isProbe(place) ? nameOf({ ...place, path: `/${first}` }) : nameOf(place)
  }

  private async resolve({ req, state: { peer, place } }: ApiContext, isOpen: boolean): Promise<RequestIdentity> {
    const { keys } = this.parts
    if (isOpen || this.phase !== 'serving') return keys.identifyOpen(req, peer)
    if (this.sessions === null || !isForSessions(place)) return keys.identify(req, peer)
    return this.sessions.identify(req, peer, keys.identifyAnonymous(req, peer))
  }

  private async answerErrors(ctx: ApiContext, next: Next): Promise<void> {
    try {
      await next()
    } catch (error) {
      ctx.respond = false
      if (error instanceof HttpClientGone) return
      const { requestId } = ctx.state.identity
      if (ctx.res.headersSent) {
        // A partial answer must not look complete.
        this.parts.log.error({ err: error, requestId }, 'an answer broke off')
        ctx.res.destroy()
        return
      }
      this.parts.accessLog.logFailedLogin(ctx, error)
      const body = error instanceof BodyTooSlow ? toTooSlowBody(error) : this.toErrorBody(error, requestId)
      ctx.state.code = body.error.code
      send(ctx, this.toErrorReply(ctx, body))
    }
  }

  /** Runs before the route: an unknown path costs as much as a known one. */
  private async admit(ctx: ApiContext, next: Next): Promise<void> {
    const { place, identity } = ctx.state
    // A page refuses in HTML.
    if (this.phase !== 'serving' || !isPage(place)) checkRate(identity)
    requireHost(ctx.req)
    if (this.phase !== 'serving' && !isProbe(place)) throw notServingRefusal(this.phase)
    if ((ctx.req.url ?? '').length <= MAX_URL) return void (await next())
    const message = `the request target is longer than ${MAX_URL} bytes`
    send(ctx, this.toErrorReply(ctx, { error: { code: 'validation_error', message, status: 414 } }))
  }

  private async answerProbe(ctx: ApiContext): Promise<void> {
    if (this.phase !== 'serving') throw notServingRefusal(this.phase)
    const problem = await this.parts.readiness.findProblem()
    if (problem !== null) throw new Refusal('unavailable', problem, { retry_after: 5 })
    send(ctx, { status: 200, type: JSON_TYPE, payload: '{"status":"ok"}' })
  }

  private documentEndpoint(path: string, readDocument: () => string): Endpoint {
    const run = (ctx: ApiContext): Promise<void> => {
      ctx.state.route = nameOf({ ...ctx.state.place, path })
      return this.parts.sender.send(ctx, { kind: 'text', status: 200, json: readDocument() })
    }
    return { methods: ['GET'], path, run }
  }

  /** In the form of the service whose path it is. */
  private toErrorReply(ctx: ApiContext, body: ErrorBody): HttpReply {
    const { status, body: written, headers } = this.compatible.toError(ctx, body)
    return { status, type: JSON_TYPE, payload: JSON.stringify(written), headers: { ...errorHeaders(body), ...headers } }
  }

  private toErrorBody(error: unknown, requestId: string): ErrorBody {
    const { log } = this.parts
    return toErrorBody(error, (err) => {
      if (err instanceof StorageFault && err.isOutage) {
        log.debug({ reason: err.message, requestId }, 'the database was away when a request needed it')
      } else log.error({ err, requestId }, 'a request failed on our side')
    })
  }
}

const probes = ['/healthz', '/readyz']
/** Every path of a page or a file is one of these. */
const pagePaths = ['/', '/ui/', '/ui{/*path}']

function isProbe({ mount, path }: Place): boolean {
  return mount === '/v1' && probes.includes(path)
}

function openPathsOf(routes: readonly Route[]): readonly OpenPath[] {
  return routes
    .filter(({ area }) => area === 'tracking' || area === 'callback' || area === 'page')
    .map(({ area, path }) => ({ area, prefix: path.slice(0, path.indexOf(':')) }))
}

function measureRequests(onRequest: NonNullable<AppParts['onRequest']>) {
  return async ({ method, state, res }: ApiContext, next: Next): Promise<void> => {
    const begunAt = performance.now()
    await next()
    const milliseconds = performance.now() - begunAt
    if (res.headersSent) onRequest({ method, route: state.route, status: res.statusCode, milliseconds })
  }
}

function logSendFault(err: unknown, { req }: ApiContext, log: Log): void {
  if (req.socket.destroyed) log.debug({ err }, 'a connection broke')
  else log.error({ err }, 'an answer could not be sent')
}

function notServingRefusal(phase: 'starting' | 'draining'): Refusal {
  const state = phase === 'starting' ? 'starting' : 'shutting down'
  return new Refusal('unavailable', `the service is ${state}, try again later`, { retry_after: 1 })
}

function toTooSlowBody({ message }: BodyTooSlow): ErrorBody {
  return { error: { code: 'validation_error', message, status: 408 } }
}
