/**
 * Encodes replies: header, the question as received, records, EDNS (RFC 1035 section 4, RFC 6891). Pure.
 *
 * A reply that does not fit loses its additional records, and if that is not enough all records, with the TC
 * bit set, so that the client asks again over TCP (RFC 2181 section 9). The owner of a record is a pointer to
 * the question if both are the same name, which keeps a key of 2048 bits within 512 octets; other names are
 * not compressed. Recursion is never offered.
 */
import { type Answer, encode } from 'dns-packet'
import { assertNever } from '../../base/mail/assert-never.js'
import {
  HEADER_SIZE,
  MAX_UDP_PAYLOAD,
  type ResponseCode,
  recordTypes,
  responseCodes,
} from '../../base/platform/dns/codes.js'
import { splitTxtStrings } from '../../workspaces/domains/zone/zone-file.js'
import type { RecordData, ZoneRecord } from '../../workspaces/domains/zone/zone-records.js'
import type { Edns, QueryHead } from './query.js'

export interface DnsResponse {
  readonly code: ResponseCode
  readonly authoritative: boolean
  readonly answers: readonly ZoneRecord[]
  readonly authorities: readonly ZoneRecord[]
  readonly additionals: readonly ZoneRecord[]
}

export const MAX_TCP_MESSAGE = 0xffff
/** Every client accepts so much over UDP (RFC 1035 section 2.3.4). */
const MIN_UDP_PAYLOAD = 512

export function udpSizeLimitOf(edns: Edns | null): number {
  return Math.min(Math.max(edns?.payload ?? 0, MIN_UDP_PAYLOAD), MAX_UDP_PAYLOAD)
}

export function buildErrorReply(code: ResponseCode): DnsResponse {
  return { code, authoritative: false, answers: [], authorities: [], additionals: [] }
}

/** `name` is that of the question. `maxSize` is in octets. */
export function encodeReply(head: QueryHead & { readonly name?: string }, reply: DnsResponse, maxSize: number): Buffer {
  const { question, edns, name = '' } = head
  const opt = edns === null ? null : encodeOptRecord(edns, reply.code)
  const room = maxSize - HEADER_SIZE - (question?.length ?? 0) - (opt?.length ?? 0)
  const mainSections = encodeSections(reply, name)
  const all = [...mainSections, reply.additionals.map((record) => encodeRecord(record, name))]
  const [answers = [], authorities = [], additionals = []] =
    sizeOf(all) <= room ? all : sizeOf(mainSections) <= room ? mainSections : []
  const truncated = answers.length + authorities.length < reply.answers.length + reply.authorities.length
  const header = Buffer.alloc(HEADER_SIZE)
  header.writeUInt16BE(head.id, 0)
  header.writeUInt16BE(flagsOf(head, reply) | (truncated ? 0x0200 : 0), 2)
  header.writeUInt16BE(question === null ? 0 : 1, 4)
  header.writeUInt16BE(answers.length, 6)
  header.writeUInt16BE(authorities.length, 8)
  header.writeUInt16BE(additionals.length + (opt === null ? 0 : 1), 10)
  const parts = [header, question, ...answers, ...authorities, ...additionals, opt]
  return Buffer.concat(parts.filter((part) => part !== null))
}

/** A reply without records, after which the client asks again over TCP. */
export function encodeTruncatedReply(head: QueryHead, { code, authoritative }: DnsResponse): Buffer {
  const message = encodeReply(head, { ...buildErrorReply(code), authoritative }, MIN_UDP_PAYLOAD)
  message.writeUInt16BE(message.readUInt16BE(2) | 0x0200, 2)
  return message
}

function encodeSections({ answers, authorities }: DnsResponse, name: string): readonly (readonly Buffer[])[] {
  return [answers, authorities].map((section) => section.map((record) => encodeRecord(record, name)))
}

function sizeOf(all: readonly (readonly Buffer[])[]): number {
  return all.flat().reduce((size, { length }) => size + length, 0)
}

function flagsOf({ opcode, recursionDesired }: QueryHead, { code, authoritative }: DnsResponse): number {
  const words = 0x8000 | (opcode << 11) | (authoritative ? 0x0400 : 0) | (recursionDesired ? 0x0100 : 0)
  return words | (responseCodes[code] & 15)
}

function encodeOptRecord({ dnssec }: Edns, code: ResponseCode): Buffer {
  const opt = Buffer.alloc(11)
  opt.writeUInt16BE(recordTypes.OPT, 1)
  opt.writeUInt16BE(MAX_UDP_PAYLOAD, 3)
  opt.writeUInt8(responseCodes[code] >> 4, 5)
  opt.writeUInt16BE(dnssec ? 0x8000 : 0, 7)
  return opt
}

/** A compression pointer to the first octet after the header (RFC 1035 section 4.1.4). */
const pointerToQuestion = Buffer.of(0xc0, HEADER_SIZE)

/** `question` is the name right after the header. Empty if there is none. */
export function encodeRecord(record: ZoneRecord, question: string): Buffer {
  const octets = encode({ type: 'response', answers: [toPacketRecord(record)] }).subarray(HEADER_SIZE)
  if (record.name !== question) return octets
  return Buffer.concat([pointerToQuestion, octets.subarray(record.name.length + 2)])
}

function toPacketRecord({ name, ttl, data }: ZoneRecord): Answer {
  const head = { name, ttl, class: 'IN' } as const
  switch (data.type) {
    case 'A':
    case 'AAAA':
      return { ...head, type: data.type, data: data.address }
    case 'NS':
      return { ...head, type: 'NS', data: data.host }
    case 'MX':
      return { ...head, type: 'MX', data: { preference: data.preference, exchange: data.host } }
    case 'TXT':
      return { ...head, type: 'TXT', data: [...splitTxtStrings(data.text)] }
    case 'CAA':
      return { ...head, type: 'CAA', data: { flags: 0, tag: 'issue', value: data.issuer } }
    case 'SOA':
      return { ...head, type: 'SOA', data: toPacketSoa(data) }
    default:
      return assertNever(data)
  }
}

function toPacketSoa({ primary, contact, serial, refresh, retry, expire, negativeTtl }: RecordData & { type: 'SOA' }) {
  return { mname: primary, rname: contact, serial, refresh, retry, expire, minimum: negativeTtl }
}
