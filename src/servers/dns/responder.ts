/**
 * The *responder* is the part of the DNS listener that turns one query into its replies. UDP and TCP differ in length,
 * rate limit and transfers only.
 *
 * A fault of ours becomes SERVFAIL and is logged, at most once in `FAULT_LOG_INTERVAL` milliseconds.
 */
import type { Clock } from '../../base/platform/clock.js'
import { CLASS_IN, recordTypes } from '../../base/platform/dns/codes.js'
import { isInSomeNetwork, type Network } from '../../base/platform/ip-address.js'
import type { Log } from '../../base/platform/log.js'
import type { ServiceZone } from '../../workspaces/domains/zone/zone.js'
import { isInside, type RecordData, type ZoneRecord } from '../../workspaces/domains/zone/zone-records.js'
import { parseQuery, type Query } from './query.js'
import {
  buildErrorReply,
  type DnsResponse,
  encodeReply,
  encodeTruncatedReply,
  MAX_TCP_MESSAGE,
  udpSizeLimitOf,
} from './reply.js'
import type { ResponseRateLimiter } from './response-rate-limiter.js'
import { encodeTransfer, TransferOutdated } from './transfer.js'

/** Types that no record has (RFC 6895 section 3.1). Transfers are answered in `responder.ts`. */
const META_TYPES = { from: 249, to: 254 }

const publishedTypes = ['A', 'AAAA', 'NS', 'SOA', 'MX', 'TXT', 'CAA'] as const satisfies readonly RecordData['type'][]

export interface ResponderDeps {
  readonly zone: ServiceZone
  /** Networks that may transfer the zone. */
  readonly secondaries: readonly Network[]
  readonly rateLimiter: ResponseRateLimiter
  readonly clock: Clock
  readonly log: Pick<Log, 'error'>
}

const FAULT_LOG_INTERVAL = 10_000

export class Responder {
  private lastLoggedAt = Number.NEGATIVE_INFINITY

  constructor(private readonly deps: ResponderDeps) {}

  /** Null if nothing is sent. */
  async respondOverUdp(message: Buffer, client: string): Promise<Buffer | null> {
    const { zone, rateLimiter, clock } = this.deps
    const incoming = parseQuery(message)
    if (incoming.kind === 'drop') return null
    const head = incoming.kind === 'query' ? incoming.query : incoming.head
    const reply =
      incoming.kind === 'fault'
        ? buildErrorReply(incoming.code)
        : await this.answerSafely(() => answerUdpQuery(zone, incoming.query, () => this.isSecondary(client)))
    const verdict = rateLimiter.check(client, rateKeyOf(reply), clock())
    if (verdict === 'drop') return null
    return verdict === 'truncate'
      ? encodeTruncatedReply(head, reply)
      : encodeReply(head, reply, udpSizeLimitOf(head.edns))
  }

  /** Empty if the message was no query. A transfer has many replies; it throws when it cannot continue. */
  async *respondOverTcp(message: Buffer, client: string): AsyncGenerator<Buffer> {
    const { zone } = this.deps
    const incoming = parseQuery(message)
    if (incoming.kind === 'drop') return
    if (incoming.kind === 'fault') {
      yield encodeReply(incoming.head, buildErrorReply(incoming.code), MAX_TCP_MESSAGE)
      return
    }
    const { query } = incoming
    if (isTransfer(query) && isOfZone(zone, query) && this.isSecondary(client)) yield* this.streamTransfer(query)
    else yield encodeReply(query, await this.answerOverTcp(query), MAX_TCP_MESSAGE)
  }

  private async answerOverTcp(query: Query): Promise<DnsResponse> {
    if (isTransfer(query)) return buildErrorReply('REFUSED')
    return this.answerSafely(() => answerQuery(this.deps.zone, query))
  }

  private isSecondary(client: string): boolean {
    return isInSomeNetwork(this.deps.secondaries, client)
  }

  private async answerSafely(answer: () => Promise<DnsResponse>): Promise<DnsResponse> {
    try {
      return await answer()
    } catch (error) {
      this.logFault(error)
      return buildErrorReply('SERVFAIL')
    }
  }

