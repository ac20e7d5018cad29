/**
 * The identity of a request under `/ui/api`: its cookie opens a session, and `X-Workspace-Id` names the workspace in
 * which the user acts.
 *
 * A request with a session counts for its user, any other for its client address. A request that changes something
 * counts for the plan of the workspace too.
 *
 * A session is worth nothing to pages of other sites: the cookie is `SameSite=Strict`, and a request that changes
 * something must name our own site (`Sec-Fetch-Site`, else `Origin`).
 */
import type { IncomingMessage } from 'node:http'
import type { PlanLimits } from '../../../../base/config/plans.js'
import { Refusal } from '../../../../base/mail/refusal.js'
import type { Clock } from '../../../../base/platform/clock.js'
import { addressKeyOf } from '../../../../base/platform/connections/client-address.js'
import type { Read } from '../../../../base/storage/db/prepared.js'
import { RateLimit } from '../../../../workspaces/accounts/limits/rate-limit.js'
import { BROWSER_LIFETIME } from '../../../../workspaces/accounts/sessions/known-browsers.js'
import type { OpenSession, SessionCheck } from '../../../../workspaces/accounts/sessions/session-check.js'
import { findSessionPrincipal, requireOperator } from '../../../../workspaces/accounts/sessions/session-principal.js'
import type { Proof, RequestIdentity, RequestLimits } from '../context/request-identity.js'
import { isForeignOrigin, type Peer, requireHttps, schemeOf } from '../context/request-source.js'

const COOKIE = '__Host-posthorn'
/** The cookie by which a browser is known after its session has ended. It opens nothing. */
const BROWSER_COOKIE = '__Host-posthorn-browser'
const cookieForm = /^[\w-]{43}$/
const MAX_WORKSPACE_ID = 100

/** Requests of one user. They suffice for pages that refresh themselves in several tabs. */
const USER_LIMITS: PlanLimits = { requests_per_second: 100, requests_per_minute: 1_500 }

export class SessionIdentities {
  private readonly users = new RateLimit({ limitsOf: () => USER_LIMITS })

  constructor(
    private readonly read: Read,
    private readonly sessions: SessionCheck,
    private readonly limits: RequestLimits,
    private readonly clock: Clock,
  ) {}

  /** Counts the request. `anonymous` is the identity without session and principal. */
  async identify(request: IncomingMessage, peer: Peer, anonymous: RequestIdentity): Promise<RequestIdentity> {
    try {
      requireOwnSite(request, peer)
      const session = await this.requireSession(request)
      const rate = this.users.take(session.userId, this.clock())
      return { ...anonymous, rate, ...(await this.prove(request, session)) }
    } catch (fault) {
      if (!(fault instanceof Refusal)) return { ...anonymous, fault }
      const rate = this.limits.clients.take(addressKeyOf(anonymous.remoteAddress), this.clock())
      return { ...anonymous, rate, fault }
    }
  }

  /** Counts nothing, so that it may be called again after a wait. Throws a Refusal when the session has ended. */
  async authenticate(request: IncomingMessage): Promise<Proof> {
    return this.prove(request, await this.requireSession(request))
  }

  /** Throws a Refusal unless the user may act for the operator. */
  async requireOperator({ userId }: OpenSession): Promise<void> {
    await requireOperator(this.read, userId)
  }

  /**
   * A request that changes something counts for the plan of the workspace too, so that a session is no way round its
   * limits. Reads do not count: a page makes many at once, and must not use up those of programs.
   */
  countChange(identity: RequestIdentity): RequestIdentity {
    if (identity.principal === null || !identity.rate.allowed) return identity
    return { ...identity, rate: this.limits.requests.take(identity.principal.workspaceId, this.clock()) }
  }

  private async requireSession({ headers }: IncomingMessage): Promise<OpenSession> {
    const token = readCookie(headers.cookie, COOKIE)
    const session = token === null ? null : await this.sessions.find(token)
    if (session === null) throw signedOut()
    return session
  }

  /** Routes without a workspace need no principal, so its fault is kept for those with one. */
  private async prove(request: IncomingMessage, session: OpenSession): Promise<Proof> {
    try {
      return {
        session,
        principal: await findSessionPrincipal(this.read, session.userId, workspaceIdOf(request)),
        fault: null,
      }
    } catch (fault) {
      if (!(fault instanceof Refusal)) throw fault
      return { session, principal: null, fault }
    }
  }
}

function workspaceIdOf({ headers }: IncomingMessage): string {
  const id = headers['x-workspace-id']
  if (typeof id === 'string' && id !== '' && id.length <= MAX_WORKSPACE_ID) return id
  throw new Refusal('missing-field', 'X-Workspace-Id: is required', { field: 'X-Workspace-Id' })
}

/** Null if there is none, or it has another form. */
function readCookie(field: string | undefined, cookie: string): string | null {
  for (const pair of field?.split(';') ?? []) {
    const [name = '', value = ''] = pair.trim().split('=', 2)
    if (name === cookie) return cookieForm.test(value) ? value : null
  }
  return null
}

/** `cookies` is the field of the request. Null if the browser has none yet. */
export function readBrowserToken(cookies: string | undefined): string | null {
  return readCookie(cookies, BROWSER_COOKIE)
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

export function signedOut(): Refusal {
  return new Refusal('signed-out', 'you are not signed in, or the session has ended')
}
