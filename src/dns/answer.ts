/**
 * What the zone answers to a question (RFC 1034 section 4.3.2). Pure, over the zone.
 *
 * Names outside the zone are refused, and nothing is asked of anybody else. "There is none" comes with the SOA
 * record, whose time says for how long to believe it (RFC 2308). A question for anything (ANY) gets one
 * kind of record (RFC 8482), which is all that a forged question may bring upon somebody.
 */
import type { ServiceZone } from '../domains/zone/zone.js'
import { isInside, type RecordData, type ZoneRecord } from '../domains/zone/zone-records.js'
import type { Query } from './query.js'
import { faultReply, type Reply } from './reply.js'

type AskedQuery = Pick<Query, 'name' | 'type' | 'class'>

export const questionTypes = { SOA: 6, IXFR: 251, AXFR: 252 } as const
/** The one class that is left. */
export const internet = 1
const any = 255
const opt = 41
/** What is no kind of record: RFC 6895 section 3.1. Transfers are answered elsewhere. */
const metaTypes = { from: 249, to: 254 }

const types: ReadonlyMap<number, RecordData['type']> = new Map([
  [1, 'A'],
  [2, 'NS'],
  [questionTypes.SOA, 'SOA'],
  [15, 'MX'],
  [16, 'TXT'],
  [28, 'AAAA'],
  [257, 'CAA'],
])

export function answerTo(zone: ServiceZone, { name, type, class: ofClass }: AskedQuery): Reply {
  if (ofClass !== internet || !isInside(name, zone.name)) return faultReply('REFUSED')
  if (type === opt) return faultReply('FORMERR')
  if (type >= metaTypes.from && type <= metaTypes.to) return faultReply('NOTIMP')
  const there = zone.at(name)
  if (there === null) return none(zone, 'NXDOMAIN')
  const wanted = type === any ? there[0]?.data.type : types.get(type)
  const answers = there.filter(({ data }) => data.type === wanted)
  if (answers.length === 0) return none(zone, 'NOERROR')
  return { code: 'NOERROR', authoritative: true, answers, authorities: [], additionals: hostsOf(zone, answers) }
}

function none(zone: ServiceZone, code: 'NXDOMAIN' | 'NOERROR'): Reply {
  const soa = zone.soa()
  const authorities = [{ ...soa, ttl: Math.min(soa.ttl, soa.data.negative) }]
  return { code, authoritative: true, answers: [], authorities, additionals: [] }
}

/** Addresses of the hosts that the answer names, so that nobody must ask for them. */
function hostsOf(zone: ServiceZone, answers: readonly ZoneRecord[]): readonly ZoneRecord[] {
  const hosts = answers.flatMap(({ data }) => (data.type === 'MX' || data.type === 'NS' ? [data.host] : []))
  return hosts
    .filter((host) => isInside(host, zone.name))
    .flatMap((host) => zone.at(host) ?? [])
    .filter(({ data }) => data.type === 'A' || data.type === 'AAAA')
}
