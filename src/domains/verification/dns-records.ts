/**
 * What a customer publishes for a sending domain: three CNAMEs into the service zone,
 * where we publish what they stand for, so that keys can change without the customer.
 *
 *   posthorn.<domain>            -> mail.<zone>                     return paths and tracking links
 *   dkim1._domainkey.<domain>    -> dkim1.<label>._domainkey.<zone>
 *   dkim2._domainkey.<domain>    -> dkim2.<label>._domainkey.<zone>
 *
 * `label` belongs to this registration alone: CNAMEs that somebody left behind, or that
 * another workspace had published, prove nothing for whoever registers the name next.
 */

import type { RecordPurpose } from '../../storage/tables/domain-tables.js'
import { selectors } from '../dkim/signing-keys.js'
import { mailHostOf, type SendingDomain } from '../sending-domains.js'

export interface DnsRecord {
  readonly type: 'CNAME'
  readonly name: string
  readonly value: string
  readonly purpose: RecordPurpose
}

/** The host whose addresses, MX and SPF every mail host of a customer stands for. */
export function mailTargetOf(zone: string): string {
  return `mail.${zone}`
}

/** Where in the service zone a key of that registration is published. */
export function keyTargetOf({ id }: Pick<SendingDomain, 'id'>, selector: string, zone: string): string {
  return `${selector}.${labelOf(id)}._domainkey.${zone}`
}

/** The random part of a UUIDv7. */
function labelOf(id: string): string {
  return id.replaceAll('-', '').slice(-20)
}

export function dnsRecordsOf(row: Pick<SendingDomain, 'id' | 'domain'>, zone: string): DnsRecord[] {
  return [
    { type: 'CNAME', name: mailHostOf(row.domain), value: mailTargetOf(zone), purpose: 'mail_cname' },
    ...selectors.map((selector) => ({
      type: 'CNAME' as const,
      name: `${selector}._domainkey.${row.domain}`,
      value: keyTargetOf(row, selector, zone),
      purpose: selector,
    })),
  ]
}
