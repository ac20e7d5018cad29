/** The routes of the session of a browser: show, sign in, sign out; and of the other sessions of the user. */
import { z } from 'zod'
import { formatTimestamp as iso } from '../../../base/platform/clock.js'
import { tryCommit } from '../../../base/storage/db/write.js'
import { describeBrowser } from '../../../workspaces/accounts/sessions/browser-name.js'
import type { OpenSession } from '../../../workspaces/accounts/sessions/session-check.js'
import {
  endAllSessions,
  endOtherSessions,
  endSession,
  type SessionTimes,
  sessionsOfUser,
} from '../../../workspaces/accounts/sessions/session-records.js'
import {
  type SignedIn,
  type SignInClient,
  type SignInDeps,
  signIn,
} from '../../../workspaces/accounts/sessions/sign-in.js'
import { type Answer, json } from '../http/answer.js'
import { address, notFound, password, timestamp } from '../http/input/values.js'
import {
  endedCookie,
  formatBrowserCookie,
  formatSessionCookie,
  readBrowserToken,
} from '../http/pipeline/session-identity.js'
import { type Input, openRoute, type Route, sessionRoute } from '../http/route/route.js'
import { buildSessionView, type ShownServiceNames, sessionView } from './session-view.js'

export interface AccountDeps extends SignInDeps {
  readonly names: ShownServiceNames
  readonly sessionTimes: () => SessionTimes
}

const codeRule = 'allowed: a code of the authenticator, or a recovery code'
/** A code of the second factor. */
export const code = z.string(codeRule).max(40, codeRule).meta({ example: '492039' })

const signInRequest = z
  .strictObject({ email: address, password, code: code.optional() })
  .meta({ id: 'SignIn', example: { email: 'ann@example.com', password: 'correct horse battery' } })
const listedSession = z
  .strictObject({
    id: z.string(),
    created_at: timestamp,
    last_used_at: timestamp,
    expires_at: timestamp,
    user_agent: z.string().meta({ example: 'Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0' }),
    browser: z.string().meta({ description: 'Its name, and its system.', example: 'Firefox on Linux' }),
    ip_address: z.string().meta({ example: '192.0.2.1' }),
    current: z.boolean().meta({ description: 'Whether it is the session of this request.' }),
  })
  .meta({ id: 'ListedSession' })
const allQuery = z.strictObject({
  all: z.literal('true', 'allowed: true').optional().meta({ description: 'Also ends the session of this request.' }),
})

const tag = 'Session'
const removedCookie = { 'Set-Cookie': endedCookie }

export function sessionRoutes(deps: AccountDeps): readonly Route[] {
  return [
    showRoute(deps),
    createRoute(deps),
    endRoute(deps),
    listRoute(deps),
    removeRoute(deps),
    removeOthersRoute(deps),
  ]
}

/** The answer to a sign-in: the new session. Only the cookie has its token; another cookie makes the browser known. */
export async function answerSignIn(
  { read, names }: AccountDeps,
  { session: { token, row }, browserToken }: SignedIn,
): Promise<Answer> {
  const session: OpenSession = { id: row.id, userId: row.user_id, expiresAt: row.expires_at }
  return {
    kind: 'json',
    status: 201,
    body: await buildSessionView(read, session, names),
    headers: {
      'Set-Cookie': [formatSessionCookie(token, row.expires_at - row.created_at), formatBrowserCookie(browserToken)],
    },
  }
}

type ClientFields = Pick<Input, 'remoteAddress' | 'header'>

/** The browser that makes a request. */
export function toClient({ remoteAddress, header }: ClientFields): SignInClient {
  return { remoteAddress, userAgent: header('user-agent') ?? '', browserToken: readBrowserToken(header('cookie')) }
}

function showRoute({ read, names }: AccountDeps): Route {
  return sessionRoute({
    method: 'GET',
    path: '/session',
    area: 'session',
    tag,
    summary: 'Show who is signed in, and their workspaces',
    answers: { 200: { description: 'The session.', schema: sessionView } },
    refusals: [],
    run: async ({ session }) => json(200, await buildSessionView(read, session, names)),
  })
}

function createRoute(deps: AccountDeps): Route {
  return openRoute({
    method: 'POST',
    path: '/session',
    area: 'sign-in',
    tag,
    summary: 'Sign in',
    description:
      'Where the second factor is enabled and `code` is missing, the answer is `authentication_required` with ' +
      '`second_factor: true` in its details.',
    body: signInRequest,
    answers: { 201: { description: 'The new session; its token is in the cookie.', schema: sessionView } },
    refusals: ['authentication_required', 'invalid_credentials'],
    run: async ({ body: { email, password, code }, session, now, ...client }) => {
      const created = await signIn(deps, { email, password, code, client: toClient(client), now })
      // This browser held another session, and has just lost its token.
      if (session !== null) await tryCommit(deps.commit([endSession(session)]))
      return answerSignIn(deps, created)
    },
  })
}

function endRoute({ commit }: AccountDeps): Route {
  return openRoute({
    method: 'DELETE',
    path: '/session',
    area: 'sign-in',
    tag,
    summary: 'Sign out',
    answers: { 204: { description: 'The session has ended, or there was none.' } },
    refusals: [],
    run: async ({ session }) => {
      if (session !== null) await tryCommit(commit([endSession(session)]))
      return { kind: 'nothing', headers: removedCookie }
    },
  })
}

function listRoute({ read, sessionTimes }: AccountDeps): Route {
  return sessionRoute({
    method: 'GET',
    path: '/sessions',
    area: 'session',
    tag,
    summary: 'List your sessions, newest first',
    answers: { 200: { description: 'All of them.', schema: z.strictObject({ data: z.array(listedSession) }) } },
    refusals: [],
    run: async ({ session, now }) => {
      const rows = await sessionsOfUser(read, { userId: session.userId, now, idleSince: now - sessionTimes().idle })
      const data = rows.map(({ id, created_at, last_used_at, expires_at, user_agent, ip_address }) => ({
        id,
        created_at: iso(created_at),
        last_used_at: iso(last_used_at),
        expires_at: iso(expires_at),
        user_agent,
        browser: describeBrowser(user_agent),
        ip_address,
        current: id === session.id,
      }))
      return json(200, { data })
    },
  })
}

function removeRoute({ commit }: AccountDeps): Route {
  return sessionRoute({
    method: 'DELETE',
    path: '/sessions/:id',
    area: 'session',
    tag,
    summary: 'End one of your sessions',
    answers: { 204: { description: 'It has ended.' } },
    refusals: ['not_found'],
    run: async ({ session, params: { id = '' } }) => {
      const hasEnded = await tryCommit(commit([endSession({ id, userId: session.userId })]))
      if (!hasEnded) throw notFound('not-found', 'session', id)
      return id === session.id ? { kind: 'nothing', headers: removedCookie } : { kind: 'nothing' }
    },
  })
}

function removeOthersRoute({ commit }: AccountDeps): Route {
  return sessionRoute({
    method: 'DELETE',
    path: '/sessions',
    area: 'session',
    tag,
    summary: 'End all of your other sessions',
    query: allQuery,
    answers: { 204: { description: 'They have ended.' } },
    refusals: [],
    run: async ({ session: { id, userId }, query: { all } }) => {
      await commit([all === undefined ? endOtherSessions({ userId, keptId: id }) : endAllSessions(userId)])
      return all === undefined ? { kind: 'nothing' } : { kind: 'nothing', headers: removedCookie }
    },
  })
}
