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
import type { Area } from '../../../workspaces/accounts/access/permissions.js'
import type { Principal } from '../../../workspaces/accounts/access/principal.js'
import type { Answer } from './answer.js'
import type { Common } from './documented-route.js'
import type { LinkQuery } from './input/link-signature.js'
import type { FileLimit, UploadedFile } from './input/upload.js'
import type { CallbackRoute, PageRoute, TrackingRoute } from './open-route.js'

type Method = 'GET' | 'POST' | 'PATCH' | 'DELETE'

export interface Call<Query = unknown, Body = unknown> {
  readonly principal: Principal
  /** If not null, the caller may see only what this key has sent. */
  readonly ownKey: string | null
  /** Parameters of the path, such as `{ id }`. */
  readonly params: Readonly<Record<string, string>>
  readonly query: Query
  readonly body: Body
  /** The fingerprint of the route and the body as received. */
  readonly fingerprint: () => string
  /** A header field of the request, by its name in lower case. */
  readonly header: (name: string) => string | undefined
  readonly remoteAddress: string
  readonly now: number
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
  /** Bytes of the body; absent: `DEFAULT_BODY`. A larger one is among `large-bodies`. */
  readonly maxBody?: number
  readonly run: (call: Call<Query, Body>) => Promise<Answer> | Answer
}

/** Bytes: what is parsed on the main thread. */
export const DEFAULT_BODY = 65_536

/** A route without its input types: the pipeline parses the input with the route's schemas before `run`. */
export interface KeyRoute extends KeyCommon {
  readonly query: z.ZodType | null
  readonly body: z.ZodType | null
  readonly maxBody: number
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

export type Route = KeyRoute | UploadRoute | SignedLinkRoute | PublicRoute | TrackingRoute | PageRoute | CallbackRoute

/** Whether the route needs no key. */
export function isKeyless({ area }: { readonly area: string }): boolean {
  return ['sign-in', 'link', 'public', 'tracking', 'page', 'callback'].includes(area)
}

/** `run` without the types of its input: the pipeline parses the input with the schemas of the route first. */
export function withoutTypes<Typed, Result>(run: (call: Typed) => Result): (call: unknown) => Result {
  return (call) => run(call as Typed)
}

export function publicRoute<Body>(spec: PublicSpec<Body>): PublicRoute {
  const { run, ...common } = spec
  return { ...common, query: null, run: withoutTypes(run) }
}

export function signedLinkRoute<Query>(spec: SignedLinkSpec<Query>): SignedLinkRoute {
  const { run, ...common } = spec
  return { ...common, body: null, run: withoutTypes(run) }
}

export function route<Query = undefined, Body = undefined>(spec: RouteSpec<Query, Body>): KeyRoute {
  const { query = null, body = null, maxBody = DEFAULT_BODY, run, ...common } = spec
  return { ...common, query, body, maxBody, run: withoutTypes(run) }
}

export function uploadRoute<Query = undefined>(spec: UploadSpec<Query>): UploadRoute {
  const { query = null, run, ...common } = spec
  return { ...common, query, body: null, run: withoutTypes(run) }
}
