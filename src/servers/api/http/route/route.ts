/**
 * A route as data: method, path, who may call it, schemas, answers, and the function `run`.
 *
 * One list of routes gives the router, the permission checks, the parsing of input and the OpenAPI document, so that
 * they cannot disagree. There are four kinds: `route` acts in a workspace, for a key or for a session in a browser;
 * `uploadRoute` does so with a file; `sessionRoute` is for people in a browser; `openRoute` needs no key. `run` calls the
 * rooms below and builds the answer; a client's fault is thrown as a Refusal.
 */
import type { IncomingMessage, ServerResponse } from 'node:http'
import type { z } from 'zod'
import type { ReservableMemory } from '../../../../base/platform/memory/reservation.js'
import type { Area } from '../../../../workspaces/accounts/access/permissions.js'
import type { Principal } from '../../../../workspaces/accounts/access/principal.js'
import type { OpenSession } from '../../../../workspaces/accounts/sessions/session-check.js'
import type { Answer } from '../answer.js'
import type { ParsedRaw } from '../input/form.js'
import { type LinkQuery, linkQuery } from '../input/link-signature.js'
import type { BodyPace } from '../input/read-body.js'
import type { FileForm, UploadedFile } from '../input/upload.js'
import type { Common } from './documented-route.js'

type Method = 'GET' | 'POST' | 'PATCH' | 'DELETE'

/** Served under `/ui/api` only. An `operator` is an owner or admin of the operator's workspace. */
type SessionArea = 'session' | 'operator'

/**
 * Areas that need no key. `link`: `run` verifies the signature in the query. `public`: it verifies the secret in the
 * body. `sign-in`: for people without a session, under `/ui/api` only. `tracking`: programs that show our mail. `page`:
 * readers of our mail, by a token in the path. `callback`: services at URLs that we gave them.
 */
const openAreas = ['link', 'public', 'sign-in', 'tracking', 'page', 'callback'] as const
type OpenArea = (typeof openAreas)[number]

/** The input of `run` for every request, parsed with the schemas of the route. */
export interface Input<Query = unknown, Body = unknown> {
  /** Parameters of the path, such as `{ id }`. */
  readonly params: Readonly<Record<string, string>>
  readonly query: Query
  readonly body: Body
  /** The query as it came. */
  readonly search: () => URLSearchParams
  /** The fingerprint of the route and the body: as received, or of a form its fields and files. */
  readonly fingerprint: () => string
  /** A header field of the request, by its name in lower case. */
  readonly header: (name: string) => string | undefined
  readonly isHead: boolean
  readonly remoteAddress: string
  readonly now: number
}

/** A request that acts in a workspace. */
export interface Call<Query = unknown, Body = unknown> extends Input<Query, Body> {
  readonly principal: Principal
  /** If not null, the caller may see only what this key has sent. */
  readonly ownKey: string | null
}

interface SessionCall<Query, Body> extends Input<Query, Body> {
  readonly session: OpenSession
}

export interface OpenCall<Query = unknown, Body = unknown> extends Input<Query, Body> {
  /** The session of a `sign-in` route if there is one, else null. */
  readonly session: OpenSession | null
}

type Run<Call> = (call: Call) => Promise<Answer> | Answer

/** Reads a body that is no JSON. */
type ReadBody<Body> = (
  request: IncomingMessage,
  response: ServerResponse,
  memory: ReservableMemory,
  pace: BodyPace,
) => Promise<Body>

/** A body that is no JSON: it is read whole, and then parsed. */
export interface RawBody<Body> {
  /** Media types that the route takes, in lower case. */
  readonly types: readonly string[]
  /** Bytes. */
  readonly limit: number
  /** True if `run` reads the query, whatever it has. */
  readonly takesQuery?: boolean
  /** `contentType` is the field of the request. Throws a Refusal. */
  readonly parse: (raw: Buffer, contentType: string) => Promise<ParsedRaw<Body>> | ParsedRaw<Body>
  /** The fields of a form, for the OpenAPI document. Absent for text. */
  readonly schema?: z.ZodType
  /** An example for the OpenAPI document. */
  readonly example?: unknown
}

interface Spec<Query, Body> extends Common {
  readonly method: Method
  readonly query?: z.ZodType<Query>
  /** The schema of a JSON body. */
  readonly body?: z.ZodType<Body>
  /**
   * Bytes of a JSON body. If it is absent, the limit is 64 KB, or 16 KB without a workspace. A larger one is among
   * `large-bodies`.
   */
  readonly maxBody?: number
}

