/** The records of a domain as text: lines to copy, and a zone file (RFC 1035) that DNS providers import. */
import type { Domain } from './domain.ts'

interface PublishedRecord {
  readonly type: 'CNAME' | 'MX' | 'TXT'
  readonly name: string
  readonly relative_name: string
  /** `10 mx.example.net` for an MX record. */
  readonly value: string
  /** Verification, or receiving that is on, needs it. */
  readonly required: boolean
}

/** Octets of one string of a TXT record. */
const MAX_STRING = 255
/** Seconds. */
const TTL = 3_600

export function listRecords({ dns_records: proofs, mx_record: mx, ...domain }: Domain): readonly PublishedRecord[] {
  const optional = [domain.dmarc_record, ...domain.tls_records]
  return [
    ...proofs.map((record) => ({ ...record, required: true })),
    { ...mx, value: `${mx.priority} ${mx.value}`, required: domain.inbound },
    ...optional.map((record) => ({ ...record, required: false })),
  ]
}

/** One line for each required record, with the columns of a spreadsheet. */
export function formatLines(records: readonly PublishedRecord[]): string {
  const rows = records.map(({ type, relative_name: short, name, value }) => [type, short, name, value])
  return [['Type', 'Name', 'Full name', 'Value'], ...rows].map((cells) => cells.join('\t')).join('\n')
}

/** Records that are not required are comments. */
export function formatZoneFile(zone: string, records: readonly PublishedRecord[]): string {
  const lines = records.map((record) => `${record.required ? '' : '; '}${formatLine(record)}`)
  const remark = '; Lines that begin with a semicolon are optional. Remove the semicolon to publish them.'
  return [`$ORIGIN ${zone}.`, `$TTL ${TTL}`, ...lines, remark, ''].join('\n')
}

function formatLine({ type, relative_name: name, value }: PublishedRecord): string {
  return `${name} IN ${type} ${type === 'TXT' ? quote(value) : `${value}.`}`
}

function quote(text: string): string {
  const strings = text.match(new RegExp(`.{1,${MAX_STRING}}`, 'gs')) ?? ['']
  return strings.map((part) => `"${part.replace(/["\\]/g, '\\$&')}"`).join(' ')
}
