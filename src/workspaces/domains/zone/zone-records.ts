/**
 * The records of the service zone that do not depend on registered domains: its name servers, the hosts that
 * customers' records lead to, and the service's own mail. Pure.
 *
 * We publish only names inside the zone. Each host of the service has the public addresses, an MX and an SPF record,
 * because a customer's mail host is a CNAME to one, and because receivers check the EHLO name too (RFC 7208 section
 * 2.3). A host without addresses has no SPF record, because an empty one would forbid its mail.
 *
 * Limit: we assume that a name server inside the zone is this machine.
 */
import type { Config } from '../../../base/config/complete.js'
import { listConfiguredSources } from '../../../base/config/configured-sources.js'
import { type DomainName, domainOf } from '../../../base/mail/address.js'
import { parseIpAddress } from '../../../base/platform/ip-address.js'
import { buildOwnPolicy } from '../mta-sts/own-policy.js'
import { mailTargetOf } from '../verification/dns-records.js'
import { buildPolicyRecords, listPolicyHosts } from './policy-records.js'

export type RecordData =
  | { readonly type: 'A' | 'AAAA'; readonly address: string }
  | { readonly type: 'NS'; readonly host: string }
  | { readonly type: 'MX'; readonly preference: number; readonly host: string }
  | { readonly type: 'TXT'; readonly text: string }
  | { readonly type: 'CAA'; readonly issuer: string }
  | SoaData

/** RFC 1035 section 3.3.13; times in seconds. */
export interface SoaData {
  readonly type: 'SOA'
  readonly primary: string
  /** A mailbox with a dot in place of `@`. */
  readonly contact: string
  readonly serial: number
  readonly refresh: number
  readonly retry: number
  readonly expire: number
  /** Time to live of negative answers. */
  readonly negativeTtl: number
}

/** Names are in lower case without the last dot. `ttl` is in seconds. */
export interface ZoneRecord {
  readonly name: string
  readonly ttl: number
  readonly data: RecordData
}

export interface SoaRecord extends ZoneRecord {
  readonly data: SoaData
}

export interface ZoneSettings {
  readonly zone: string
  readonly hostname: string
  /** The host of links. */
  readonly linkHost: string
  readonly mxHost: string
  /** The sender of the service's own mail. */
  readonly mailDomain: DomainName
  readonly addresses: readonly string[]
  /** The addresses from which the service sends mail. */
  readonly sendingAddresses: readonly string[]
  /** The EHLO names of single sending addresses. */
  readonly sendingHosts: readonly { readonly name: string; readonly address: string }[]
  readonly nameservers: readonly string[]
  readonly issuers: readonly string[]
  /** The id of our MTA-STS policy. It is null if we publish none. */
  readonly policyId: string | null
  /** Seconds. */
  readonly ttl: number
}

export function toZoneSettings(config: Config): ZoneSettings {
  const { service, dns, outbound } = config
  const { zone, hostname, public_addresses: addresses } = service
  const sources = listConfiguredSources(outbound)
  return {
    zone,
    hostname,
    linkHost: new URL(service.public_url).hostname,
    mxHost: service.inbound_mx_host,
    mailDomain: domainOf(service.mail_from),
    addresses,
    sendingAddresses: [...new Set([...addresses, ...sources.map(({ address }) => address).filter(isPublic)])],
    sendingHosts: sources.flatMap(({ hello, address }) =>
      hello === null || !isPublic(address) ? [] : [{ name: hello, address }],
    ),
    nameservers: dns.nameservers,
    issuers: dns.caa,
    policyId: buildOwnPolicy(config)?.id ?? null,
    ttl: Math.round(dns.ttl / 1000),
  }
}

/** Behind NAT, mail leaves from a private address, which we must not publish. */
function isPublic(address: string): boolean {
  return parseIpAddress(address)?.range() === 'unicast'
}

export function isInside(name: string, zone: string): boolean {
  return name === zone || name.endsWith(`.${zone}`)
}

/** A key of the service itself. */
export interface ServiceKey {
  readonly selector: string
  readonly public_record: string
}

/** All records except the SOA. The apex comes first, then the names in order. */
export function buildFixedRecords(settings: ZoneSettings, keys: readonly ServiceKey[]): readonly ZoneRecord[] {
  return buildServiceRecords(settings, keys).filter(({ name }) => isInside(name, settings.zone))
}