interface WorkspaceSpec<Query, Body> extends Spec<Query, Body> {
  /** The permission that the caller needs. */
  readonly area: Area
}

export interface RouteSpec<Query, Body> extends WorkspaceSpec<Query, Body> {
  /** Keys with the scope `send` alone may use it for what they have sent. */
  readonly own?: true
  /** In place of `body`. */
  readonly raw?: RawBody<Body>
  /** A route for the same path, which takes bodies of other media types. */
  readonly otherwise?: Route
  /** Runs for a request with a `signature` in its query. It needs no key, because it verifies that signature. */
  readonly byLink?: Run<OpenCall<LinkQuery, undefined>>
  readonly run: Run<Call<Query, Body>>
}

interface UploadSpec<Query> extends WorkspaceSpec<Query, UploadedFile> {
  readonly method: 'POST'
  readonly file: FileForm
  readonly run: Run<Call<Query, UploadedFile>>
}

interface SessionSpec<Query, Body> extends Spec<Query, Body> {
  readonly area: SessionArea
  readonly run: Run<SessionCall<Query, Body>>
}

/** `tracking`, `page` and `callback` ignore the query. Its schema is for the OpenAPI document alone. */
interface OpenSpec<Query, Body> extends Spec<Query, Body> {
  readonly area: OpenArea
  readonly readBody?: ReadBody<Body>
  /** Whether the token in the path of a `callback` is right. If not, the answer is 404, and no body is read. */
  readonly isAuthorized?: (params: Input['params']) => boolean
  readonly run: Run<OpenCall<Query, Body>>
}

/** A route without its input types: the pipeline parses the input with the route's schemas before `run`. */
export interface Route extends Common {
  readonly method: Method
  readonly area: Area | SessionArea | OpenArea
  readonly own: boolean
  readonly query: z.ZodType | null
  readonly body: z.ZodType | null
  readonly maxBody: number
  readonly readBody: ReadBody<unknown> | null
  readonly file: FileForm | null
  readonly raw: RawBody<unknown> | null
  /** Answers a request whose body has one of the media types that this route takes. */
  readonly otherwise: Route | null
  readonly isAuthorized: ((params: Input['params']) => boolean) | null
  /** Answers a request with a signature in its query. */
  readonly byLink: Route | null
  readonly run: Run<unknown>
}

/** Bytes that are parsed on the main thread. */
export const DEFAULT_BODY = 65_536
/** Bytes of a body that has a secret and a few short fields. */
const SHORT_BODY = 16_384

/** Whether a route of this area needs no key. */
export function isOpenArea(area: string): area is OpenArea {
  return openAreas.some((open) => open === area)
}

export function isSessionArea(area: string): area is SessionArea {
  return area === 'session' || area === 'operator'
}

/** `run` without the types of its input. */
function untyped<Typed>(run: Run<Typed>): Run<unknown> {
  return (call) => run(call as Typed)
}

const nothingElse = {
  own: false,
  query: null,
  body: null,
  readBody: null,
  file: null,
  raw: null,
  otherwise: null,
  isAuthorized: null,
  byLink: null,
}

export function route<Query = undefined, Body = undefined>(spec: RouteSpec<Query, Body>): Route {
  const { byLink, run, ...common } = spec
  const whole: Route = { ...nothingElse, maxBody: DEFAULT_BODY, ...common, run: untyped(run) }
  if (byLink === undefined) return whole
  return { ...whole, byLink: { ...whole, area: 'link', query: linkQuery, run: untyped(byLink) } }
}

export function uploadRoute<Query = undefined>(spec: UploadSpec<Query>): Route {
  return { ...nothingElse, maxBody: 0, ...spec, run: untyped(spec.run) }
}

export function sessionRoute<Query = undefined, Body = undefined>(spec: SessionSpec<Query, Body>): Route {
  return { ...nothingElse, maxBody: SHORT_BODY, ...spec, run: untyped(spec.run) }
}

export function openRoute<Query = undefined, Body = undefined>(spec: OpenSpec<Query, Body>): Route {
  return { ...nothingElse, maxBody: SHORT_BODY, ...spec, run: untyped(spec.run) }
}
