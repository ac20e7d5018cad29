/**
 * Makes the request handler of a route for people in a browser: session, permission, input, run, answer.
 *
 * The session is checked again after the body, which may take long to arrive.
 */

import { Refusal } from '../../../../base/mail/refusal.js'
import { addressKeyOf } from '../../../../base/platform/connections/client-address.js'
import type { OpenSession } from '../../../../workspaces/accounts/sessions/session-check.js'
import { readJsonBytes } from '../input/json-body.js'
import type { PeopleRoute } from '../session-route.js'
import type { ApiContext } from './api-context.js'
import { parseBody } from './parse-body.js'
import { checkRate, type RequestIdentity } from './request-identity.js'
import { bodyUseOf, paramsOf, parseQueryString, parseRouteQuery, type RunRouteDeps, sendAnswer } from './run-route.js'
import { readBrowserToken, type SessionResolver } from './session-identity.js'

interface RunSessionRouteDeps extends RunRouteDeps {
  readonly sessions: Pick<SessionResolver, 'findSession'>
  /** Throws a Refusal unless the user may act for the operator. */
  readonly requireOperator: (userId: string) => void
}

/** Bytes. */
const MAX_BODY = 16_384

export function createSessionHandler(
  route: PeopleRoute,
  deps: RunSessionRouteDeps,
): (ctx: ApiContext) => Promise<void> {
  const { clock, memory, pace, sessions } = deps
  const { path, query, body, maxBody = MAX_BODY } = route
  return async (ctx) => {
    const { identity } = ctx.state
    checkRate(identity)
    const atFirst = identity.session ?? null
    authorizeSession(route, atFirst, identity, deps)
    const rawQuery = parseQueryString(ctx.req.url ?? '')
    const share = memory.forOwner(atFirst?.userId ?? addressKeyOf(identity.remoteAddress))
    const received = body === null ? null : await readJsonBytes(ctx.req, ctx.res, share, pace, maxBody)
    try {
      const input =
        body === null || received === null ? null : await parseBody(received, bodyUseOf(ctx, body, path), deps.bodies)
      const session = body === null || atFirst === null ? atFirst : sessions.findSession(ctx.req)
      authorizeSession(route, session, identity, deps)
      const call = {
        params: paramsOf(ctx),
        query: parseRouteQuery(query, rawQuery),
        body: input?.value,
        remoteAddress: identity.remoteAddress,
        userAgent: ctx.req.headers['user-agent'] ?? '',
        browserToken: readBrowserToken(ctx.req),
        now: clock(),
      }
      await sendAnswer(ctx, await runRoute(route, session, call), deps)
    } finally {
      received?.release()
    }
  }
}

type CallParts = Omit<Parameters<Extract<PeopleRoute, { area: 'sign-in' }>['run']>[0], 'session'>

function runRoute(route: PeopleRoute, session: OpenSession | null, call: CallParts): ReturnType<PeopleRoute['run']> {
  if (route.area === 'sign-in') return route.run({ ...call, session })
  if (session === null) throw new Refusal('signed-out', 'the session has ended')
  return route.run({ ...call, session })
}

function authorizeSession(
  { area }: PeopleRoute,
  session: OpenSession | null,
  { fault }: RequestIdentity,
  { requireOperator }: RunSessionRouteDeps,
): void {
  if (area === 'sign-in') return
  if (session === null) throw fault ?? new Refusal('signed-out', 'the session has ended')
  if (area === 'operator') requireOperator(session.userId)
}
