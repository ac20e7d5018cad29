/** A sending domain as answers show it: the interface's form, for the command line and the API. */
import { timestamp } from '../platform/clock.js'
import type { Read } from '../storage/prepared.js'
import { blockedKeys } from './blocked-addresses.js'
import { type DnsRecord, dnsRecords } from './dns-records.js'
import type { SendingDomain } from './sending-domains.js'

export interface DomainResource {
  readonly id: string
  readonly domain: string
  readonly status: SendingDomain['status']
  readonly inbound: boolean
  readonly dns_records: readonly (DnsRecord & { readonly status: 'pending' | 'verified' })[]
  readonly created_at: string
  readonly verified_at: string | null
}

export function domainResource(row: SendingDomain, zone: string): DomainResource {
  const status = row.status === 'verified' ? 'verified' : 'pending'
  return {
    id: row.id,
    domain: row.domain,
    status: row.status,
    inbound: row.inbound === 1,
    dns_records: dnsRecords(row, zone).map((record) => ({ ...record, status })),
    created_at: timestamp(row.created_at),
    verified_at: row.verified_at === null ? null : timestamp(row.verified_at),
  }
}

/** What is shown of one domain alone, beyond what a list shows. */
export interface DomainDetails extends DomainResource {
  readonly blocked_addresses: readonly string[]
}

export function domainDetails(read: Read, row: SendingDomain, zone: string): DomainDetails {
  const blocked = blockedKeys(read, row).map((localPart) => `${localPart}@${row.domain}`)
  return { ...domainResource(row, zone), blocked_addresses: blocked }
}
