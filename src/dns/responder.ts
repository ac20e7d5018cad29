/**
 * One message in, what is to be sent back: the same for both transports, but for length, rate and transfers.
 *
 * A fault of ours becomes SERVFAIL and is logged, though not as often as strangers may ask.
 */
import type { ServiceZone } from '../domains/zone/zone.js'
import type { Clock } from '../platform/clock.js'
import { CLASS_IN, recordTypes } from '../platform/dns/codes.js'
import { isInSomeNetwork, type Network } from '../platform/ip-address.js'
import type { Log } from '../platform/log.js'
import { answerQuery } from './answer.js'
import { parseQuery, type Query } from './query.js'
import {
  buildErrorReply,
  encodeReply,
  encodeTruncatedReply,
  MAX_TCP_MESSAGE,
  type Reply,
  udpSizeLimitOf,
} from './reply.js'
import type { ResponseRateLimiter } from './response-rate-limiter.js'
import { encodeTransfer, TransferOutdated } from './transfer.js'

export interface ResponderDeps {
  readonly zone: ServiceZone
  /** Networks that may transfer the zone. */
  readonly secondaries: readonly Network[]
  readonly rateLimiter: ResponseRateLimiter
  readonly clock: Clock
  readonly log: Pick<Log, 'error'>
}

export interface Responder {
  /** Null: nothing is sent. */
  readonly respondOverUdp: (message: Buffer, client: string) => Buffer | null
  /** None: the connection is of no use. A transfer is many; it throws when it cannot go on. */
  readonly respondOverTcp: (message: Buffer, client: string) => Iterable<Buffer>
}

const FAULT_LOG_INTERVAL = 10_000

export function createResponder(deps: ResponderDeps): Responder {
  const { zone, rateLimiter, clock, secondaries } = deps
  const logFault = createFaultLogger(deps)
  const isSecondary = (client: string): boolean => isInSomeNetwork(secondaries, client)
  const answerSafely = (judge: () => Reply): Reply => answerOrServfail(judge, logFault)

  return {
    respondOverUdp: (message, client) => {
      const incoming = parseQuery(message)
      if (incoming.kind === 'drop') return null
      const head = incoming.kind === 'query' ? incoming.query : incoming.head
      const reply =
        incoming.kind === 'fault'
          ? buildErrorReply(incoming.code)
          : answerSafely(() => answerUdpQuery(zone, incoming.query, () => isSecondary(client)))
      const verdict = rateLimiter.check(client, rateKeyOf(reply), clock())
      if (verdict === 'drop') return null
      return verdict === 'truncate'
        ? encodeTruncatedReply(head, reply)
        : encodeReply(head, reply, udpSizeLimitOf(head.edns))
    },
    respondOverTcp: (message, client) => {
      const incoming = parseQuery(message)
      if (incoming.kind === 'drop') return []
      if (incoming.kind === 'fault')
        return [encodeReply(incoming.head, buildErrorReply(incoming.code), MAX_TCP_MESSAGE)]
      const { query } = incoming
      if (isTransfer(query) && isOfZone(zone, query) && isSecondary(client))
        return streamTransfer(zone, query, logFault)
      const reply = isTransfer(query) ? buildErrorReply('REFUSED') : answerSafely(() => answerQuery(zone, query))
      return [encodeReply(query, reply, MAX_TCP_MESSAGE)]
    },
  }
}

/** A fault of ours is told as one. */
function answerOrServfail(judge: () => Reply, faults: LogFault): Reply {
  try {
    return judge()
  } catch (error) {
    faults(error)
    return buildErrorReply('SERVFAIL')
  }
}

function* streamTransfer(zone: ServiceZone, query: Query, faults: LogFault): Generator<Buffer> {
  try {
    yield* encodeTransfer(zone, query)
  } catch (error) {
    if (!(error instanceof TransferOutdated)) faults(error)
    throw error
  }
}

function isTransfer({ type }: Query): boolean {
  return type === recordTypes.AXFR || type === recordTypes.IXFR
}

function isOfZone(zone: ServiceZone, query: Query): boolean {
  return query.name === zone.name && query.class === CLASS_IN
}

/** A transfer goes over TCP; IXFR may be answered with the SOA record, which tells the client so (RFC 1995 section 2). */
function answerUdpQuery(zone: ServiceZone, query: Query, isSecondary: () => boolean): Reply {
  if (!isTransfer(query)) return answerQuery(zone, query)
  if (query.type === recordTypes.AXFR) return buildErrorReply('NOTIMP')
  if (!isOfZone(zone, query) || !isSecondary()) return buildErrorReply('REFUSED')
  return answerQuery(zone, { ...query, type: recordTypes.SOA })
}

/** What is told apart where it must not be told too often. */
function rateKeyOf({ code, answers: [first] }: Reply): string {
  return first === undefined ? code : `${first.data.type} ${first.name}`
}

type LogFault = (error: unknown) => void

function createFaultLogger({ log, clock }: ResponderDeps): LogFault {
  let lastLoggedAt = Number.NEGATIVE_INFINITY
  return (error) => {
    if (clock() - lastLoggedAt < FAULT_LOG_INTERVAL) return
    lastLoggedAt = clock()
    log.error({ err: error }, 'a question to the service zone could not be answered')
  }
}
