/**
 * Routes that anybody may call: programs that show our mail (`trackingRoute`), readers of our mail (`pageRoute`), and
 * services at URLs that we gave them (`callbackRoute`). Each verifies by itself what its path contains.
 */
import type { z } from 'zod'
import type { Answer } from './answer.js'
import type { Common } from './documented-route.js'

/** A request for a pixel or a link of a message that we sent. */
export interface TrackingCall {
  readonly params: Readonly<Record<string, string>>
  /** The query as it came: mail clients and scanners add parameters of their own. */
  readonly query: URLSearchParams
  /** The request is a HEAD: it counts for nothing. */
  readonly isHead: boolean
  /** A header field of the request, by its name in lower case. */
  readonly header: (name: string) => string | undefined
  readonly remoteAddress: string
  readonly now: number
}

export interface TrackingRoute extends Common {
  readonly method: 'GET'
  /** No key is needed, and it counts for the limit of what is open to all: image proxies load for thousands of readers. */
  readonly area: 'tracking'
  /** The parameters that it knows, for the OpenAPI document; no query is refused. */
  readonly query: z.ZodType
  readonly body: null
  readonly run: (call: TrackingCall) => Promise<Answer> | Answer
}

/** A request for a page by a link of a message that we sent, or by the form of that page. */
export interface PageCall {
  readonly params: Readonly<Record<string, string>>
  /** The fields of a POST with a form of up to a kilobyte; of any other request there are none. */
  readonly form: URLSearchParams
  readonly now: number
}

export interface PageRoute extends Common {
  readonly method: 'GET' | 'POST'
  /** No key is needed: `run` verifies the token in the path. Answers a page; the query is ignored, and no body refused. */
  readonly area: 'page'
  readonly query: null
  readonly body: null
  readonly run: (call: PageCall) => Promise<Answer> | Answer
}

/** A report of a service that we use, at a URL that we gave it. */
interface CallbackCall {
  readonly params: Readonly<Record<string, string>>
  /** The fields that `readCallbackFields` reads. */
  readonly fields: ReadonlyMap<string, string>
}

export interface CallbackRoute extends Common {
  readonly method: 'GET' | 'POST'
  /** No key is needed. A busy service sends thousands of requests, so the limit of clients without a key counts only unauthorized ones. */
  readonly area: 'callback'
  readonly query: null
  readonly body: null
  /** Whether the token in the path is right. If not, the answer is 404, and no body is read. */
  readonly isAuthorized: (params: CallbackCall['params']) => boolean
  readonly run: (call: CallbackCall) => Promise<Answer> | Answer
}

export function pageRoute(spec: Omit<PageRoute, 'area' | 'query' | 'body'>): PageRoute {
  return { ...spec, area: 'page', query: null, body: null }
}

export function callbackRoute(spec: Omit<CallbackRoute, 'area' | 'query' | 'body'>): CallbackRoute {
  return { ...spec, area: 'callback', query: null, body: null }
}

export function trackingRoute(spec: Omit<TrackingRoute, 'method' | 'area' | 'body'>): TrackingRoute {
  return { ...spec, method: 'GET', area: 'tracking', body: null }
}
