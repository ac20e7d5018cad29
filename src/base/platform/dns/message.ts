/**
 * Encodes DNS queries and decodes replies (RFC 1035, EDNS RFC 6891). Pure.
 *
 * A reply is accepted only with the query's id and the same question, in any case of its letters. An accepted reply
 * that is malformed decodes to null, never to an exception, and decoding is bounded. Names are in the text form of
 * `name.ts`. The additional section is not read.
 */
import { randomInt } from 'node:crypto'
import { CLASS_IN, HEADER_SIZE, MAX_UDP_PAYLOAD, recordTypes, responseCodeName } from './codes.js'
import { encodeName, readName } from './name.js'
import {
  type RawRecord,
  readAddress,
  readCaa,
  readNameData,
  readSection,
  readSoaMinimum,
  readStrings,
  readTlsa,
} from './records.js'

export type QuestionType = 'A' | 'AAAA' | 'TXT' | 'PTR' | 'CNAME' | 'MX' | 'NS' | 'CAA' | 'TLSA'

export interface Question {
  readonly name: string
  readonly type: QuestionType
}

export interface AnswerRecord {
  readonly owner: string
  readonly type: QuestionType
  /** Seconds. */
  readonly ttl: number
  /** An address, a name, the joined strings of one TXT record (one character per octet), or a CAA or TLSA record as in a zone file. */
  readonly text: string
  /** The preference of an MX record. 0 for other records. */
  readonly preference: number
}

export interface DnsReply {
  /** The name of the RCODE. */
  readonly code: string
  readonly answers: readonly AnswerRecord[]
  /** Seconds for which a negative answer is valid (RFC 2308), or null if the reply does not say. */
  readonly negativeTtl: number | null
  /** The server has validated everything in it by DNSSEC, or says so (the AD bit, RFC 4035 section 3.2.3). */
  readonly isAuthenticData: boolean
  /** The reply only refers to other servers. */
  readonly isReferral: boolean
}

/** The bit in the fourth octet of the header. */
const AD_BIT = 0x20
/** The limit of both sections together. Mail needs no more. */
const MAX_RECORDS = 300

/** `name` must be queryable (`isQueryable`). Each query has a random id, and asks for the AD bit (RFC 6840 section 5.7). */
export function buildQuery({ name, type }: Question, edns: boolean): Buffer {
  const header = Buffer.from([0, 0, 1, AD_BIT, 0, 1, 0, 0, 0, 0, 0, edns ? 1 : 0])
  header.writeUInt16BE(randomInt(0x1_0000), 0)
  return Buffer.concat([
    header,
    encodeName(name),
    Buffer.of(recordTypes[type] >> 8, recordTypes[type] & 255, 0, CLASS_IN),
    ...(edns ? [optRecord] : []),
  ])
}

/** RFC 6891 section 6.1.2: the root, the type, our buffer size in the class field, no flags, no options. */
const optRecord = Buffer.of(0, 0, recordTypes.OPT, MAX_UDP_PAYLOAD >> 8, MAX_UDP_PAYLOAD & 255, 0, 0, 0, 0, 0, 0)

/** Whether `reply` belongs to `query`; an error need not repeat the question. */
export function isReplyTo(query: Buffer, reply: Buffer): boolean {
  if (reply.length < HEADER_SIZE || reply.readUInt16BE(0) !== query.readUInt16BE(0)) return false
  const isQuery = (reply.readUInt8(2) & 0x80) === 0
  if (isQuery) return false
  const questions = reply.readUInt16BE(4)
  if (questions === 0) return !['NOERROR', 'NXDOMAIN'].includes(rcodeOf(reply))
  const end = findQuestionEnd(query)
  return questions === 1 && foldCase(reply.subarray(HEADER_SIZE, end)) === foldCase(query.subarray(HEADER_SIZE, end))
}

function findQuestionEnd(query: Buffer): number {
  let at = HEADER_SIZE
  for (let size = query.readUInt8(at); size > 0; size = query.readUInt8(at)) at += size + 1
  return at + 5
}

/** Type and class are small numbers, which folding does not change. */
function foldCase(octets: Buffer): string {
  return octets.toString('latin1').replace(/[A-Z]/g, (letter) => letter.toLowerCase())
}

export function isTruncated(reply: Buffer): boolean {
  return (reply.readUInt8(2) & 2) !== 0
}

export function rcodeOf(reply: Buffer): string {
  return responseCodeName(reply.readUInt8(3) & 15)
}

/** Null if it is malformed. */
export function readDnsReply(reply: Buffer): DnsReply | null {
  try {
    const [questions, answered, referred] = [reply.readUInt16BE(4), reply.readUInt16BE(6), reply.readUInt16BE(8)]
    if (answered + referred > MAX_RECORDS) return null
    const { records, end } = readSection(reply, skipQuestions(reply, questions), answered)
    const authorities = readSection(reply, end, referred).records
    const answers = records.flatMap((record) => recordOf(reply, record))
    const negativeTtl = authorities.flatMap((record) => negativeTtlOf(reply, record))[0] ?? null
    const passesOn = !isAuthoritative(reply) && authorities.some(({ type }) => type === recordTypes.NS)
    return {
      code: rcodeOf(reply),
      answers,
      negativeTtl,
      isAuthenticData: (reply.readUInt8(3) & AD_BIT) !== 0,
      isReferral: records.length === 0 && negativeTtl === null && passesOn,
    }
  } catch (error) {
    if (error instanceof RangeError) return null
    throw error
  }
}

function skipQuestions(reply: Buffer, questions: number): number {
  return questions === 0 ? HEADER_SIZE : readName(reply, HEADER_SIZE).end + 4
}

/** Authoritative, or from a recursive server. */
function isAuthoritative(reply: Buffer): boolean {
  return (reply.readUInt8(2) & 4) !== 0 || (reply.readUInt8(3) & 0x80) !== 0
}

function recordOf(message: Buffer, record: RawRecord): readonly AnswerRecord[] {
  if (record.class !== CLASS_IN) return []
  const head = { owner: record.owner, ttl: secondsOf(record.ttl), preference: 0 }
  switch (record.type) {
    case recordTypes.A:
      return [{ ...head, type: 'A', text: readAddress(message, record, 'ipv4') }]
    case recordTypes.AAAA:
      return [{ ...head, type: 'AAAA', text: readAddress(message, record, 'ipv6') }]
    case recordTypes.CNAME:
      return [{ ...head, type: 'CNAME', text: readNameData(message, record) }]
    case recordTypes.PTR:
      return [{ ...head, type: 'PTR', text: readNameData(message, record) }]
    case recordTypes.NS:
      return [{ ...head, type: 'NS', text: readNameData(message, record) }]
    case recordTypes.CAA:
      return [{ ...head, type: 'CAA', text: readCaa(message, record) }]
    case recordTypes.TLSA:
      return [{ ...head, type: 'TLSA', text: readTlsa(message, record) }]
    case recordTypes.MX:
      return [
        { ...head, type: 'MX', text: readNameData(message, record, 2), preference: message.readUInt16BE(record.start) },
      ]
    case recordTypes.TXT:
      return [{ ...head, type: 'TXT', text: readStrings(message, record) }]
    default:
      return []
  }
}

function negativeTtlOf(message: Buffer, record: RawRecord): readonly number[] {
  if (record.type !== recordTypes.SOA) return []
  return [Math.min(secondsOf(record.ttl), secondsOf(readSoaMinimum(message, record)))]
}

/** RFC 2181 section 8: a value with the highest bit set counts as zero. */
function secondsOf(ttl: number): number {
  return ttl > 0x7fff_ffff ? 0 : ttl
}
