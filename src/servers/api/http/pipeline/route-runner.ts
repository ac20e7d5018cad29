/**
 * Runs a route for a request: authorize, read the input, run, answer.
 *
 * The order is fixed: the key is checked before the permission, and the permission before the body, so that an
 * unauthenticated client cannot make us read 22 MB. Both are checked again after the body, which may take minutes to
 * arrive: a key that was revoked in this time must not act.
 */

import { Refusal } from '../../../../base/mail/refusal.js'
import type { Clock } from '../../../../base/platform/clock.js'
import { addressKeyOf } from '../../../../base/platform/connections/client-address.js'
import { requirePermission } from '../../../../workspaces/accounts/access/permissions.js'
import type { Principal } from '../../../../workspaces/accounts/access/principal.js'
import type { OpenSession } from '../../../../workspaces/accounts/sessions/session-check.js'
import { noContent } from '../answer.js'
import type { ApiContext } from '../context/api-context.js'
import { isForSessions, nameOf } from '../context/place.js'
import { checkRate, type KeyIdentities, type Proof } from '../context/request-identity.js'
import { mediaTypeOf, requireJsonType } from '../input/json-body.js'
import { hasBody } from '../input/read-body.js'
import type { AnswerSender } from '../output/send-answer.js'
import { type Input, isOpenArea, isSessionArea, type Route } from '../route/route.js'
import { type InputReader, parseQueryString } from './read-input.js'
import { requireOwnSite, type SessionIdentities, signedOut } from './session-identity.js'

/** The caller of a route, as far as the route asks for it. */
interface Caller {
  readonly principal: Principal | null
  readonly ownKey: string | null
  readonly session: OpenSession | null
}

export class RouteRunner {
  constructor(
    private readonly keys: KeyIdentities,
    /** Null if nothing is served to sessions. */
    private readonly sessions: SessionIdentities | null,
    private readonly input: InputReader,
    private readonly sender: AnswerSender,
    private readonly clock: Clock,
  ) {}

  async run(ctx: ApiContext, requested: Route): Promise<void> {
    ctx.state.route = nameOf({ ...ctx.state.place, path: requested.path })
    if (isForSessions(ctx.state.place)) this.checkBrowser(ctx, requested)
    const route = findByLink(ctx, requested) ?? findByType(ctx, requested) ?? requested
    const atFirst = await this.authorize(ctx, route, ctx.state.identity)
    // A service that reports nothing yet tries whether its URL is right.
    if (route.area === 'callback' && ctx.method === 'HEAD') return this.sender.send(ctx, noContent)
    const { remoteAddress } = ctx.state.identity
    const owner = atFirst.principal?.workspaceId ?? atFirst.session?.userId ?? addressKeyOf(remoteAddress)
    const reauthorize = async (): Promise<Caller> => this.authorize(ctx, route, await this.authenticateAgain(ctx))
    const { release, ...input } = await this.input.read(ctx, route, owner, reauthorize)
    try {
      const hasRead = route.body !== null || route.raw !== null
      const caller = !hasRead || isOpenArea(route.area) ? atFirst : await reauthorize()
      const call = { ...aboutRequest(ctx), ...input, ...caller, now: this.clock() }
      // `run` stands in the file that declares the path: `operations/daemon/api-routes` lists them all.
      await this.sender.send(ctx, await route.run(call))
    } finally {
      release()
    }
  }

  /** A request under `/ui/api` comes from our own site, and its body is JSON, or the form of an upload. */
  private checkBrowser(ctx: ApiContext, { method, file }: Route): void {
    const { req, state } = ctx
    requireOwnSite(req, state.peer)
    if (file === null && (hasBody(req) || req.headers['content-type'] !== undefined)) requireJsonType(req)
    if (state.place.mount !== '/ui/api/v1' || method === 'GET' || this.sessions === null) return
    state.identity = this.sessions.countChange(state.identity)
    checkRate(state.identity)
  }

  /** Throws a Refusal. */
  private async authorize(ctx: ApiContext, route: Route, { principal, session, fault }: Proof): Promise<Caller> {
    const { area, own } = route
    if (isOpenArea(area)) {
      this.requireToken(ctx, route)
      return { principal: null, ownKey: null, session: area === 'sign-in' ? session : null }
    }
    if (isSessionArea(area)) {
      if (session === null || this.sessions === null) throw fault ?? signedOut()
      if (area === 'operator') await this.sessions.requireOperator(session)
      return { principal: null, ownKey: null, session }
    }
    if (principal === null) throw fault
    const ownKey = requirePermission(principal, area, own) === 'yes' ? null : principal.keyId
    return { principal, ownKey, session: null }
  }

  /** A client of a callback with a wrong token counts as one without a key. */
  private requireToken(ctx: ApiContext, { isAuthorized }: Route): void {
    if (isAuthorized === null || isAuthorized(ctx.params)) return
    const { identity } = ctx.state
    ctx.state.identity = { ...identity, rate: this.keys.countClient(identity.remoteAddress) }
    checkRate(ctx.state.identity)
    throw new Refusal('not-found', 'this URL is not one of ours, or is incomplete')
  }

  private async authenticateAgain({ req, state: { identity } }: ApiContext): Promise<Proof> {
    if (identity.session !== null && this.sessions !== null) return this.sessions.authenticate(req)
    return { principal: await this.keys.authenticate(req, identity.remoteAddress), session: null, fault: null }
  }
}

/** The route for a request with a signature in its query. Null if it has none, or the route takes none. */
function findByLink(ctx: ApiContext, { byLink }: Route): Route | null {
  if (byLink === null) return null
  return parseQueryString(ctx.req.url ?? '')?.['signature'] === undefined ? null : byLink
}

/** The route for the media type of the request's body. Null if it is none of another route. */
function findByType({ req }: ApiContext, { otherwise }: Route): Route | null {
  return otherwise?.raw?.types.includes(mediaTypeOf(req)) === true ? otherwise : null
}

function aboutRequest(ctx: ApiContext): Pick<Input, 'params' | 'search' | 'header' | 'isHead' | 'remoteAddress'> {
  const { headers, url = '' } = ctx.req
  const start = url.indexOf('?')
  return {
    params: ctx.params,
    search: () => new URLSearchParams(start === -1 ? '' : url.slice(start)),
    header: (name) => {
      const value = headers[name]
      return Array.isArray(value) ? value.join(', ') : value
    },
    isHead: ctx.method === 'HEAD',
    remoteAddress: ctx.state.identity.remoteAddress,
  }
}
