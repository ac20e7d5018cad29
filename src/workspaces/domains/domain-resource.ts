/** A sending domain in the form of the interface, for the command line and the API. */
import { formatTimestamp } from '../../base/platform/clock.js'
import type { Read } from '../../base/storage/db/prepared.js'
import type { InboundPolicy, RecordState, Selector } from '../../base/storage/tables/domain-tables.js'
import { findIdleSelector } from './dkim/rotation-step.js'
import { type DkimKeyRow, dkimKeysOf } from './dkim/signing-keys.js'
import { parseInboundPolicy } from './rows/inbound-policy.js'
import { type SendingDomain, toSwitch } from './rows/sending-domains.js'
import { listBlockedLocalParts } from './verification/blocked-addresses.js'
import { GRACE_PERIOD, parseRecordStates } from './verification/check-outcome.js'
import { type DnsRecord, dnsRecordsOf, suggestDmarcPolicy } from './verification/dns-records.js'
import { dmarcNameOf, type ZoneNames } from './verification/look-up-records.js'
import { type Placed, placeRecord, zoneNameOf } from './verification/record-place.js'
import { listTlsRecords, type TlsRecord } from './zone/policy-records.js'

interface DomainResource {
  readonly id: string
  readonly domain: string
  readonly status: SendingDomain['status']
  /** The operator has verified it without DNS. */
  readonly forced: boolean
  readonly inbound: boolean
  readonly dns_records: readonly Placed<DnsRecord & { readonly status: RecordState }>[]
  readonly created_at: string
  readonly verified_at: string | null
}

export function toDomainResource(row: SendingDomain, zone: string): DomainResource {
  const states = parseRecordStates(row)
  return {
    id: row.id,
    domain: row.domain,
    status: row.status,
    forced: row.forced === 1,
    inbound: row.inbound === 1,
    dns_records: dnsRecordsOf(row, zone).map((record) =>
      placeRecord({ ...record, status: states[record.purpose] ?? 'pending' }, row.domain),
    ),
    created_at: formatTimestamp(row.created_at),
    verified_at: timestampOrNull(row.verified_at),
  }
}

interface SuggestedRecord<Type> {
  readonly type: Type
  readonly name: string
  readonly value: string
  readonly status: RecordState
}

/** A key as the TXT record that could replace its CNAME. */
interface DkimKeyResource {
  readonly selector: string
  readonly name: string
  readonly txt: string
  readonly signing: boolean
}

/** A rotation under way to the other key. */
export interface RotationResource {
  readonly selector: Selector
  /**
   * `retiring` means that its old key is still needed. `publishing` means that DNS does not show its new key yet, or
   * not for long enough.
   */
  readonly state: 'retiring' | 'publishing'
  readonly asked_at: string
}

/** What the record of one domain shows beyond its entry in a list. */
export interface DomainDetails extends DomainResource {
  /** The registered domain, whose zone has the records. */
  readonly dns_zone: string
  /** You need this record only to receive mail. */
  readonly mx_record: Placed<SuggestedRecord<'MX'>> & { readonly priority: 10 }
  /** Posthorn does not need this record, but receivers expect one. */
  readonly dmarc_record: Placed<SuggestedRecord<'TXT'>>
  /**
   * Records for TLS on the way to a domain that receives mail. Posthorn does not need them, and verification never
   * checks them.
   */
  readonly tls_records: readonly Placed<TlsRecord>[]
  readonly dkim_keys: readonly Placed<DkimKeyResource>[]
  readonly tracking: { readonly open: boolean | null; readonly click: boolean | null }
  readonly blocked_addresses: readonly string[]
  readonly inbound_policy: InboundPolicy
  readonly rotation: RotationResource | null
  readonly checked_at: string | null
  /** When sending stops because DNS no longer shows the records. It is null while they are valid. */
  readonly fails_at: string | null
}

export async function readDomainDetails(read: Read, row: SendingDomain, names: ZoneNames): Promise<DomainDetails> {
  const { domain, workspace_id: workspaceId, status, unproved_since: since } = row
  const states = parseRecordStates(row)
  const keys = await dkimKeysOf(read, { workspaceId, domain })
  return {
    ...toDomainResource(row, names.zone),
    dns_zone: zoneNameOf(domain),
    mx_record: placeRecord(
      { type: 'MX', name: domain, value: names.inbound_mx_host, priority: 10, status: states.mx ?? 'pending' } as const,
      domain,
    ),
    dmarc_record: placeRecord(
      {
        type: 'TXT',
        name: dmarcNameOf(domain),
        value: suggestDmarcPolicy(names.zone),
        status: states.dmarc ?? 'pending',
      } as const,
      domain,
    ),
    tls_records: listTlsRecords(domain, names.zone).map((record) => placeRecord(record, domain)),
    dkim_keys: keys.map((key) => placeRecord(toDkimKeyResource(key, domain), domain)),
    tracking: { open: toSwitch(row.track_opens), click: toSwitch(row.track_clicks) },
    blocked_addresses: (await listBlockedLocalParts(read, row)).map((localPart) => `${localPart}@${domain}`),
    inbound_policy: parseInboundPolicy(row.inbound_policy),
    rotation: row.rotation_asked_at === null ? null : toRotationResource(keys, row.rotation_asked_at),
    checked_at: timestampOrNull(row.checked_at),
    fails_at: status === 'verified' && since !== null ? formatTimestamp(since + GRACE_PERIOD) : null,
  }
}

function toDkimKeyResource({ selector, public_record: txt, signing }: DkimKeyRow, domain: string): DkimKeyResource {
  return { selector, name: `${selector}._domainkey.${domain}`, txt, signing: signing === 1 }
}

function toRotationResource(keys: readonly DkimKeyRow[], askedAt: number): RotationResource {
  const selector = findIdleSelector(keys)
  const retires = keys.some((key) => key.selector === selector && key.retired_at !== null)
  return { selector, state: retires ? 'retiring' : 'publishing', asked_at: formatTimestamp(askedAt) }
}

function timestampOrNull(at: number | null): string | null {
  return at === null ? null : formatTimestamp(at)
}
