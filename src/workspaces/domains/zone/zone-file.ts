/**
 * Writes records of the service zone as text: in the form of a zone file (RFC 1035 section 5.1), and as values.
 *
 * Names are absolute, so you can put the lines into the file of another zone unchanged.
 */
import { assertNever } from '../../../base/mail/assert-never.js'
import type { RecordData, SoaData, ZoneRecord } from './zone-records.js'

/** Octets of one string of a TXT record. */
const MAX_STRING_LENGTH = 255

/** We publish only ASCII. */
export function splitTxtStrings(text: string): readonly string[] {
  return text.match(new RegExp(`.{1,${MAX_STRING_LENGTH}}`, 'gs')) ?? ['']
}

export function formatZoneLine(record: ZoneRecord): string {
  return formatPlainLine(toPlainRecord(record))
}

export function formatPlainLine({ name, ttl, type, value }: PlainRecord): string {
  return `${name}. ${ttl} IN ${type} ${formatValue(type, value)}`
}

/** Host names in a zone file end with a dot, and texts are strings in quotes. */
function formatValue(type: PlainRecord['type'], value: string): string {
  switch (type) {
    case 'TXT':
      return splitTxtStrings(value).map(quoteString).join(' ')
    case 'SOA':
      return value
        .split(' ')
        .map((part, at) => (at < 2 ? `${part}.` : part))
        .join(' ')
    case 'NS':
    case 'MX':
    case 'CNAME':
    case 'PTR':
      return `${value}.`
    case 'A':
    case 'AAAA':
    case 'CAA':
      return value
    default:
      return assertNever(type)
  }
}

function quoteString(text: string): string {
  return `"${text.replace(/["\\]/g, '\\$&')}"`
}

function formatSoa({ primary, contact, serial, refresh, retry, expire, negativeTtl }: SoaData): string {
  return [primary, contact, serial, refresh, retry, expire, negativeTtl].join(' ')
}

/** CNAME and PTR records are in zones of others, never in ours. */
export interface PlainRecord {
  readonly name: string
  readonly type: RecordData['type'] | 'CNAME' | 'PTR'
  readonly ttl: number
  readonly value: string
}

/** The names have no last dot, and the text of a TXT record is in one piece. */
export function toPlainRecord({ name, ttl, data }: ZoneRecord): PlainRecord {
  return { name, type: data.type, ttl, value: formatPlainValue(data) }
}

function formatPlainValue(data: RecordData): string {
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
      return formatSoa(data)
    case 'A':
    case 'AAAA':
      return data.address
    default:
      return assertNever(data)
  }
}
