/**
 * The identity of a request under `/ui/api`: its cookie opens a session, and `X-Workspace-Id` names the
 * workspace in which the user acts.
 *
 * A request with a session counts for its user, any other for its client address. What changes something counts for
 * the plan of the workspace too (`browser-api.ts`).
 *
 * A session is worth nothing to pages of other sites: the cookie is `SameSite=Strict`, and a request that
 * changes something must name our own site (`Sec-Fetch-Site`, else `Origin`).
 */
import type { IncomingMessage } from 'node:http'
import { Refusal } from '../../../../base/mail/refusal.js'
import type { Clock } from '../../../../base/platform/clock.js'
import { addressKeyOf } from '../../../../base/platform/connections/client-address.js'
import type { Principal } from '../../../../workspaces/accounts/access/principal.js'
import type { RateLimit } from '../../../../workspaces/accounts/limits/rate-limit.js'
import { BROWSER_LIFETIME } from '../../../../workspaces/accounts/sessions/known-browsers.js'
import type { CheckSession, OpenSession } from '../../../../workspaces/accounts/sessions/session-check.js'
import type { IdentityResolver, RequestIdentity } from './request-identity.js'
import { isForeignOrigin, type Peer, requireHttps, schemeOf } from './request-source.js'

const COOKIE = '__Host-posthorn'
/** By which a browser is known after its session has ended; it opens nothing. */
const BROWSER_COOKIE = '__Host-posthorn-browser'
const cookieForm = /^[\w-]{43}$/
const MAX_WORKSPACE_ID = 100

interface SessionIdentityDeps {
  readonly checkSession: CheckSession
  /** The principal of a user in a workspace. Throws a Refusal `forbidden`. */
  readonly findPrincipal: (userId: string, workspaceId: string) => Principal
  /** By user id. */
  readonly users: RateLimit
  /** By client address, as `addressKeyOf` groups them. */
  readonly clients: RateLimit
  readonly clock: Clock
}

export interface SessionResolver {
  /** Counts the request. `anonymous`: the identity without session and principal. */
  readonly identify: (request: IncomingMessage, peer: Peer, anonymous: RequestIdentity) => RequestIdentity
  /** After a wait: throws a Refusal when the session has ended, or the user does not belong to the workspace any more. */
  readonly reauthenticate: IdentityResolver['reauthenticate']
  /** Null: the request has no session, or it has ended. */
  readonly findSession: (request: IncomingMessage) => OpenSession | null
}

export function createSessionResolver(deps: SessionIdentityDeps): SessionResolver {
  const { checkSession, findPrincipal, users, clients, clock } = deps
  const findSession = ({ headers }: IncomingMessage): OpenSession | null => {
    const token = readCookie(headers.cookie, COOKIE)
    return token === null ? null : checkSession(token)
  }
  return {
    findSession,
    identify: (request, peer, anonymous) => {
      const address = addressKeyOf(anonymous.remoteAddress)
      try {
        requireOwnSite(request, peer)
        const session = findSession(request)
        if (session === null) throw signedOutRefusal()
        const found = { ...anonymous, session, rate: users.take(session.userId, clock()) }
        return withPrincipal(found, session, () => findPrincipal(session.userId, workspaceIdOf(request)))
      } catch (fault) {
        const rate = fault instanceof Refusal ? clients.take(address, clock()) : anonymous.rate
        return { ...anonymous, rate, fault }
      }
    },
    reauthenticate: (request) => {
      const session = findSession(request)
      if (session === null) throw signedOutRefusal()
      return findPrincipal(session.userId, workspaceIdOf(request))
    },
  }
}

/** Routes without a workspace need no principal, so its fault is kept for those with one. */
function withPrincipal(identity: RequestIdentity, session: OpenSession, find: () => Principal): RequestIdentity {
  try {
    return { ...identity, session, principal: find(), fault: null }
  } catch (fault) {
    if (!(fault instanceof Refusal)) throw fault
    return { ...identity, session, fault }
  }
}

function signedOutRefusal(): Refusal {
  return new Refusal('signed-out', 'you are not signed in, or the session has ended')
}

function workspaceIdOf({ headers }: IncomingMessage): string {
  const id = headers['x-workspace-id']
  if (typeof id === 'string' && id !== '' && id.length <= MAX_WORKSPACE_ID) return id
  throw new Refusal('missing-field', 'X-Workspace-Id: is required', { field: 'X-Workspace-Id' })
}

/** Null: there is none, or it has another form. */
function readCookie(field: string | undefined, cookie: string): string | null {
  for (const pair of field?.split(';') ?? []) {
    const [name = '', value = ''] = pair.trim().split('=', 2)
    if (name === cookie) return cookieForm.test(value) ? value : null
  }
  return null
}

/** Null: the browser has none yet. */
export function readBrowserToken({ headers }: IncomingMessage): string | null {
  return readCookie(headers.cookie, BROWSER_COOKIE)
}

/** The field `Set-Cookie` for a new session; it ends with the session. */
export function formatSessionCookie(token: string, milliseconds: number): string {
  return formatCookie(COOKIE, token, milliseconds)
}

/** The field `Set-Cookie` for a browser that is known from now on. */
export function formatBrowserCookie(token: string): string {
  return formatCookie(BROWSER_COOKIE, token, BROWSER_LIFETIME)
}

function formatCookie(name: string, value: string, milliseconds: number): string {
  return `${name}=${value}; Path=/; Secure; HttpOnly; SameSite=Strict; Max-Age=${Math.floor(milliseconds / 1_000)}`
}

/** The field `Set-Cookie` that removes the cookie. */
export const endedCookie = formatSessionCookie('', 0)

/** Throws a Refusal for a request over plain HTTP, or from a page of another site. */
export function requireOwnSite(request: IncomingMessage, peer: Peer): void {
  requireHttps(request, peer)
  const { method, headers } = request
  const site = headers['sec-fetch-site']
  if (method === 'GET' || method === 'HEAD') {
    if (site === undefined || site === 'same-origin' || site === 'none') return
  } else if (site === undefined) {
    const { origin } = headers
    if (origin !== undefined && !isForeignOrigin(origin, headers.host, schemeOf(request, peer))) return
  } else if (site === 'same-origin') return
  throw new Refusal('forbidden', 'not permitted: the request does not come from a page of this service')
}
