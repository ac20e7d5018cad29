/**
 * Who asks, and may they ask now? Found out once for each request, before anything else of
 * it is looked at, and told in the header of every answer.
 *
 * With a valid key a request counts for its workspace. Without one it counts against its
 * client address; once that has no room left, it is told 429 instead of what is wrong with
 * its key. A valid key is never refused for what others at its address do.
 */
import type { IncomingMessage } from 'node:http'
import { addressKeyOf } from '../../accounts/client-address.js'
import type { ApiKeyCache } from '../../accounts/keys/api-key-cache.js'
import { buildRateRefusal, type RateLimit, type RateState } from '../../accounts/limits/rate-limit.js'
import type { Principal } from '../../accounts/principal.js'
import { Refusal } from '../../mail/refusal.js'
import type { Clock } from '../../platform/clock.js'
import { uuidv7 } from '../../platform/ids.js'
import { parseBearerKey } from './bearer-key.js'
import { findClientAddress, findClientScheme, type IsProxy, type Peer } from './client-address.js'
import { isForeignOrigin } from './origin.js'

export interface RequestIdentity {
  readonly requestId: string
  readonly startedAt: number
  /** Of the client, behind proxies too. */
  readonly remoteAddress: string
  readonly rate: RateState
  /** Null: nobody is known, and `fault` says why. */
  readonly principal: Principal | null
  readonly fault: unknown
}

export interface RequestIdentityDeps {
  readonly apiKeyCache: Pick<ApiKeyCache, 'authenticate'>
  /** By workspace id. */
  readonly requests: RateLimit
  /** By client address: see `limitKey`. */
  readonly clients: RateLimit
  readonly isProxy: IsProxy
  readonly clock: Clock
}

export interface IdentityResolver {
  /** Counts the request. */
  readonly identify: (request: IncomingMessage, peer: Peer) => RequestIdentity
  /** For what is answered without asking who it is: counts nothing. */
  readonly identifyAnonymous: (request: IncomingMessage, peer: Peer) => RequestIdentity
  /** How many more requests without a key may come from there. */
  readonly rateOf: (address: string) => RateState
  /** Who asks as of now, after a wait; counts nothing. Throws a Refusal once they may not ask any more. */
  readonly reauthenticate: (request: IncomingMessage, remoteAddress: string) => Principal
}

export function createIdentityResolver(deps: RequestIdentityDeps): IdentityResolver {
  const { requests, clients, isProxy, clock } = deps
  const rateOf = (address: string): RateState => clients.peek(addressKeyOf(address), clock())
  const addressOf = (request: IncomingMessage, peer: Peer): string =>
    findClientAddress(peer, joinHeaderLines(request.headers['x-forwarded-for']), isProxy)

  return {
    identify: (request, peer) => {
      const startedAt = clock()
      const requestId = requestIdOf(request, startedAt)
      const remoteAddress = addressOf(request, peer)
      try {
        const principal = authenticate(deps, request, peer, remoteAddress)
        const rate = requests.take(principal.workspaceId, startedAt)
        return { requestId, startedAt, remoteAddress, rate, principal, fault: null }
      } catch (fault) {
        // What is no Refusal is our own fault, and must not use up the client's room.
        const rate =
          fault instanceof Refusal ? clients.take(addressKeyOf(remoteAddress), startedAt) : rateOf(remoteAddress)
        return { requestId, startedAt, remoteAddress, rate, principal: null, fault }
      }
    },
    identifyAnonymous: (request, peer) => {
      const startedAt = clock()
      const remoteAddress = addressOf(request, peer)
      const requestId = requestIdOf(request, startedAt)
      return { requestId, startedAt, remoteAddress, rate: rateOf(remoteAddress), principal: null, fault: null }
    },
    rateOf,
    reauthenticate: ({ headers }, remoteAddress) =>
      deps.apiKeyCache.authenticate(parseBearerKey(headers.authorization), remoteAddress),
  }
}

/** Whoever it is, known or not. Throws a Refusal for one who asks too fast. */
export function checkRate({ rate }: RequestIdentity): void {
  if (!rate.allowed) throw buildRateRefusal(rate)
}

/** Who asks; throws what keeps them from it. */
export function requirePrincipal(visit: RequestIdentity): Principal {
  const { principal, fault } = visit
  checkRate(visit)
  if (principal === null) throw fault
  return principal
}

/** Throws a Refusal; nothing is asked about a key that should never have been sent. */
function authenticate(
  { apiKeyCache }: RequestIdentityDeps,
  { headers }: IncomingMessage,
  peer: Peer,
  remoteAddress: string,
): Principal {
  const key = parseBearerKey(headers.authorization)
  const { origin } = headers
  const forwardedProto = joinHeaderLines(headers['x-forwarded-proto'])
  if (origin !== undefined || forwardedProto !== undefined) {
    const scheme = findClientScheme(peer, forwardedProto)
    if (peer.trusted && scheme === 'http') throw new Refusal('invalid-parameter', HTTPS_ONLY)
    if (origin !== undefined && isForeignOrigin(origin, headers.host, scheme)) {
      throw new Refusal('forbidden', 'Origin: a key must stay on servers, no page may send it', { origin })
    }
  }
  return apiKeyCache.authenticate(key, remoteAddress)
}

const HTTPS_ONLY = 'the API is served over HTTPS only'

const requestIdForm = /^[\w.:-]{1,128}$/

/** The client's own, where it has a sane one. */
function requestIdOf({ headers }: IncomingMessage, now: number): string {
  const given = joinHeaderLines(headers['x-request-id'])
  return given !== undefined && requestIdForm.test(given) ? given : uuidv7(now)
}

/** Node joins the lines of a field that comes more than once, except a few that have no list form. */
function joinHeaderLines(value: string | string[] | undefined): string | undefined {
  return Array.isArray(value) ? value.join(',') : value
}
