/**
 * Lists what a customer publishes for a sending domain: three CNAMEs into the service zone. We publish their targets,
 * so keys can change without the customer.
 *
 *   posthorn.<domain>            -> mail.<zone>                     return paths and tracking links; <zone> itself if it
 *                                                                   begins with `mail.`
 *   dkim1._domainkey.<domain>    -> dkim1.<label>._domainkey.<zone>
 *   dkim2._domainkey.<domain>    -> dkim2.<label>._domainkey.<zone>
 *
 * `label` belongs to this registration only: CNAMEs left over from an earlier registration, or published for another
 * workspace, prove nothing for the next one.
 */
import { hostInZone } from '../../../base/config/complete.js'
import type { RecordPurpose } from '../../../base/storage/tables/domain-tables.js'
import { selectors } from '../dkim/signing-keys.js'
import { mailHostOf, type SendingDomain } from '../rows/sending-domains.js'

export interface DnsRecord {
  readonly type: 'CNAME'
  readonly name: string
  readonly value: string
  readonly purpose: RecordPurpose
}

/** The CNAME target of every customer's mail host. It has addresses, MX and SPF. */
export function mailTargetOf(zone: string): string {
  return hostInZone('mail', zone)
}

/** The name in the service zone at which a key of the registration is published. */
export function keyTargetOf({ id }: Pick<SendingDomain, 'id'>, selector: string, zone: string): string {
  return `${selector}.${labelOf(id)}._domainkey.${zone}`
}

/** The random part of a UUIDv7. */
function labelOf(id: string): string {
  return id.replaceAll('-', '').slice(-20)
}

/** The DMARC record that we suggest for a domain. Its reports come to us. Verification accepts any policy. */
export function suggestDmarcPolicy(zone: string): string {
  return `v=DMARC1; p=none; rua=mailto:dmarc@${zone}`
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
