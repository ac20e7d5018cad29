/**
 * Asks DNS for what a sending domain should publish; says nothing about what it means.
 *
 * A name that is a CNAME to our target needs no further question. For any other the question
 * is what stands there in the end: many DNS hosts follow a CNAME themselves and publish what
 * it leads to, and some people copy our records by hand.
 * At most twelve questions for a domain.
 */
import type { Lookup, MxRecord, RecordResolver, Resolver } from '../../platform/dns/resolver.js'
import { mailHost, type SendingDomain } from '../sending-domains.js'
import { mailTarget, type Selector } from './dns-records.js'

/** What of the service's names the records of domains lead to. */
export interface ZoneNames {
  readonly zone: string
  readonly inbound_mx_host: string
}

export type AskDns = Pick<RecordResolver, 'records'> & Resolver

export interface KeyAnswers {
  readonly cname: Lookup<string>
  readonly txt: Lookup<string>
}

export interface MailHostAnswers {
  readonly cname: Lookup<string>
  /** Null: the CNAME says all, or there is nothing. */
  readonly content: {
    readonly mx: Lookup<MxRecord>
    readonly txt: Lookup<string>
    readonly addresses: Lookup<string>
    readonly targetTxt: Lookup<string>
    readonly targetAddresses: Lookup<string>
  } | null
}

export interface DomainAnswers {
  readonly mailHost: MailHostAnswers
  readonly keys: Readonly<Record<Selector, KeyAnswers>>
  /** Null: it takes no mail in. */
  readonly inboundMx: Lookup<MxRecord> | null
  readonly dmarc: Lookup<string>
}

export async function lookUpRecords(ask: AskDns, row: SendingDomain, { zone }: ZoneNames): Promise<DomainAnswers> {
  const { domain } = row
  const [host, dkim1, dkim2, inboundMx, dmarc] = await Promise.all([
    lookUpMailHost(ask, mailHost(domain), mailTarget(zone)),
    lookUpKey(ask, domain, 'dkim1'),
    lookUpKey(ask, domain, 'dkim2'),
    row.inbound === 1 ? ask.mx(domain) : null,
    ask.records(dmarcName(domain), 'TXT'),
  ])
  return { mailHost: host, keys: { dkim1, dkim2 }, inboundMx, dmarc }
}

export function dmarcName(domain: string): string {
  return `_dmarc.${domain}`
}

export async function lookUpKey(ask: AskDns, domain: string, selector: Selector): Promise<KeyAnswers> {
  const name = `${selector}._domainkey.${domain}`
  const [cname, txt] = await Promise.all([ask.records(name, 'CNAME'), ask.records(name, 'TXT')])
  return { cname, txt }
}

async function lookUpMailHost(ask: AskDns, host: string, target: string): Promise<MailHostAnswers> {
  const cname = await ask.records(host, 'CNAME')
  if (cname.kind === 'failure' || cname.kind === 'no-domain' || leadsTo(cname, target)) return { cname, content: null }
  const [mx, txt, addresses, targetTxt, targetAddresses] = await Promise.all([
    ask.mx(host),
    ask.records(host, 'TXT'),
    ask.addresses(host),
    ask.records(target, 'TXT'),
    ask.addresses(target),
  ])
  return { cname, content: { mx, txt, addresses, targetTxt, targetAddresses } }
}

/** Whether a CNAME is there and is ours. */
export function leadsTo(cname: Lookup<string>, target: string): boolean {
  return (
    cname.kind === 'records' && cname.records.length === 1 && cname.records[0].toLowerCase() === target.toLowerCase()
  )
}
