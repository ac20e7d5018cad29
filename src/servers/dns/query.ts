/**
 * Parses untrusted messages as questions to the zone (RFC 1035 section 4.1, RFC 6891). Pure; never throws.
 *
 * The question is kept as received and repeated octet by octet, because resolvers mix the case of its letters
 * and check that it comes back unchanged. Its name is parsed here, because a dot within a label must not look
 * like one between labels; dns-packet parses the records after it, within limits.
 *
 * Known limits: EDNS options (cookies) and signatures (TSIG) are ignored.
 */
import { type Answer, decode } from 'dns-packet'
import { HEADER_SIZE, MAX_UDP_PAYLOAD, type ResponseCode } from '../../base/platform/dns/codes.js'

/** The fields that a reply repeats. */
export interface QueryHead {
  readonly id: number
  readonly opcode: number
  readonly recursionDesired: boolean
  /** The octets of the question. Null if it has none that can be repeated. */
  readonly question: Buffer | null
  readonly edns: Edns | null
}

export interface Edns {
  /** Octets that the client accepts over UDP. */
  readonly payload: number
  readonly dnssec: boolean
}

export interface Query extends QueryHead {
  readonly question: Buffer
  /** The name in lower case, without the last dot. Octets that no name of ours contains are written as `\ddd`. */
  readonly name: string
  readonly type: number
  readonly class: number
  /** The serial from which an incremental transfer starts. */
  readonly serial: number | null
}

type ParsedMessage =
  | { readonly kind: 'query'; readonly query: Query }
  /** Answered with an error. */
  | { readonly kind: 'fault'; readonly head: QueryHead; readonly code: ResponseCode }
  /** It is no query, and an answer could start an endless exchange. */
  | { readonly kind: 'drop' }

/** Octets, as many as a UDP reply may have. The cost of chains of name pointers grows with the message. */
export const MAX_QUERY_SIZE = MAX_UDP_PAYLOAD
/** Records after the question: EDNS, a signature, the SOA record of an incremental transfer. */
const MAX_RECORDS = 8
const MAX_NAME_LENGTH = 255

export function parseQuery(message: Buffer): ParsedMessage {
  if (message.length < HEADER_SIZE) return { kind: 'drop' }
  const flags = message.readUInt16BE(2)
  if ((flags & 0x8000) !== 0) return { kind: 'drop' }
  const opcode = (flags >> 11) & 15
  const baseHead = {
    id: message.readUInt16BE(0),
    opcode,
    recursionDesired: (flags & 0x0100) !== 0,
    question: null,
    edns: null,
  }
  if (opcode !== 0) return { kind: 'fault', head: baseHead, code: 'NOTIMP' }
  const question = message.length > MAX_QUERY_SIZE || message.readUInt16BE(4) !== 1 ? null : parseQuestion(message)
  if (question === null) return { kind: 'fault', head: baseHead, code: 'FORMERR' }
  const head = { ...baseHead, ...question }
  const trailing = parseTrailingRecords(message)
  if (trailing === null) return { kind: 'fault', head, code: 'FORMERR' }
  const { edns, version, serial } = trailing
  if (version > 0) return { kind: 'fault', head: { ...head, edns }, code: 'BADVERS' }
  return { kind: 'query', query: { ...head, edns, serial } }
}

type Question = Pick<Query, 'question' | 'name' | 'type' | 'class'>

function parseQuestion(message: Buffer): Question | null {
  const labels: string[] = []
  let at = HEADER_SIZE
  for (;;) {
    const size = message[at]
    // 64 and above is a pointer, and there is nothing before the question to point at.
    if (size === undefined || size > 63 || at - HEADER_SIZE >= MAX_NAME_LENGTH) return null
    at += 1
    if (size === 0) break
    labels.push(formatLabel(message.subarray(at, at + size)))
    at += size
  }
  if (at + 4 > message.length || at - HEADER_SIZE > MAX_NAME_LENGTH) return null
  const [type, ofClass] = [message.readUInt16BE(at), message.readUInt16BE(at + 2)]
  return { question: message.subarray(HEADER_SIZE, at + 4), name: labels.join('.'), type, class: ofClass }
}

function formatLabel(octets: Buffer): string {
  return octets
    .toString('latin1')
    .replace(/[A-Z]+/g, (letters) => letters.toLowerCase())
    .replace(/[^a-z0-9_-]/g, (odd) => `\\${String(odd.charCodeAt(0)).padStart(3, '0')}`)
}

interface TrailingRecords {
  readonly edns: Edns | null
  readonly version: number
  readonly serial: number | null
}

/** Null if it is malformed. */
function parseTrailingRecords(message: Buffer): TrailingRecords | null {
  const records = [6, 8, 10].reduce((sum, at) => sum + message.readUInt16BE(at), 0)
  if (records === 0) return { edns: null, version: 0, serial: null }
  if (records > MAX_RECORDS) return null
  try {
    const { answers = [], authorities = [], additionals = [] } = decode(message)
    // dns-packet reads beyond the end of a message that is cut off.
    if (!(decode.bytes <= message.length)) return null
    return interpretRecords(additionals, [...answers, ...authorities])
  } catch {
    return null
  }
}

function interpretRecords(additionals: readonly Answer[], others: readonly Answer[]): TrailingRecords | null {
  const [opt, second] = additionals.filter((record) => record.type === 'OPT')
  if (second !== undefined || others.some(({ type }) => type === 'OPT')) return null
  const soa = others.find((record) => record.type === 'SOA')
  const serial = soa?.data.serial ?? null
  if (opt === undefined) return { edns: null, version: 0, serial }
  if (opt.name !== '.') return null
  const edns = { payload: opt.udpPayloadSize, dnssec: opt.flag_do === true }
  return { edns, version: opt.ednsVersion, serial }
}