/** The same with records of names that are outside the zone. */
export function buildServiceRecords(settings: ZoneSettings, keys: readonly ServiceKey[]): readonly ZoneRecord[] {
  const { zone, ttl } = settings
  const all = [
    ...buildApexRecords(settings),
    ...buildHostRecords(settings),
    ...buildAddressRecords(settings),
    ...buildServiceMailRecords(settings, keys),
  ]
  const distinct = new Map(all.map(([name, data]) => [`${name} ${JSON.stringify(data)}`, { name, ttl, data }]))
  const rank = (name: string): string => (name === zone ? '' : name)
  return [...distinct.values()].sort((a, b) => (rank(a.name) < rank(b.name) ? -1 : rank(a.name) > rank(b.name) ? 1 : 0))
}

/** Mail goes out and bounces come back without it. */
export function isOptionalRecord({ name, data }: ZoneRecord): boolean {
  return data.type === 'CAA' || /^(?:\*|_dmarc|_smtp\._tls|_?mta-sts)\./.test(name)
}

/** The name below which each domain has its consent to get reports about it. */
export function reportConsentsOf(zone: string): string {
  return `_report._dmarc.${zone}`
}

type NamedData = readonly [name: string, data: RecordData]

function buildApexRecords({ zone, nameservers, issuers }: ZoneSettings): readonly NamedData[] {
  return [
    ...nameservers.map((host): NamedData => [zone, { type: 'NS', host }]),
    ...issuers.map((issuer): NamedData => [zone, { type: 'CAA', issuer }]),
  ]
}

function buildHostRecords(settings: ZoneSettings): readonly NamedData[] {
  const { zone, hostname, mailDomain } = settings
  return [
    ...[zone, hostname, mailTargetOf(zone)].flatMap((name) => [
      ...toAddressRecords(name, settings),
      ...toMailRecords(name, settings),
    ]),
    ...toMailRecords(mailDomain, settings),
    ...settings.sendingHosts.flatMap(({ name, address }) => [
      ...toAddressRecords(name, { addresses: [address] }),
      ...toMailRecords(name, settings),
    ]),
  ]
}

function buildAddressRecords(settings: ZoneSettings): readonly NamedData[] {
  const { zone, mxHost, linkHost, nameservers, policyId } = settings
  return [mxHost, linkHost, ...listPolicyHosts(zone, policyId), ...nameservers].flatMap((name) =>
    toAddressRecords(name, settings),
  )
}

function toAddressRecords(name: string, { addresses }: Pick<ZoneSettings, 'addresses'>): readonly NamedData[] {
  return addresses.map((address) => [name, { type: address.includes(':') ? 'AAAA' : 'A', address }])
}

function toMailRecords(name: string, { mxHost, sendingAddresses }: ZoneSettings): readonly NamedData[] {
  const spf = sendingAddresses.map((address) => `ip${address.includes(':') ? 6 : 4}:${address}`)
  return [
    [name, { type: 'MX', preference: 10, host: mxHost }],
    ...(spf.length === 0 ? [] : [[name, { type: 'TXT', text: `v=spf1 ${spf.join(' ')} -all` }] as const]),
  ]
}

/** The service signs all of its mail, so receivers may reject mail in its name that does not align. */
function buildServiceMailRecords(
  { zone, mailDomain, policyId }: ZoneSettings,
  keys: readonly ServiceKey[],
): readonly NamedData[] {
  const policy = `v=DMARC1; p=reject; rua=mailto:dmarc@${zone}`
  return [
    [`_dmarc.${zone}`, { type: 'TXT', text: policy }],
    [`_dmarc.${mailDomain}`, { type: 'TXT', text: policy }],
    ...buildPolicyRecords(zone, [zone, mailDomain], policyId).map(
      ({ name, text }): NamedData => [name, { type: 'TXT', text }],
    ),
    // This consent allows reports about any domain to addresses of the zone (RFC 7489 section 7.1).
    [`*.${reportConsentsOf(zone)}`, { type: 'TXT', text: 'v=DMARC1' }],
    ...keys.map(
      ({ selector, public_record: text }): NamedData => [`${selector}._domainkey.${mailDomain}`, { type: 'TXT', text }],
    ),
  ]
}

const REFRESH = 900
const RETRY = 300
const EXPIRE = 14 * 86_400
/** Seconds. It is short, so that a query that was too early does not hide a new record for long. */
const NEGATIVE_TTL = 300

export function buildSoaRecord({ zone, hostname, nameservers, ttl }: ZoneSettings, serial: number): SoaRecord {
  const [primary = hostname] = nameservers
  const data: SoaData = {
    type: 'SOA',
    primary,
    contact: `postmaster.${zone}`,
    serial,
    refresh: REFRESH,
    retry: RETRY,
    expire: EXPIRE,
    negativeTtl: Math.min(NEGATIVE_TTL, ttl),
  }
  return { name: zone, ttl, data }
}
