/**
 * A route as data: method, path, permission, schemas, answers, and the function `run`.
 *
 * One list of routes gives the router, the permission checks, the parsing of input and the OpenAPI document, so that
 * they cannot disagree. There are seven kinds, by who may call them: with a key (`route`), with a key and a file
 * (`uploadRoute`), with a link that we signed (`signedLinkRoute`), without a key (`publicRoute`), programs that show our
 * mail (`trackingRoute`), readers of our mail (`pageRoute`), services that report to us (`callbackRoute`). `run` calls
 * the rooms below and builds the answer; a client's fault is thrown as a Refusal.
 */
import type { z } from 'zod'
import type { Area } from '../../accounts/permissions.js'
import type { Principal } from '../../accounts/principal.js'
import type { ReadableFile } from '../../platform/readable-file.js'
import type { DocumentedAnswer } from './documented-answer.js'
import type { LinkQuery } from './input/link-signature.js'
import type { FileLimit, UploadedFile } from './input/upload.js'
import type { ErrorCode } from './output/error-answer.js'

type Method = 'GET' | 'POST' | 'PATCH' | 'DELETE'

export interface Call<Query = unknown, Body = unknown> {
  readonly principal: Principal
  /** If not null, the caller may see only what this key has sent. */
  readonly ownKey: string | null
  /** Parameters of the path, such as `{ id }`. */
  readonly params: Readonly<Record<string, string>>
  readonly query: Query
  readonly body: Body
  /** The body as received. */
  readonly rawBody: Buffer
  /** A header field of the request, by its name in lower case. */
  readonly header: (name: string) => string | undefined
  readonly remoteAddress: string
  readonly now: number
}

export type Answer =
  | { readonly kind: 'json'; readonly status: number; readonly body: unknown }
  /** JSON that is already serialized. */
  | { readonly kind: 'text'; readonly status: number; readonly json: string }
  | {
      readonly kind: 'bytes'
      readonly type: string
      readonly bytes: Buffer
      readonly headers?: Readonly<Record<string, string>>
    }
  | StreamAnswer
  | FileAnswer
  /** 302. */
  | { readonly kind: 'redirect'; readonly location: string; readonly headers: Readonly<Record<string, string>> }
  | {
      readonly kind: 'page'
      readonly status: number
      readonly html: string
      readonly headers: Readonly<Record<string, string>>
    }
  | { readonly kind: 'nothing' }

/** Bytes of any length, in pieces that are produced as the client reads them. */
export interface StreamAnswer {
  readonly kind: 'stream'
  readonly type: string
  readonly headers: Readonly<Record<string, string>>
  readonly pieces: AsyncIterable<string | Buffer>
}

/** A file, in one range if the client asks for one, or compressed. */
export interface FileAnswer {
  readonly kind: 'file'
  readonly type: string
  readonly headers: Readonly<Record<string, string>>
  /** Names these very bytes: the ETag without its quotes. */
  readonly tag: string
  /** The answer closes it. */
  readonly file: ReadableFile
}

export const json = (status: number, body: unknown): Answer => ({ kind: 'json', status, body })
/** 204 without a body. */
export const noContent: Answer = { kind: 'nothing' }

interface Common {
  /** The path below the version: `/emails/:id`. */
  readonly path: string
  /** The resource's name in the OpenAPI document. */
  readonly tag: string
  readonly summary: string
  readonly description?: string
  /** Descriptions of path parameters, for the OpenAPI document; `id` is described by the tag. */
  readonly params?: Readonly<Record<string, string>>
  /** Header fields that the route reads, for the OpenAPI document. */
  readonly headers?: z.ZodObject
  /** The successful answers, by status. */
  readonly answers: Readonly<Record<number, DocumentedAnswer>>
  /** Error codes beyond those of every route. */
  readonly refusals: readonly ErrorCode[]
}

interface KeyCommon extends Common {
  readonly method: Method
  /** The permission that the key needs. */
  readonly area: Area
  /** Keys with the scope `send` alone may use it for what they have sent. */
  readonly own?: true
  /** What a signed link does here: a request with a `signature` in its query is authorized by it, without a key. */
  readonly link?: SignedLink
}

/** `run` verifies the signature. */
interface SignedLink {
  readonly run: (call: SignedLinkCall<LinkQuery>) => Promise<Answer> | Answer
}

export interface RouteSpec<Query, Body> extends KeyCommon {
  readonly query?: z.ZodType<Query>
  readonly body?: z.ZodType<Body>
  readonly run: (call: Call<Query, Body>) => Promise<Answer> | Answer
}

