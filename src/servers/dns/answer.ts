/**
 * The zone's answer to a question (RFC 1034 section 4.3.2). Pure, over the zone.
 *
 * Names outside the zone are refused; there is no recursion. A negative answer carries the SOA record, whose
 * TTL says how long it may be cached (RFC 2308). A question for ANY gets one type of record (RFC 8482), so
 * that a query with a forged source address draws only a small response.
 */

import { CLASS_IN, recordTypes } from '../../base/platform/dns/codes.js'
import type { ServiceZone } from '../../workspaces/domains/zone/zone.js'
import { isInside, type RecordData, type ZoneRecord } from '../../workspaces/domains/zone/zone-records.js'
import type { Query } from './query.js'
import { buildErrorReply, type DnsResponse } from './reply.js'

type QuestionFields = Pick<Query, 'name' | 'type' | 'class'>

/** Types that no record has (RFC 6895 section 3.1). Transfers are answered in `responder.ts`. */
const META_TYPES = { from: 249, to: 254 }

const publishedTypes = ['A', 'AAAA', 'NS', 'SOA', 'MX', 'TXT', 'CAA'] as const satisfies readonly RecordData['type'][]

/** Undefined: the zone has no records of that type. */
function findPublishedType(type: number): RecordData['type'] | undefined {
  return publishedTypes.find((name) => recordTypes[name] === type)
}

export function answerQuery(zone: ServiceZone, { name, type, class: ofClass }: QuestionFields): DnsResponse {
  if (ofClass !== CLASS_IN || !isInside(name, zone.name)) return buildErrorReply('REFUSED')
  if (type === recordTypes.OPT) return buildErrorReply('FORMERR')
  if (type >= META_TYPES.from && type <= META_TYPES.to) return buildErrorReply('NOTIMP')
  const records = zone.findRecords(name)
  if (records === null) return buildNegativeReply(zone, 'NXDOMAIN')
  const recordType = type === recordTypes.ANY ? records[0]?.data.type : findPublishedType(type)
  const answers = records.filter(({ data }) => data.type === recordType)
  if (answers.length === 0) return buildNegativeReply(zone, 'NOERROR')
  return { code: 'NOERROR', authoritative: true, answers, authorities: [], additionals: findAdditionals(zone, answers) }
}

function buildNegativeReply(zone: ServiceZone, code: 'NXDOMAIN' | 'NOERROR'): DnsResponse {
  const soa = zone.readSoa()
  const authorities = [{ ...soa, ttl: Math.min(soa.ttl, soa.data.negativeTtl) }]
  return { code, authoritative: true, answers: [], authorities, additionals: [] }
}

/** The addresses of the hosts that the answer names, which saves the client a question. */
function findAdditionals(zone: ServiceZone, answers: readonly ZoneRecord[]): readonly ZoneRecord[] {
  const hosts = answers.flatMap(({ data }) => (data.type === 'MX' || data.type === 'NS' ? [data.host] : []))
  return hosts
    .filter((host) => isInside(host, zone.name))
    .flatMap((host) => zone.findRecords(host) ?? [])
    .filter(({ data }) => data.type === 'A' || data.type === 'AAAA')
}