  private async *streamTransfer(query: Query): AsyncGenerator<Buffer> {
    try {
      yield* encodeTransfer(this.deps.zone, query)
    } catch (error) {
      if (!(error instanceof TransferOutdated)) this.logFault(error)
      throw error
    }
  }

  private logFault(error: unknown): void {
    const { clock, log } = this.deps
    if (clock() - this.lastLoggedAt < FAULT_LOG_INTERVAL) return
    this.lastLoggedAt = clock()
    log.error({ err: error }, 'a question to the service zone could not be answered')
  }
}

function isTransfer({ type }: Query): boolean {
  return type === recordTypes.AXFR || type === recordTypes.IXFR
}

function isOfZone(zone: ServiceZone, query: Query): boolean {
  return query.name === zone.name && query.class === CLASS_IN
}

/** Transfers need TCP. IXFR is answered with the SOA record, after which the client uses TCP (RFC 1995 section 2). */
async function answerUdpQuery(zone: ServiceZone, query: Query, isSecondary: () => boolean): Promise<DnsResponse> {
  if (!isTransfer(query)) return answerQuery(zone, query)
  if (query.type === recordTypes.AXFR) return buildErrorReply('NOTIMP')
  if (!isOfZone(zone, query) || !isSecondary()) return buildErrorReply('REFUSED')
  return answerQuery(zone, { ...query, type: recordTypes.SOA })
}

/** Replies with the same key share a rate limit. */
function rateKeyOf({ code, answers: [first] }: DnsResponse): string {
  return first === undefined ? code : `${first.data.type} ${first.name}`
}

type QuestionFields = Pick<Query, 'name' | 'type' | 'class'>

/** Undefined if the zone has no records of that type. */
function findPublishedType(type: number): RecordData['type'] | undefined {
  return publishedTypes.find((name) => recordTypes[name] === type)
}

/**
 * The zone's answer to a question (RFC 1034 section 4.3.2). Pure, over the zone.
 *
 * Names outside the zone are refused; there is no recursion. A negative answer carries the SOA record, and its TTL says
 * how long the answer may be cached (RFC 2308). A question for ANY gets one type of record (RFC 8482), so that a query
 * with a forged source address draws only a small response.
 */
async function answerQuery(zone: ServiceZone, { name, type, class: ofClass }: QuestionFields): Promise<DnsResponse> {
  if (ofClass !== CLASS_IN || !isInside(name, zone.name)) return buildErrorReply('REFUSED')
  if (type === recordTypes.OPT) return buildErrorReply('FORMERR')
  if (type >= META_TYPES.from && type <= META_TYPES.to) return buildErrorReply('NOTIMP')
  const records = await zone.findRecords(name)
  if (records === null) return buildNegativeReply(zone, 'NXDOMAIN')
  const recordType = type === recordTypes.ANY ? records[0]?.data.type : findPublishedType(type)
  const answers = records.filter(({ data }) => data.type === recordType)
  if (answers.length === 0) return buildNegativeReply(zone, 'NOERROR')
  return {
    code: 'NOERROR',
    authoritative: true,
    answers,
    authorities: [],
    additionals: await findAdditionals(zone, answers),
  }
}

async function buildNegativeReply(zone: ServiceZone, code: 'NXDOMAIN' | 'NOERROR'): Promise<DnsResponse> {
  const soa = await zone.readSoa()
  const authorities = [{ ...soa, ttl: Math.min(soa.ttl, soa.data.negativeTtl) }]
  return { code, authoritative: true, answers: [], authorities, additionals: [] }
}

/** The addresses of the hosts that the answer names, which saves the client a question. */
async function findAdditionals(zone: ServiceZone, answers: readonly ZoneRecord[]): Promise<readonly ZoneRecord[]> {
  const hosts = answers.flatMap(({ data }) => (data.type === 'MX' || data.type === 'NS' ? [data.host] : []))
  const own = hosts.filter((host) => isInside(host, zone.name))
  const found = await Promise.all(own.map((host) => zone.findRecords(host)))
  return found.flatMap((records) => records ?? []).filter(({ data }) => data.type === 'A' || data.type === 'AAAA')
}
