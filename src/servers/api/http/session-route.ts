/**
 * Routes for people in a browser, as data: they are served under `/ui/api` only, with a session and never with a key.
 *
 * `session` needs a session, and `operator` that of an owner or admin of the operator's workspace
 * (`sessionRoute`). `sign-in` needs none, and its `run` is given the session if there is one (`signInRoute`). What pages
 * need of a workspace beyond the API is an ordinary `route` in their list, with the permission of its area.
 */
import type { z } from 'zod'
import type { OpenSession } from '../../../workspaces/accounts/sessions/session-check.js'
import type { Answer } from './answer.js'
import type { Common } from './documented-route.js'
import { type KeyRoute, withoutTypes } from './route.js'

interface BrowserCall<Query, Body> {
  readonly params: Readonly<Record<string, string>>
  readonly query: Query
  readonly body: Body
  readonly remoteAddress: string
  readonly userAgent: string
  /** By which the browser is known from an earlier sign-in; null: it has none. */
  readonly browserToken: string | null
  readonly now: number
}

interface SessionCall<Query = unknown, Body = unknown> extends BrowserCall<Query, Body> {
  readonly session: OpenSession
}

interface SignInCall<Query = unknown, Body = unknown> extends BrowserCall<Query, Body> {
  readonly session: OpenSession | null
}

interface BrowserCommon extends Common {
  readonly method: 'GET' | 'POST' | 'PATCH' | 'DELETE'
  /** Bytes of the body; default 16 KB. */
  readonly maxBody?: number
}

interface SessionRoute extends BrowserCommon {
  readonly area: 'session' | 'operator'
  readonly query: z.ZodType | null
  readonly body: z.ZodType | null
  readonly run: (call: SessionCall) => Promise<Answer> | Answer
}

interface SignInRoute extends BrowserCommon {
  readonly area: 'sign-in'
  readonly query: z.ZodType | null
  readonly body: z.ZodType | null
  readonly run: (call: SignInCall) => Promise<Answer> | Answer
}

export type PeopleRoute = SessionRoute | SignInRoute
/** A `KeyRoute` is what a page needs of a workspace and the API lacks: its principal is that of the session. */
export type BrowserRoute = PeopleRoute | KeyRoute

/** Whether the route acts in the workspace that the request names. */
export function isOfWorkspace(route: BrowserRoute): route is KeyRoute {
  return !['session', 'operator', 'sign-in'].includes(route.area)
}

interface SessionSpec<Query, Body> extends BrowserCommon {
  readonly area: 'session' | 'operator'
  readonly query?: z.ZodType<Query>
  readonly body?: z.ZodType<Body>
  readonly run: (call: SessionCall<Query, Body>) => Promise<Answer> | Answer
}

interface SignInSpec<Body> extends BrowserCommon {
  readonly body?: z.ZodType<Body>
  readonly run: (call: SignInCall<undefined, Body>) => Promise<Answer> | Answer
}

export function sessionRoute<Query = undefined, Body = undefined>(spec: SessionSpec<Query, Body>): SessionRoute {
  const { query = null, body = null, run, ...common } = spec
  return { ...common, query, body, run: withoutTypes(run) }
}

export function signInRoute<Body = undefined>(spec: SignInSpec<Body>): SignInRoute {
  const { body = null, run, ...common } = spec
  return { ...common, area: 'sign-in', query: null, body, run: withoutTypes(run) }
}
