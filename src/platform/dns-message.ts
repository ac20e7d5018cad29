/**
 * One question to DNS as bytes, and a reply as records (RFC 1035, EDNS RFC 6891), on top of dns-packet. Pure.
 *
 * A reply counts only when it bears the question's id and repeats the question, in any case of its letters. What
 * was accepted and cannot be read is null, never an exception, and reading costs no more than its bounds allow.
 * Names are lower case without the last dot; of a stranger's name whatever is not usual in host names becomes
 * `\ddd`, and a name with a backslash is never asked for: such text leads nowhere.
 *
 * Known limits: a dot within a label looks like a dot between labels, octets that are no UTF-8 like U+FFFD. The
 * additional section is not read.
 */
import { randomInt } from 'node:crypto'
import { SocketAddress } from 'node:net'
import { type Answer, decode, encode, RECURSION_DESIRED } from 'dns-packet'

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
  readonly referral: boolean
}

/** What a path without fragments carries (DNS flag day 2020). */
const payloadSize = 1232
const longestName = 255
const longestLabel = 63
const headerSize = 12
/** Of both sections: more is nothing that mail needs, and each record's names may make thousands of leaps. */
const mostRecords = 300
const codes = ['NOERROR', 'FORMERR', 'SERVFAIL', 'NXDOMAIN', 'NOTIMP', 'REFUSED']

/** Lower case, without the last dot. */
export function canonicalName(name: string): string {
  return name.toLowerCase().replace(/\.$/, '')
}

/** Whether a question can hold `name`, as `canonicalName` gives it. */
export function isAskable(name: string): boolean {
  if (name === '') return true
  if (/[\\\s\p{Cc}]/u.test(name) || Buffer.byteLength(name) + 2 > longestName) return false
  return name.split('.').every((label) => label !== '' && Buffer.byteLength(label) <= longestLabel)
}

/** Of a name that can be asked for. Each message has an id of its own. */
export function questionMessage({ name, type }: Question, edns: boolean): Buffer {
  const opt = {
    type: 'OPT',
    name: '.',
    udpPayloadSize: payloadSize,
    extendedRcode: 0,
    ednsVersion: 0,
    flags: 0,
  } as const
  return encode({
    type: 'query',
    id: randomInt(0x1_0000),
    flags: RECURSION_DESIRED,
    questions: [{ type, name: name === '' ? '.' : name }],
    additionals: edns ? [{ ...opt, flag_do: false, options: [] }] : [],
  })
}

/** Whether `reply` answers `query`; a refusal need not repeat the question. */
export function isReplyTo(query: Buffer, reply: Buffer): boolean {
  if (reply.length < headerSize || reply.readUInt16BE(0) !== query.readUInt16BE(0)) return false
  const isQuery = (reply.readUInt8(2) & 0x80) === 0
  if (isQuery) return false
  const questions = reply.readUInt16BE(4)
  if (questions === 0) return !['NOERROR', 'NXDOMAIN'].includes(codeOf(reply))
  const end = questionEnd(query)
  return questions === 1 && folded(reply.subarray(headerSize, end)) === folded(query.subarray(headerSize, end))
}

function questionEnd(query: Buffer): number {
  let at = headerSize
  for (let size = query.readUInt8(at); size > 0; size = query.readUInt8(at)) at += size + 1
  return at + 5
}

/** Type and class are small numbers, which have no case. */
function folded(octets: Buffer): string {
  return octets.toString('latin1').replace(/[A-Z]/g, (letter) => letter.toLowerCase())
}

/** The reply did not fit. */
export function isTruncated(reply: Buffer): boolean {
  return (reply.readUInt8(2) & 2) !== 0
}

export function codeOf(reply: Buffer): string {
  const code = reply.readUInt8(3) & 15
  return codes[code] ?? `RCODE${code}`
}

/** Null: broken. */
export function readReply(reply: Buffer): Reply | null {
  const sections = [6, 8].map((at) => reply.readUInt16BE(at))
  if (sections.reduce((sum, count) => sum + count, 0) > mostRecords) return null
  const message = Buffer.from(reply)
  message.writeUInt16BE(0, 10)
  try {
    const { answers = [], authorities = [], flag_aa: authoritative, flag_ra: recursive } = decode(message)
    // dns-packet reads beyond the end what is cut off there.
    if (!(decode.bytes <= message.length)) return null
    const negativeTtl = authorities.flatMap(negativeTtlOf)[0] ?? null
    const passesOn = !authoritative && !recursive && authorities.some(({ type }) => type === 'NS')
    return {
      code: codeOf(reply),
      answers: answers.flatMap(recordOf),
      negativeTtl,
      referral: answers.length === 0 && negativeTtl === null && passesOn,
    }
  } catch {
    return null
  }
}

function recordOf(answer: Answer): readonly AnswerRecord[] {
  if (!('class' in answer) || answer.class !== 'IN') return []
  const { name, ttl = 0 } = answer
  const head = { owner: harmlessName(name), ttl: secondsOf(ttl), preference: 0 }
  switch (answer.type) {
    case 'A':
      return [{ ...head, type: 'A', text: answer.data }]
    case 'AAAA':
      return [{ ...head, type: 'AAAA', text: new SocketAddress({ address: answer.data, family: 'ipv6' }).address }]
    case 'CNAME':
    case 'PTR':
      return [{ ...head, type: answer.type, text: harmlessName(answer.data) }]
    case 'MX':
      return [
        { ...head, type: 'MX', text: harmlessName(answer.data.exchange), preference: answer.data.preference ?? 0 },
      ]
    case 'TXT':
      return [{ ...head, type: 'TXT', text: joinedStrings([answer.data].flat()) }]
    default:
      return []
  }
}

function joinedStrings(strings: readonly (string | Buffer)[]): string {
  return strings.map((part) => part.toString('latin1')).join('')
}

/** In the one form in which names of replies are compared and shown. */
export function harmlessName(name: string): string {
  return canonicalName(name).replace(/[^a-z0-9._/*+-]/gu, (odd) =>
    [...Buffer.from(odd)].map((octet) => `\\${String(octet).padStart(3, '0')}`).join(''),
  )
}

function negativeTtlOf(answer: Answer): readonly number[] {
  if (answer.type !== 'SOA') return []
  return [Math.min(secondsOf(answer.ttl ?? 0), secondsOf(answer.data.minimum ?? 0))]
}

/** RFC 2181 section 8: with the highest bit set it means nothing. */
function secondsOf(ttl: number): number {
  return ttl > 0x7fff_ffff ? 0 : ttl
}
