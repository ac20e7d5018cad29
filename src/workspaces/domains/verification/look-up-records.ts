/**
 * Queries DNS for the records of a sending domain, without judging them.
 *
 * A name with a CNAME to our target needs no further query. For any other name we query the final records, because
 * many DNS hosts flatten CNAMEs, and some customers copy our records by hand. A domain takes at most thirteen
 * queries.
 */
import type { LookupResult, MxRecord, RecordResolver, Resolver } from '../../../base/platform/dns/resolver.js'
import type { Selector } from '../../../base/storage/tables/domain-tables.js'
import { policyHostOf } from '../mta-sts/own-policy.js'
import { mailHostOf, type SendingDomain } from '../rows/sending-domains.js'
import { mailTargetOf } from './dns-records.js'

/** The names of the service to which the records of domains lead. */
export interface ZoneNames {
  readonly zone: string
  readonly inbound_mx_host: string
}

export type DomainResolver = Pick<RecordResolver, 'resolveRecords'> & Resolver

export interface KeyAnswers {
  readonly cname: LookupResult<string>
  readonly txt: LookupResult<string>
}

export interface MailHostAnswers {
  readonly cname: LookupResult<string>
  /** Null means that the CNAME is enough, or that there is nothing. */
  readonly content: {
    readonly mx: LookupResult<MxRecord>
    readonly txt: LookupResult<string>
    readonly addresses: LookupResult<string>
    readonly targetTxt: LookupResult<string>
    readonly targetAddresses: LookupResult<string>
  } | null
}

export interface DomainAnswers {
  readonly mailHost: MailHostAnswers
  readonly keys: Readonly<Record<Selector, KeyAnswers>>
  /** Null means that the domain does not receive mail. */
  readonly inboundMx: LookupResult<MxRecord> | null
  readonly dmarc: LookupResult<string>
  /** The CNAME of the host of its MTA-STS policy. It is null if the domain does not receive mail. */
  readonly policyHost: LookupResult<string> | null
}

export async function lookUpRecords(
  resolver: DomainResolver,
  row: SendingDomain,
  { zone }: ZoneNames,
): Promise<DomainAnswers> {
  const { domain } = row
  const [host, dkim1, dkim2, inboundMx, dmarc, policyHost] = await Promise.all([
    lookUpMailHost(resolver, mailHostOf(domain), mailTargetOf(zone)),
    lookUpKey(resolver, domain, 'dkim1'),
    lookUpKey(resolver, domain, 'dkim2'),
    row.inbound === 1 ? resolver.resolveMx(domain) : null,
    resolver.resolveRecords(dmarcNameOf(domain), 'TXT'),
    row.inbound === 1 ? resolver.resolveRecords(policyHostOf(domain), 'CNAME') : null,
  ])
  return { mailHost: host, keys: { dkim1, dkim2 }, inboundMx, dmarc, policyHost }
}

export function dmarcNameOf(domain: string): string {
  return `_dmarc.${domain}`
}

export async function lookUpKey(resolver: DomainResolver, domain: string, selector: Selector): Promise<KeyAnswers> {
  const name = `${selector}._domainkey.${domain}`
  const [cname, txt] = await Promise.all([resolver.resolveRecords(name, 'CNAME'), resolver.resolveRecords(name, 'TXT')])
  return { cname, txt }
}

async function lookUpMailHost(resolver: DomainResolver, host: string, target: string): Promise<MailHostAnswers> {
  const cname = await resolver.resolveRecords(host, 'CNAME')
  if (cname.kind === 'failure' || cname.kind === 'no-domain' || pointsTo(cname, target)) return { cname, content: null }
  const [mx, txt, addresses, targetTxt, targetAddresses] = await Promise.all([
    resolver.resolveMx(host),
    resolver.resolveRecords(host, 'TXT'),
    resolver.resolveAddresses(host),
    resolver.resolveRecords(target, 'TXT'),
    resolver.resolveAddresses(target),
  ])
  return { cname, content: { mx, txt, addresses, targetTxt, targetAddresses } }
}

/** Tells whether there is a CNAME to our target. */
export function pointsTo(cname: LookupResult<string>, target: string): boolean {
  return (
    cname.kind === 'records' && cname.records.length === 1 && cname.records[0].toLowerCase() === target.toLowerCase()
  )
}
