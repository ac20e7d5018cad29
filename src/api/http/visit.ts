/**
 * Who asks, and may they ask now? Found out once for each request, before anything else of
 * it is looked at, and told in the header of every answer.
 *
 * With a valid key a request counts for its workspace. Without one it counts against its
 * client address; once that has no room left, it is told 429 instead of what is wrong with
 * its key. A valid key is never refused for what others at its address do.
 */
import type { IncomingMessage } from 'node:http'
import { limitKey } from '../../accounts/client-address.js'
import type { KeyRing } from '../../accounts/keys/key-ring.js'
import { type RateLimit, type RateState, tooFast } from '../../accounts/limits/rate-limit.js'
import type { Principal } from '../../accounts/principal.js'
import { Refusal } from '../../mail/refusal.js'
import type { Clock } from '../../platform/clock.js'
import { uuidv7 } from '../../platform/ids.js'
import { bearerKey } from './bearer-key.js'
import { clientAddress, clientScheme, type IsProxy, type Peer } from './client-address.js'
import { isForeign } from './origin.js'

export interface Visit {
  readonly requestId: string
  readonly startedAt: number
  /** Of the client, behind proxies too. */
  readonly remoteAddress: string
  readonly rate: RateState
  /** Null: nobody is known, and `fault` says why. */
  readonly principal: Principal | null
  readonly fault: unknown
}

export interface VisitDeps {
  readonly keyRing: Pick<KeyRing, 'admit'>
  /** By workspace id. */
  readonly requests: RateLimit
  /** By client address: see `limitKey`. */
  readonly clients: RateLimit
  readonly isProxy: IsProxy
  readonly clock: Clock
}

export interface Reception {
  /** Counts the request. */
  readonly receive: (request: IncomingMessage, peer: Peer) => Visit
  /** For what is answered without asking who it is: counts nothing. */
  readonly glance: (request: IncomingMessage, peer: Peer) => Visit
  /** How many more requests without a key may come from there. */
  readonly rateOf: (address: string) => RateState
  /** Who asks as of now, after a wait; counts nothing. Throws a Refusal once they may not ask any more. */
  readonly admitAgain: (request: IncomingMessage, remoteAddress: string) => Principal
}

export function reception(deps: VisitDeps): Reception {
  const { requests, clients, isProxy, clock } = deps
  const rateOf = (address: string): RateState => clients.look(limitKey(address), clock())
  const addressOf = (request: IncomingMessage, peer: Peer): string =>
    clientAddress(peer, listed(request.headers['x-forwarded-for']), isProxy)

  return {
    receive: (request, peer) => {
      const startedAt = clock()
      const requestId = requestIdOf(request, startedAt)
      const remoteAddress = addressOf(request, peer)
      try {
        const principal = admit(deps, request, peer, remoteAddress)
        const rate = requests.take(principal.workspaceId, startedAt)
        return { requestId, startedAt, remoteAddress, rate, principal, fault: null }
      } catch (fault) {
        // What is no Refusal is our own fault, and must not use up the client's room.
        const rate = fault instanceof Refusal ? clients.take(limitKey(remoteAddress), startedAt) : rateOf(remoteAddress)
        return { requestId, startedAt, remoteAddress, rate, principal: null, fault }
      }
    },
    glance: (request, peer) => {
      const startedAt = clock()
      const remoteAddress = addressOf(request, peer)
      const requestId = requestIdOf(request, startedAt)
      return { requestId, startedAt, remoteAddress, rate: rateOf(remoteAddress), principal: null, fault: null }
    },
    rateOf,
    admitAgain: ({ headers }, remoteAddress) => deps.keyRing.admit(bearerKey(headers.authorization), remoteAddress),
  }
}

/** Whoever it is, known or not. Throws a Refusal for one who asks too fast. */
export function tolerated({ rate }: Visit): void {
  if (!rate.allowed) throw tooFast(rate)
}

/** Who asks; throws what keeps them from it. */
export function admitted(visit: Visit): Principal {
  const { principal, fault } = visit
  tolerated(visit)
  if (principal === null) throw fault
  return principal
}

/** Throws a Refusal; nothing is asked about a key that should never have been sent. */
function admit({ keyRing }: VisitDeps, { headers }: IncomingMessage, peer: Peer, remoteAddress: string): Principal {
  const key = bearerKey(headers.authorization)
  const { origin } = headers
  const forwardedProto = listed(headers['x-forwarded-proto'])
  if (origin !== undefined || forwardedProto !== undefined) {
    const scheme = clientScheme(peer, forwardedProto)
    if (peer.trusted && scheme === 'http') throw new Refusal('invalid-parameter', HTTPS_ONLY)
    if (origin !== undefined && isForeign(origin, headers.host, scheme)) {
      throw new Refusal('forbidden', 'Origin: a key must stay on servers, no page may send it', { origin })
    }
  }
  return keyRing.admit(key, remoteAddress)
}

const HTTPS_ONLY = 'the API is served over HTTPS only'

const saneId = /^[\w.:-]{1,128}$/

/** The client's own, where it has a sane one. */
function requestIdOf({ headers }: IncomingMessage, now: number): string {
  const given = listed(headers['x-request-id'])
  return given !== undefined && saneId.test(given) ? given : uuidv7(now)
}

/** Node joins the lines of a field that comes more than once, except a few that have no list form. */
function listed(value: string | string[] | undefined): string | undefined {
  return Array.isArray(value) ? value.join(',') : value
}
