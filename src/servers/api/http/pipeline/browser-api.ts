/**
 * The interface of pages in a browser, under `/ui/api`: `/ui/api/v1` has the routes of the API with a
 * session instead of a key, any other path is a route for pages alone (`session-route.ts`).
 *
 * Routes without a key are not repeated there. A request that changes something must come from our own
 * site (`session-identity.ts`), and its body must be JSON, or the form of an upload.
 */
import type { IncomingMessage } from 'node:http'
import type { RateState } from '../../../../workspaces/accounts/limits/rate-limit.js'
import { requireJsonType } from '../input/json-body.js'
import { hasBody } from '../input/read-body.js'
import { JSON_TYPE } from '../output/send-reply.js'
import { isKeyless, type Route } from '../route.js'
import { type BrowserRoute, isOfWorkspace } from '../session-route.js'
import { createDispatch, type Dispatch, type Endpoint } from './dispatch.js'
import { checkRate } from './request-identity.js'
import type { Peer } from './request-source.js'
import { createHandler, type RunRouteDeps } from './run-route.js'
import { createSessionHandler } from './run-session-route.js'
import { requireOwnSite, type SessionResolver } from './session-identity.js'

export interface BrowserApi {
  readonly sessions: SessionResolver
  readonly routes: readonly BrowserRoute[]
  /** Their OpenAPI document as JSON, public. */
  readonly readDocument: () => string
  /** Throws a Refusal unless the user may act for the operator. */
  readonly requireOperator: (userId: string) => void
  /** Counts a request as one of the workspace, as those with keys are. */
  readonly countRequest: (workspaceId: string) => RateState
}

interface BrowserApiDeps extends RunRouteDeps {
  readonly peerOf: (request: IncomingMessage) => Peer
}

const PREFIX = '/ui/api'
const API_PREFIX = `${PREFIX}/v1`

/** The path of a request for `/ui/api` or below; null: it is for something else. */
export function findBrowserPath(url: string): string | null {
  const end = url.indexOf('?')
  const path = end === -1 ? url : url.slice(0, end)
  return path === PREFIX || path.startsWith(`${PREFIX}/`) ? path : null
}

/** `path`: as `findBrowserPath` returns it. */
export function createBrowserDispatch(
  routes: readonly Route[],
  { sessions, routes: browserRoutes, readDocument, requireOperator, countRequest }: BrowserApi,
  deps: BrowserApiDeps,
): Dispatch {
  const ofApi = { ...deps, identityResolver: { ...deps.identityResolver, reauthenticate: sessions.reauthenticate } }
  const keyed = routes.filter((route) => !isKeyless(route))
  const dispatchApi = createDispatch(
    keyed.map((route) =>
      endpointOf(route, API_PREFIX, limitChanges(route, createHandler(route, ofApi), countRequest), deps),
    ),
  )
  const ofPeople = { ...ofApi, sessions, requireOperator }
  const dispatchOwn = createDispatch([
    ...browserRoutes.map((route) => {
      const run = isOfWorkspace(route) ? createHandler(route, ofApi) : createSessionHandler(route, ofPeople)
      return endpointOf(route, PREFIX, run, deps)
    }),
    documentEndpoint(readDocument, deps),
  ])
  return (ctx, path) =>
    path.startsWith(`${API_PREFIX}/`)
      ? dispatchApi(ctx, path.slice(API_PREFIX.length))
      : dispatchOwn(ctx, path.slice(PREFIX.length))
}

/**
 * What changes something counts for the plan of the workspace too, so that a session is no way round its limits. Reads
 * do not: a page makes many at once, and must not use up those of programs.
 */
function limitChanges(
  { method }: Route,
  run: Endpoint['run'],
  countRequest: BrowserApi['countRequest'],
): Endpoint['run'] {
  if (method === 'GET') return run
  return (ctx) => {
    const { identity } = ctx.state
    if (identity.principal !== null && identity.rate.allowed) {
      ctx.state.identity = { ...identity, rate: countRequest(identity.principal.workspaceId) }
    }
    return run(ctx)
  }
}

function endpointOf(
  route: Route | BrowserRoute,
  prefix: string,
  run: Endpoint['run'],
  { peerOf }: BrowserApiDeps,
): Endpoint {
  const { method, path } = route
  const isUpload = 'fileDescription' in route
  return {
    method,
    path,
    run: (ctx) => {
      ctx.state.route = `${prefix}${path}`
      requireOwnSite(ctx.req, peerOf(ctx.req))
      if (!isUpload && (hasBody(ctx.req) || ctx.req.headers['content-type'] !== undefined)) requireJsonType(ctx.req)
      return run(ctx)
    },
  }
}

function documentEndpoint(readDocument: () => string, { answers }: BrowserApiDeps): Endpoint {
  return {
    method: 'GET',
    path: '/openapi.json',
    run: async (ctx) => {
      ctx.state.route = `${PREFIX}/openapi.json`
      checkRate(ctx.state.identity)
      await answers.send(ctx, { status: 200, type: JSON_TYPE, payload: readDocument() })
    },
  }
}
