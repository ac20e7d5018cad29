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

export function formatZoneLine({ name, ttl, data }: ZoneRecord): string {
  return `${name}. ${ttl} IN ${data.type} ${formatData(data)}`
}

function formatData(data: RecordData): string {
  switch (data.type) {
    case 'TXT':
      return splitTxtStrings(data.text).map(quoteString).join(' ')
    case 'CAA':
      return `0 issue ${quoteString(data.issuer)}`
    case 'NS':
      return `${data.host}.`
    case 'MX':
      return `${data.preference} ${data.host}.`
    case 'SOA':
      return `${data.primary}. ${data.contact}. ${formatSoaNumbers(data)}`
    case 'A':
    case 'AAAA':
      return data.address
    default:
      return assertNever(data)
  }
}

function quoteString(text: string): string {
  return `"${text.replace(/["\\]/g, '\\$&')}"`
}

function formatSoaNumbers({ serial, refresh, retry, expire, negativeTtl }: SoaData): string {
  return [serial, refresh, retry, expire, negativeTtl].join(' ')
}

interface PlainRecord {
  readonly name: string
  readonly type: RecordData['type']
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
      return `${data.primary} ${data.contact} ${formatSoaNumbers(data)}`
    case 'A':
    case 'AAAA':
      return data.address
    default:
      return assertNever(data)
  }
}
