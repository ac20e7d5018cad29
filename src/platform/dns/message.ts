/**
 * One question to DNS as bytes, and a reply as records (RFC 1035, EDNS RFC 6891). Pure.
 *
 * A reply counts only when it bears the question's id and repeats the question, in any case of its letters. What
 * was accepted and cannot be read is null, never an exception, and reading costs no more than its bounds allow.
 * Names are text as `dns-name.ts` has it. The additional section is not read.
 */
import { randomInt } from 'node:crypto'
import { CLASS_IN, HEADER_SIZE, MAX_UDP_PAYLOAD, recordTypes, responseCodeName } from './codes.js'
import { encodeName, readName } from './name.js'
import { type RawRecord, readAddress, readNameData, readSection, readSoaMinimum, readStrings } from './records.js'

export type QuestionType = 'A' | 'AAAA' | 'TXT' | 'PTR' | 'CNAME' | 'MX'

export interface Question {
  readonly name: string
  readonly type: QuestionType
}

export interface AnswerRecord {
  readonly owner: string
  readonly type: QuestionType
  /** Seconds. */
  readonly ttl: number
  /** An address, a name, the strings of one TXT record joined (an octet a character). */
  readonly text: string
  /** Of MX. */
  readonly preference: number
}

export interface Reply {
  /** RFC 1035's RCODE as a word. */
  readonly code: string
  readonly answers: readonly AnswerRecord[]
  /** Seconds for which "there is none" holds (RFC 2308); null: the reply does not say. */
  readonly negativeTtl: number | null
  /** It knows only who else to ask. */
  readonly isReferral: boolean
}

/** Of both sections: more is nothing that mail needs. */
const MAX_RECORDS = 300

/** Of a name that can be asked for. Each message has an id of its own. */
export function buildQuery({ name, type }: Question, edns: boolean): Buffer {
  const header = Buffer.from([0, 0, 1, 0, 0, 1, 0, 0, 0, 0, 0, edns ? 1 : 0])
  header.writeUInt16BE(randomInt(0x1_0000), 0)
  return Buffer.concat([
    header,
    encodeName(name),
    Buffer.of(0, recordTypes[type], 0, CLASS_IN),
    ...(edns ? [optRecord] : []),
  ])
}

/** RFC 6891 section 6.1.2: the root, its type, our buffer in the place of the class, no flags, no options. */
const optRecord = Buffer.of(0, 0, recordTypes.OPT, MAX_UDP_PAYLOAD >> 8, MAX_UDP_PAYLOAD & 255, 0, 0, 0, 0, 0, 0)

/** Whether `reply` answers `query`; a refusal need not repeat the question. */
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

/** Type and class are small numbers, which have no case. */
function foldCase(octets: Buffer): string {
  return octets.toString('latin1').replace(/[A-Z]/g, (letter) => letter.toLowerCase())
}

/** The reply did not fit. */
export function isTruncated(reply: Buffer): boolean {
  return (reply.readUInt8(2) & 2) !== 0
}

export function rcodeOf(reply: Buffer): string {
  return responseCodeName(reply.readUInt8(3) & 15)
}

/** Null: broken. */
export function readReply(reply: Buffer): Reply | null {
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

/** Or it offers to ask others. */
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

/** RFC 2181 section 8: with the highest bit set it means nothing. */
function secondsOf(ttl: number): number {
  return ttl > 0x7fff_ffff ? 0 : ttl
}
