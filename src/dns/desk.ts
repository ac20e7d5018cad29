/**
 * One message in, what is to be sent back: the same for both transports, but for length, rate and transfers.
 *
 * A fault of ours becomes SERVFAIL and is logged, though not as often as strangers may ask.
 */
import { contains } from '../accounts/keys/key-check.js'
import type { ServiceZone } from '../domains/zone/zone.js'
import type { Clock } from '../platform/clock.js'
import type { Log } from '../platform/log.js'
import { answerTo, internet, questionTypes } from './answer.js'
import { type Query, readQuery } from './query.js'
import { faultReply, longestOverTcp, longestOverUdp, type Reply, replyMessage, truncatedMessage } from './reply.js'
import type { ResponseRate } from './response-rate.js'
import { TransferOutdated, transferMessages } from './transfer.js'

export interface DeskDeps {
  readonly zone: ServiceZone
  /** Networks that may transfer the zone. */
  readonly secondaries: readonly string[]
  readonly rate: ResponseRate
  readonly clock: Clock
  readonly log: Pick<Log, 'error'>
}

export interface Desk {
  /** Null: nothing is sent. */
  readonly overUdp: (message: Buffer, client: string) => Buffer | null
  /** None: the connection is of no use. A transfer is many; it throws when it cannot go on. */
  readonly overTcp: (message: Buffer, client: string) => Iterable<Buffer>
}

const betweenReports = 10_000

export function deskOf(deps: DeskDeps): Desk {
  const { zone, rate, clock, secondaries } = deps
  const faults = reporter(deps)
  const isSecondary = (client: string): boolean => secondaries.some((network) => contains(network, client))
  const judged = (judge: () => Reply): Reply => sound(judge, faults)

  return {
    overUdp: (message, client) => {
      const incoming = readQuery(message)
      if (incoming.kind === 'drop') return null
      const head = incoming.kind === 'query' ? incoming.query : incoming.head
      const reply =
        incoming.kind === 'fault'
          ? faultReply(incoming.code)
          : judged(() => answerOverUdp(zone, incoming.query, () => isSecondary(client)))
      const verdict = rate.judge(client, toldAs(reply), clock())
      if (verdict === 'drop') return null
      return verdict === 'truncate'
        ? truncatedMessage(head, reply)
        : replyMessage(head, reply, longestOverUdp(head.edns))
    },
    overTcp: (message, client) => {
      const incoming = readQuery(message)
      if (incoming.kind === 'drop') return []
      if (incoming.kind === 'fault') return [replyMessage(incoming.head, faultReply(incoming.code), longestOverTcp)]
      const { query } = incoming
      if (isTransfer(query) && isOfZone(zone, query) && isSecondary(client)) return transferTo(zone, query, faults)
      const reply = isTransfer(query) ? faultReply('REFUSED') : judged(() => answerTo(zone, query))
      return [replyMessage(query, reply, longestOverTcp)]
    },
  }
}

/** A fault of ours is told as one. */
function sound(judge: () => Reply, faults: Faults): Reply {
  try {
    return judge()
  } catch (error) {
    faults(error)
    return faultReply('SERVFAIL')
  }
}

function* transferTo(zone: ServiceZone, query: Query, faults: Faults): Generator<Buffer> {
  try {
    yield* transferMessages(zone, query)
  } catch (error) {
    if (!(error instanceof TransferOutdated)) faults(error)
    throw error
  }
}

function isTransfer({ type }: Query): boolean {
  return type === questionTypes.AXFR || type === questionTypes.IXFR
}

function isOfZone(zone: ServiceZone, query: Query): boolean {
  return query.name === zone.name && query.class === internet
}

/** A transfer goes over TCP; IXFR may be answered with the SOA record, which tells the client so (RFC 1995 section 2). */
function answerOverUdp(zone: ServiceZone, query: Query, isSecondary: () => boolean): Reply {
  if (!isTransfer(query)) return answerTo(zone, query)
  if (query.type === questionTypes.AXFR) return faultReply('NOTIMP')
  if (!isOfZone(zone, query) || !isSecondary()) return faultReply('REFUSED')
  return answerTo(zone, { ...query, type: questionTypes.SOA })
}

/** What is told apart where it must not be told too often. */
function toldAs({ code, answers: [first] }: Reply): string {
  return first === undefined ? code : `${first.data.type} ${first.name}`
}

type Faults = (error: unknown) => void

function reporter({ log, clock }: DeskDeps): Faults {
  let last = Number.NEGATIVE_INFINITY
  return (error) => {
    if (clock() - last < betweenReports) return
    last = clock()
    log.error({ err: error }, 'a question to the service zone could not be answered')
  }
}
