/**
 * The *request identity* is what a request counts for: its id, its client, the principal of its key, and its rate
 * limit. It is resolved once, before anything else of the request is read, and every answer's header reports it.
 *
 * A request with a valid key counts for its workspace, any other for its client address, whatever its path and method
 * are: the rate is checked before the route is looked for. When the
 * address has no room left, the answer is 429 instead of what is wrong with the key. A valid key is
 * never refused because of other clients at its address.
 */
import type { IncomingMessage } from 'node:http'
import { Refusal } from '../../../../base/mail/refusal.js'
import type { Clock } from '../../../../base/platform/clock.js'
import { addressKeyOf } from '../../../../base/platform/connections/client-address.js'
import { uuidv7 } from '../../../../base/platform/ids.js'
import type { Principal } from '../../../../workspaces/accounts/access/principal.js'
import type { ApiKeyCache } from '../../../../workspaces/accounts/keys/api-key-cache.js'
import { buildRateRefusal, type RateLimit, type RateState } from '../../../../workspaces/accounts/limits/rate-limit.js'
import type { OpenSession } from '../../../../workspaces/accounts/sessions/session-check.js'
import {
  findClientAddress,
  findClientScheme,
  type IsProxy,
  isForeignOrigin,
  type Peer,
  schemeOf,
} from './request-source.js'

export interface RequestIdentity {
  readonly requestId: string
  readonly startedAt: number
  /** The client's address, also behind proxies. */
  readonly remoteAddress: string
  readonly rate: RateState
  /** It came over TLS, to us or to our proxy. */
  readonly isSecure: boolean
  /** The session of a request under `/ui/api`; absent: it has none. */
  readonly session?: OpenSession
  /** Null: not authenticated, and `fault` says why. */
  readonly principal: Principal | null
  readonly fault: unknown
}

interface RequestIdentityDeps {
  readonly apiKeyCache: Pick<ApiKeyCache, 'authenticate'>
  /** By workspace id. */
  readonly requests: RateLimit
  /** By client address, as `addressKeyOf` groups them. */
  readonly clients: RateLimit
  /** By client address too: requests that need no key by design. */
  readonly open: RateLimit
  readonly isProxy: IsProxy
  readonly clock: Clock
}

export interface IdentityResolver {
  /** Counts the request. */
  readonly identify: (request: IncomingMessage, peer: Peer) => RequestIdentity
  /**
   * For what is open to all and asked for often: pixels and links of mail, reports, probes, files of the dashboard.
   * Counts the request in a limit of its own.
   */
  readonly identifyOpen: (request: IncomingMessage, peer: Peer) => RequestIdentity
  /** For a request that its caller counts. */
  readonly identifyAnonymous: (request: IncomingMessage, peer: Peer) => RequestIdentity
  /** Counts a request of this address as one without a valid key. */
  readonly countClient: (address: string) => RateState
  /** How many more requests without a key may come from this address. */
  readonly rateOf: (address: string) => RateState
  /** Authenticates again after a wait; counts nothing. Throws a Refusal when the key is no longer valid. */
  readonly reauthenticate: (request: IncomingMessage, remoteAddress: string) => Principal
}

export function createIdentityResolver(deps: RequestIdentityDeps): IdentityResolver {
  const { requests, clients, open, isProxy, clock } = deps
  const rateOf = (address: string): RateState => clients.peek(addressKeyOf(address), clock())
  const addressOf = (request: IncomingMessage, peer: Peer): string =>
    findClientAddress(peer, joinHeaderLines(request.headers['x-forwarded-for']), isProxy)
  const identifyAnonymous = (request: IncomingMessage, peer: Peer): RequestIdentity => {
    const startedAt = clock()
    const remoteAddress = addressOf(request, peer)
    return { ...aboutRequest(request, peer, startedAt), remoteAddress, rate: rateOf(remoteAddress), ...unproved }
  }

  return {
    identify: (request, peer) => {
      const startedAt = clock()
      const remoteAddress = addressOf(request, peer)
      const about = aboutRequest(request, peer, startedAt)
      try {
        const principal = authenticate(deps, request, peer, remoteAddress)
        const rate = requests.take(principal.workspaceId, startedAt)
        return { ...about, remoteAddress, rate, principal, fault: null }
      } catch (fault) {
        // Anything but a Refusal is our own fault and must not count against the client.
        const rate =
          fault instanceof Refusal ? clients.take(addressKeyOf(remoteAddress), startedAt) : rateOf(remoteAddress)
        return { ...about, remoteAddress, rate, principal: null, fault }
      }
    },
    identifyOpen: (request, peer) => {
      const identity = identifyAnonymous(request, peer)
      const rate = open.take(addressKeyOf(identity.remoteAddress), identity.startedAt)
      // The header reports the limit of clients without a key, which these requests leave as it is.
      return rate.allowed ? { ...identity, rate: { ...identity.rate, allowed: true } } : { ...identity, rate }
    },
    identifyAnonymous,
    countClient: (address) => clients.take(addressKeyOf(address), clock()),
    rateOf,
    reauthenticate: ({ headers }, remoteAddress) =>
      deps.apiKeyCache.authenticate(parseBearerKey(headers.authorization), remoteAddress),
  }
}

const unproved = { principal: null, fault: null }

function aboutRequest(
  request: IncomingMessage,
  peer: Peer,
  startedAt: number,
): Pick<RequestIdentity, 'requestId' | 'startedAt' | 'isSecure'> {
  return { requestId: requestIdOf(request, startedAt), startedAt, isSecure: schemeOf(request, peer) === 'https' }
}

/** Throws a Refusal `rate-limited` when the request exceeds its rate. */
export function checkRate({ rate }: RequestIdentity): void {
  if (!rate.allowed) throw buildRateRefusal(rate)
}

/** Throws a Refusal `rate-limited`, or what was wrong with the key. */
export function requirePrincipal(identity: RequestIdentity): Principal {
  checkRate(identity)
  if (identity.principal === null) throw identity.fault
  return identity.principal
}

/** Throws a Refusal. A key sent over plain HTTP or from a web page is refused before it is looked up. */
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
      throw new Refusal('forbidden', 'Origin: API keys must not be sent from a web page of another site', { origin })
    }
  }
  return apiKeyCache.authenticate(key, remoteAddress)
}

const HTTPS_ONLY = 'the API is served over HTTPS only'

/** `Authorization: Bearer KEY` (RFC 6750 section 2.1). */
const bearerForm = /^Bearer[ \t]+([\w~+/.-]+=*)[ \t]*$/i
const MAX_KEY_LENGTH = 200

/** Throws a Refusal: `authentication-required` without a key, `bad-credentials` for another form. */
function parseBearerKey(authorization: string | undefined): string {
  if (authorization === undefined || authorization === '') {
    throw new Refusal('authentication-required', 'no API key: send "Authorization: Bearer" and the key')
  }
  const key = bearerForm.exec(authorization)?.[1]
  if (key === undefined || key.length > MAX_KEY_LENGTH) {
    throw new Refusal('bad-credentials', 'Authorization: must be "Bearer" and the key')
  }
  return key
}

const requestIdForm = /^[\w.:-]{1,128}$/

/** The client's `X-Request-Id` if it is valid, else a new one. */
function requestIdOf({ headers }: IncomingMessage, now: number): string {
  const given = joinHeaderLines(headers['x-request-id'])
  return given !== undefined && requestIdForm.test(given) ? given : uuidv7(now)
}

/** Node joins repeated fields itself, except those without a list form. */
function joinHeaderLines(value: string | string[] | undefined): string | undefined {
  return Array.isArray(value) ? value.join(',') : value
}
