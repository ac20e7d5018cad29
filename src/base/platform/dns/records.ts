/**
 * The records of one section of a DNS message (RFC 1035 section 4.1.3). Pure; throws RangeError if malformed.
 *
 * Records of types that mail does not use are skipped.
 */
import { SocketAddress } from 'node:net'
import { readName } from './name.js'

export interface RawRecord {
  readonly owner: string
  readonly type: number
  readonly class: number
  /** Seconds. */
  readonly ttl: number
  /** Offsets of its data. */
  readonly start: number
  readonly end: number
}

interface Section {
  readonly records: readonly RawRecord[]
  /** Offset of the next section. */
  readonly end: number
}

export function readSection(message: Buffer, start: number, count: number): Section {
  const records: RawRecord[] = []
  let at = start
  for (let left = count; left > 0; left -= 1) {
    const { name: owner, end: head } = readName(message, at)
    const data = head + 10
    at = data + message.readUInt16BE(head + 8)
    if (at > message.length) throw new RangeError('a record that is cut off')
    records.push({
      owner,
      type: message.readUInt16BE(head),
      class: message.readUInt16BE(head + 2),
      ttl: message.readUInt32BE(head + 4),
      start: data,
      end: at,
    })
  }
  return { records, end: at }
}

export function readAddress(message: Buffer, { start, end }: RawRecord, family: 'ipv4' | 'ipv6'): string {
  const octets = message.subarray(start, end)
  if (octets.length !== (family === 'ipv4' ? 4 : 16)) throw new RangeError('an address of another length')
  if (family === 'ipv4') return octets.join('.')
  const groups = Array.from({ length: 8 }, (_, at) => octets.readUInt16BE(at * 2).toString(16))
  return new SocketAddress({ address: groups.join(':'), family }).address
}

/** The name that fills the data from `offset` on. */
export function readNameData(message: Buffer, { start, end }: RawRecord, offset = 0): string {
  const found = readName(message, start + offset)
  if (found.end !== end) throw new RangeError('a name of another length')
  return found.name
}

/** The joined strings of a TXT record, one character per octet. */
export function readStrings(message: Buffer, { start, end }: RawRecord): string {
  const strings: string[] = []
  for (let at = start; at < end; ) {
    const next = at + 1 + message.readUInt8(at)
    if (next > end) throw new RangeError('a string that is cut off')
    strings.push(message.toString('latin1', at + 1, next))
    at = next
  }
  return strings.join('')
}

/** The record as text, such as `0 issue "ca.example.net"` (RFC 8659 section 4.1). */
export function readCaa(message: Buffer, { start, end }: RawRecord): string {
  const value = start + 2 + message.readUInt8(start + 1)
  if (value > end) throw new RangeError('a tag that is cut off')
  const tag = message.toString('latin1', start + 2, value)
  return `${message.readUInt8(start)} ${tag} "${message.toString('latin1', value, end)}"`
}

/** The record as text, such as `3 1 1 0123abcd…` (RFC 6698 section 2.2). */
export function readTlsa(message: Buffer, { start, end }: RawRecord): string {
  if (end - start < 3) throw new RangeError('a TLSA record that is cut off')
  const [usage, selector, matching] = [start, start + 1, start + 2].map((at) => message.readUInt8(at))
  return `${usage} ${selector} ${matching} ${message.toString('hex', start + 3, end)}`
}

/** The last field of an SOA record (RFC 2308 section 4). */
export function readSoaMinimum(message: Buffer, { start, end }: RawRecord): number {
  const numbers = readName(message, readName(message, start).end).end
  if (numbers + 20 !== end) throw new RangeError('an SOA record of another length')
  return message.readUInt32BE(end - 4)
}
