/** Finds which records DNS does not have yet, or has with another value. It changes nothing. */
import { formatForDisplay } from '../../base/mail/address.js'
import type { LookupResult, RecordType } from '../../base/platform/dns/resolver.js'
import { parseIpAddress } from '../../base/platform/ip-address.js'
import type { Read } from '../../base/storage/db/prepared.js'
import { holdsKey } from './dkim/key-record.js'
import { dkimKeysOf } from './dkim/signing-keys.js'
import type { SendingDomain } from './rows/sending-domains.js'
import { judgeRecords } from './verification/judge-records.js'
import { type DomainResolver, lookUpRecords, type ZoneNames } from './verification/look-up-records.js'
import type { PublishedRecord } from './zone/publication.js'

interface SearchDeps {
  readonly read: Read
  readonly resolver: DomainResolver
  readonly names: ZoneNames
}

export interface MissingRecord {
  readonly record: PublishedRecord
  /** No server answered. The record may be there. */
  readonly unanswered: boolean
  /** What is there in its place, shortened. Null if there is nothing. */
  readonly found: string | null
}

interface RecordState {
  readonly kind: 'there' | 'missing' | 'unanswered'
  readonly found: string | null
}

/** The required ones of `records` that are missing or wrong. The proofs of the domain are judged as its verification does. */
export async function findMissingRecords(
  { read, resolver, names }: SearchDeps,
  row: SendingDomain,
  records: readonly PublishedRecord[],
): Promise<readonly MissingRecord[]> {
  const keys = await dkimKeysOf(read, { workspaceId: row.workspace_id, domain: row.domain })
  const proofs = judgeRecords(await lookUpRecords(resolver, row, names), row, keys, names)
  const stateOf = async (record: PublishedRecord): Promise<RecordState> => {
    const proof = proofs.find(({ name, type }) => name === record.name && type === record.type)
    if (proof === undefined) return findRecord(resolver, record)
    if (proof.state === 'unknown') return unanswered
    return proof.state === 'failed' ? { kind: 'missing', found: proof.found } : there
  }
  const required = records.filter((record) => record.required)
  const states = await Promise.all(required.map(stateOf))
  return required.flatMap((record, at) => {
    const { kind, found } = states[at] ?? there
    return kind === 'there' ? [] : [{ record, unanswered: kind === 'unanswered', found }]
  })
}

const there: RecordState = { kind: 'there', found: null }
const unanswered: RecordState = { kind: 'unanswered', found: null }

async function findRecord(resolver: DomainResolver, { name, type, value }: PublishedRecord): Promise<RecordState> {
  if (type === 'SOA') return there
  const lookup = await lookUpValues(resolver, name, type)
  if (lookup.kind === 'failure') return unanswered
  const found = lookup.kind === 'records' ? lookup.records : []
  const isFound = value.startsWith('v=DKIM1')
    ? holdsKey(found, value)
    : found.some((one) => toComparable(type, one) === toComparable(type, value))
  return isFound ? there : { kind: 'missing', found: describeOthers(type, value, found) }
}

/** A name may have TXT records for other purposes, so only one with the same beginning (`v=spf1`) stands in place of ours. */
function describeOthers(type: RecordType | 'MX', value: string, found: readonly string[]): string | null {
  const [beginning = ''] = value.split(/[ ;]/, 1)
  const others = type === 'TXT' ? found.filter((one) => one.startsWith(beginning)) : found
  return others.length === 0 ? null : formatForDisplay(others.join(', '))
}

/** The values in the form of `toPlainRecord`. */
export async function lookUpValues(
  resolver: Pick<DomainResolver, 'resolveRecords' | 'resolveMx'>,
  name: string,
  type: RecordType | 'MX',
): Promise<LookupResult<string>> {
  if (type !== 'MX') return resolver.resolveRecords(name, type)
  const found = await resolver.resolveMx(name)
  if (found.kind !== 'records') return found
  const [first, ...others] = found.records.map(({ preference, exchange }) => `${preference} ${exchange}`)
  return { kind: 'records', records: [first ?? '', ...others] }
}

/** A value in the form in which equal records are equal. */
export function toComparable(type: RecordType | 'MX', value: string): string {
  if (type === 'A' || type === 'AAAA') return parseIpAddress(value)?.toString() ?? value
  return type === 'TXT' || type === 'CAA' ? value : value.toLowerCase()
}
