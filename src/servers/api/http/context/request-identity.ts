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
import { requireKey } from './request-key.js'
import {
  findClientAddress,
  findClientScheme,
  type IsProxy,
  isForeignOrigin,
  type Peer,
  schemeOf,
} from './request-source.js'

/** The caller of a request. */
export interface Proof {
  /** The session of a request under `/ui/api`, or null if it has none. */
  readonly session: OpenSession | null
  /** Null if the request is not authenticated; then `fault` says why. */
  readonly principal: Principal | null
  readonly fault: unknown
}

export interface RequestIdentity extends Proof {
  readonly requestId: string
  readonly startedAt: number
  /** The client's address, also behind proxies. */
  readonly remoteAddress: string
  readonly rate: RateState
  /** The request came over TLS, to us or to our proxy. */
  readonly isSecure: boolean
}

/** The limits of requests in a minute. */
export interface RequestLimits {
  /** The limit of each workspace, by its id. */
  readonly requests: RateLimit
  /** Keys are client addresses, as `addressKeyOf` groups them. */
  readonly clients: RateLimit
  /** The limit by client address for requests that need no key by design. */
  readonly open: RateLimit
}

export class KeyIdentities {
  constructor(
    private readonly keys: Pick<ApiKeyCache, 'authenticate'>,
    private readonly limits: RequestLimits,
    private readonly isProxy: IsProxy,
    private readonly clock: Clock,
  ) {}

  /** Counts the request. */
  async identify(request: IncomingMessage, peer: Peer): Promise<RequestIdentity> {
    const about = this.describe(request, peer)
    const { remoteAddress, startedAt } = about
    try {
      const key = requireKey(request.headers)
      refuseForeignPage(request, peer)
      const principal = await this.keys.authenticate(key, remoteAddress)
      return { ...about, rate: this.limits.requests.take(principal.workspaceId, startedAt), principal }
    } catch (fault) {
      // Anything but a Refusal is our own fault and must not count against the client.
      const rate = fault instanceof Refusal ? this.countClient(remoteAddress) : this.rateOf(remoteAddress)
      return { ...about, rate, fault }
    }
  }

  /**
   * Counts requests that are open to all and frequent: pixels and links of mail, reports, probes, files of the dashboard.
   * Counts the request in a separate limit.
   */
  identifyOpen(request: IncomingMessage, peer: Peer): RequestIdentity {
    const identity = this.identifyAnonymous(request, peer)
    const rate = this.limits.open.take(addressKeyOf(identity.remoteAddress), identity.startedAt)
    // The header reports the limit of clients without a key, which these requests leave as it is.
    return { ...identity, rate: rate.allowed ? { ...identity.rate, allowed: true } : rate }
  }

  /** Identifies a request that its caller counts. */
  identifyAnonymous(request: IncomingMessage, peer: Peer): RequestIdentity {
    const about = this.describe(request, peer)
    return { ...about, rate: this.rateOf(about.remoteAddress) }
  }

  private describe(request: IncomingMessage, peer: Peer): Omit<RequestIdentity, 'rate'> {
    const startedAt = this.clock()
    const forwardedFor = joinHeaderLines(request.headers['x-forwarded-for'])
    return {
      ...{ requestId: requestIdOf(request, startedAt), startedAt },
      remoteAddress: findClientAddress(peer, forwardedFor, this.isProxy),
      isSecure: schemeOf(request, peer) === 'https',
      ...{ session: null, principal: null, fault: null },
    }
  }

  /** Counts a request of this address as one without a valid key. */
  countClient(address: string): RateState {
    return this.limits.clients.take(addressKeyOf(address), this.clock())
  }

  /** Says how many more requests without a key may come from this address. */
  rateOf(address: string): RateState {
    return this.limits.clients.peek(addressKeyOf(address), this.clock())
  }

  /** Counts nothing, so that it may be called again after a wait. Throws a Refusal when the key is not valid. */
  async authenticate({ headers }: IncomingMessage, remoteAddress: string): Promise<Principal> {
    return this.keys.authenticate(requireKey(headers), remoteAddress)
  }
}

/** Throws a Refusal `rate-limited` when the request exceeds its rate. */
export function checkRate({ rate }: RequestIdentity): void {
  if (!rate.allowed) throw buildRateRefusal(rate)
}

/** Throws a Refusal for a key sent over plain HTTP or from a page of another site, before it is looked up. */
function refuseForeignPage({ headers }: IncomingMessage, peer: Peer): void {
  const { origin } = headers
  const forwardedProto = joinHeaderLines(headers['x-forwarded-proto'])
  if (origin === undefined && forwardedProto === undefined) return
  const scheme = findClientScheme(peer, forwardedProto)
  if (peer.trusted && scheme === 'http') throw new Refusal('invalid-parameter', HTTPS_ONLY)
  if (origin !== undefined && isForeignOrigin(origin, headers.host, scheme)) {
    throw new Refusal('forbidden', 'Origin: API keys must not be sent from a web page of another site', { origin })
  }
}

const HTTPS_ONLY = 'the API is served over HTTPS only'

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
