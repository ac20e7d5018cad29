/** Finds which records DNS does not have yet. It changes nothing. */
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
}

/** The required ones of `records` that are missing. The proofs of the domain are judged as its verification does. */
export async function findMissingRecords(
  { read, resolver, names }: SearchDeps,
  row: SendingDomain,
  records: readonly PublishedRecord[],
): Promise<readonly MissingRecord[]> {
  const keys = dkimKeysOf(read, { workspaceId: row.workspace_id, domain: row.domain })
  const proofs = judgeRecords(await lookUpRecords(resolver, row, names), row, keys, names)
  const stateOf = async (record: PublishedRecord): Promise<'there' | 'missing' | 'unanswered'> => {
    const proof = proofs.find(({ name, type }) => name === record.name && type === record.type)
    if (proof === undefined) return findRecord(resolver, record)
    return proof.state === 'unknown' ? 'unanswered' : proof.state === 'failed' ? 'missing' : 'there'
  }
  const required = records.filter((record) => record.required)
  const states = await Promise.all(required.map(stateOf))
  return required.flatMap((record, at) => {
    const state = states[at]
    return state === 'there' ? [] : [{ record, unanswered: state === 'unanswered' }]
  })
}

async function findRecord(
  resolver: DomainResolver,
  { name, type, value }: PublishedRecord,
): Promise<'there' | 'missing' | 'unanswered'> {
  if (type === 'SOA') return 'there'
  const lookup = await lookUpValues(resolver, name, type)
  if (lookup.kind === 'failure') return 'unanswered'
  const found = lookup.kind === 'records' ? lookup.records : []
  if (value.startsWith('v=DKIM1')) return holdsKey(found, value) ? 'there' : 'missing'
  const isFound = found.some((one) => toComparable(type, one) === toComparable(type, value))
  return isFound ? 'there' : 'missing'
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