/** A route without its input types: the pipeline parses the input with the route's schemas before `run`. */
export interface KeyRoute extends KeyCommon {
  readonly query: z.ZodType | null
  readonly body: z.ZodType | null
  readonly run: (call: Call) => Promise<Answer> | Answer
}

/** A request that uploads one file. */
export interface UploadCall<Query = unknown> {
  readonly principal: Principal
  readonly params: Readonly<Record<string, string>>
  readonly query: Query
  readonly file: UploadedFile
  readonly now: number
}

interface UploadCommon extends KeyCommon {
  readonly method: 'POST'
  /** The limit of the part `file`. */
  readonly limit: FileLimit
  /** What the file must be, for the OpenAPI document. */
  readonly fileDescription: string
  /** An example of its content, for the OpenAPI document. */
  readonly fileExample?: string
}

interface UploadSpec<Query> extends UploadCommon {
  readonly query?: z.ZodType<Query>
  readonly run: (call: UploadCall<Query>) => Promise<Answer>
}

export interface UploadRoute extends UploadCommon {
  readonly query: z.ZodType | null
  readonly body: null
  readonly run: (call: UploadCall) => Promise<Answer>
}

/** A request by a signed link, with or without a key. */
export interface SignedLinkCall<Query = unknown> {
  readonly params: Readonly<Record<string, string>>
  readonly query: Query
  readonly now: number
}

interface SignedLinkCommon extends Common {
  readonly method: 'GET'
  /** No key is needed: `run` verifies the signature of the link. */
  readonly area: 'link'
}

interface SignedLinkSpec<Query> extends SignedLinkCommon {
  readonly query: z.ZodType<Query>
  readonly run: (call: SignedLinkCall<Query>) => Promise<Answer> | Answer
}

export interface SignedLinkRoute extends SignedLinkCommon {
  readonly query: z.ZodType
  readonly body: null
  readonly run: (call: SignedLinkCall) => Promise<Answer> | Answer
}

/** A request without a key, authorized by a secret in its body. */
interface PublicCall<Body = unknown> {
  readonly body: Body
  readonly remoteAddress: string
  readonly now: number
}

interface PublicCommon extends Common {
  readonly method: 'POST'
  /** No key is needed: `run` verifies the secret in the body. */
  readonly area: 'public'
}

interface PublicSpec<Body> extends PublicCommon {
  readonly body: z.ZodType<Body>
  readonly run: (call: PublicCall<Body>) => Promise<Answer> | Answer
}

export interface PublicRoute extends PublicCommon {
  readonly query: null
  readonly body: z.ZodType
  readonly run: (call: PublicCall) => Promise<Answer> | Answer
}

/** A request for a pixel or a link of a message that we sent. */
export interface TrackingCall {
  readonly params: Readonly<Record<string, string>>
  /** As it came: mail clients and scanners add parameters of their own. */
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
  /** No key is needed and no rate limit counts it: image proxies load for thousands of readers. */
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
  /** As `readCallbackFields` reads them. */
  readonly fields: ReadonlyMap<string, string>
}

export interface CallbackRoute extends Common {
  readonly method: 'GET' | 'POST'
  /** No key is needed. A busy service sends thousands of requests, so rate limits count only unauthorized ones. */
  readonly area: 'callback'
  readonly query: null
  readonly body: null
  /** Whether the token in the path is right. If not, the answer is 404, and no body is read. */
  readonly isAuthorized: (params: CallbackCall['params']) => boolean
  readonly run: (call: CallbackCall) => Promise<Answer> | Answer
}

export type Route = KeyRoute | UploadRoute | SignedLinkRoute | PublicRoute | TrackingRoute | PageRoute | CallbackRoute

/** Whether the route needs no key. */
export function isKeyless({ area }: Pick<Route, 'area'>): boolean {
  return ['link', 'public', 'tracking', 'page', 'callback'].includes(area)
}

export function publicRoute<Body>(spec: PublicSpec<Body>): PublicRoute {
  const { run, ...common } = spec
  return { ...common, query: null, run: (call) => run(call as PublicCall<Body>) }
}

export function signedLinkRoute<Query>(spec: SignedLinkSpec<Query>): SignedLinkRoute {
  const { run, ...common } = spec
  return { ...common, body: null, run: (call) => run(call as SignedLinkCall<Query>) }
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

export function route<Query = undefined, Body = undefined>(spec: RouteSpec<Query, Body>): KeyRoute {
  const { query = null, body = null, run, ...common } = spec
  return { ...common, query, body, run: (call) => run(call as Call<Query, Body>) }
}

export function uploadRoute<Query = undefined>(spec: UploadSpec<Query>): UploadRoute {
  const { query = null, run, ...common } = spec
  return { ...common, query, body: null, run: (call) => run(call as UploadCall<Query>) }
}
