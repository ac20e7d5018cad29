/**
 * Records of the service zone as text: in the form of a zone file (RFC 1035 section 5.1), and as values.
 *
 * Names are absolute, so that the lines may be put into another zone's file as they are.
 */
import { assertNever } from '../../mail/assert-never.js'
import type { RecordData, SoaData, ZoneRecord } from './zone-records.js'

/** Octets of one string of a TXT record. */
const LONGEST_STRING = 255

/** What we publish is ASCII. */
export function textStrings(text: string): readonly string[] {
  return text.match(new RegExp(`.{1,${LONGEST_STRING}}`, 'gs')) ?? ['']
}

export function zoneLine({ name, ttl, data }: ZoneRecord): string {
  return `${name}. ${ttl} IN ${data.type} ${written(data)}`
}

function written(data: RecordData): string {
  switch (data.type) {
    case 'TXT':
      return textStrings(data.text).map(quoted).join(' ')
    case 'CAA':
      return `0 issue ${quoted(data.issuer)}`
    case 'NS':
      return `${data.host}.`
    case 'MX':
      return `${data.preference} ${data.host}.`
    case 'SOA':
      return `${data.primary}. ${data.contact}. ${numbers(data)}`
    case 'A':
    case 'AAAA':
      return data.address
    default:
      return assertNever(data)
  }
}

function quoted(text: string): string {
  return `"${text.replace(/["\\]/g, '\\$&')}"`
}

function numbers({ serial, refresh, retry, expire, negative }: SoaData): string {
  return [serial, refresh, retry, expire, negative].join(' ')
}

export interface PlainRecord {
  readonly name: string
  readonly type: RecordData['type']
  readonly ttl: number
  readonly value: string
}

/** Names without the last dot, the text of a TXT record in one piece. */
export function plainRecord({ name, ttl, data }: ZoneRecord): PlainRecord {
  return { name, type: data.type, ttl, value: plainValue(data) }
}

function plainValue(data: RecordData): string {
  switch (data.type) {
    case 'TXT':
      return data.text
    case 'CAA':
      return `0 issue "${data.issuer}"`
    case 'NS':
      return data.host
    case 'MX':
      return `${data.preference} ${data.host}`
    case 'SOA':
      return `${data.primary} ${data.contact} ${numbers(data)}`
    case 'A':
    case 'AAAA':
      return data.address
    default:
      return assertNever(data)
  }
}
