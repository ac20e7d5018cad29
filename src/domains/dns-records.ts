/**
 * What a customer publishes for a sending domain: three CNAMEs into the service zone,
 * where we publish what they stand for, so that keys can change without the customer.
 *
 *   posthorn.<domain>            -> mail.<zone>                     return paths and tracking links
 *   dkim1._domainkey.<domain>    -> dkim1.<domain>._domainkey.<zone>
 *   dkim2._domainkey.<domain>    -> dkim2.<domain>._domainkey.<zone>
 */
import { mailHost } from './sending-domains.js'
import { selectors } from './signing-keys.js'

export interface DnsRecord {
  readonly type: 'CNAME'
  readonly name: string
  readonly value: string
  readonly purpose: 'mail_cname' | (typeof selectors)[number]
}

export function dnsRecords(domain: string, zone: string): DnsRecord[] {
  return [
    { type: 'CNAME', name: mailHost(domain), value: `mail.${zone}`, purpose: 'mail_cname' },
    ...selectors.map((selector) => ({
      type: 'CNAME' as const,
      name: `${selector}._domainkey.${domain}`,
      value: `${selector}.${domain}._domainkey.${zone}`,
      purpose: selector,
    })),
  ]
}
