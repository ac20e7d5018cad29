/**
 * One message in, what is to be sent back: the same for both transports, but for length, rate and transfers.
 *
 * A fault of ours becomes SERVFAIL and is logged, though not as often as strangers may ask.
 */
import { contains } from '../accounts/key-check.js'
import type { ServiceZone } from '../domains/zone.js'
import type { Clock } from '../platform/clock.js'
import type { Log } from '../platform/log.js'
import { answerTo, questionTypes } from './answer.js'
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
  const { zone, rate, clock } = deps
  const faults = reporter(deps)
  const judged = (query: Query): Reply => {
    try {
      return answerTo(zone, query)
    } catch (error) {
      faults(error)
      return faultReply('SERVFAIL')
    }
  }
  const isSecondary = (client: string): boolean => deps.secondaries.some((network) => contains(network, client))

  function* transfer(query: Query): Generator<Buffer> {
    try {
      yield* transferMessages(zone, query)
    } catch (error) {
      if (!(error instanceof TransferOutdated)) faults(error)
      throw error
    }
  }

  return {
    overUdp: (message, client) => {
      const incoming = readQuery(message)
      if (incoming.kind === 'drop') return null
      const head = incoming.kind === 'query' ? incoming.query : incoming.head
      const reply =
        incoming.kind === 'fault'
          ? faultReply(incoming.code)
          : (overUdpInstead(zone, incoming.query, isSecondary(client)) ?? judged(incoming.query))
      const verdict = rate.judge(client, toldAs(reply), clock())
      if (verdict === 'drop') return null
      return verdict === 'truncate' ? truncatedMessage(head) : replyMessage(head, reply, longestOverUdp(head.edns))
    },
    overTcp: (message, client) => {
      const incoming = readQuery(message)
      if (incoming.kind === 'drop') return []
      if (incoming.kind === 'fault') return [replyMessage(incoming.head, faultReply(incoming.code), longestOverTcp)]
      const { query } = incoming
      if (isTransfer(query)) {
        if (isSecondary(client) && query.name === zone.name && query.class === 1) return transfer(query)
        return [replyMessage(query, faultReply('REFUSED'), longestOverTcp)]
      }
      return [replyMessage(query, judged(query), longestOverTcp)]
    },
  }
}

function isTransfer({ type }: Query): boolean {
  return type === questionTypes.AXFR || type === questionTypes.IXFR
}

/** A transfer over UDP: IXFR may be answered with what tells the client to use TCP (RFC 1995 section 2). */
function overUdpInstead(zone: ServiceZone, query: Query, secondary: boolean): Reply | null {
  if (!isTransfer(query)) return null
  if (query.type === questionTypes.AXFR) return faultReply('NOTIMP')
  if (!secondary || query.name !== zone.name || query.class !== 1) return faultReply('REFUSED')
  return answerTo(zone, { ...query, type: questionTypes.SOA })
}

/** What is told apart where it must not be told too often. */
function toldAs({ code, answers: [first] }: Reply): string {
  return first === undefined ? code : `${first.data.type} ${first.name}`
}

function reporter({ log, clock }: DeskDeps): (error: unknown) => void {
  let last = Number.NEGATIVE_INFINITY
  return (error) => {
    if (clock() - last < betweenReports) return
    last = clock()
    log.error({ err: error }, 'a question to the service zone could not be answered')
  }
}
