/**
 * What the service zone holds whatever domains are registered: its servers, the hosts that customers'
 * records lead to, and the service's own mail. Pure.
 *
 * Only names inside the zone are published; whatever else the configuration names lies elsewhere and is its
 * owner's. Each host of the service has the public addresses, an MX and an SPF record: for a customer's mail host
 * is a CNAME to one, and the name at EHLO is checked too (RFC 7208 section 2.3). A host without
 * addresses has no SPF record rather than one that forbids its mail.
 *
 * Known limit: a name server inside the zone is this machine.
 */
import ipaddr from 'ipaddr.js'
import type { Config } from '../../config/complete.js'
import { domainOf, parseAddress } from '../../mail/address.js'
import { mailTarget } from '../verification/dns-records.js'

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
  /** A mailbox, its `@` a dot. */
  readonly contact: string
  readonly serial: number
  readonly refresh: number
  readonly retry: number
  readonly expire: number
  /** For how long it is remembered that something is not there. */
  readonly negative: number
}

/** Names are lower case without the last dot; `ttl` in seconds. */
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
  /** Where links lead. */
  readonly linkHost: string
  readonly mxHost: string
  /** Of the service's own mail. */
  readonly mailDomain: string
  readonly addresses: readonly string[]
  /** Where mail leaves from. */
  readonly senders: readonly string[]
  readonly nameservers: readonly string[]
  readonly issuers: readonly string[]
  /** Seconds. */
  readonly ttl: number
}

export function zoneSettings({ service, dns, outbound }: Config): ZoneSettings {
  const { zone, hostname, public_addresses: addresses } = service
  return {
    zone,
    hostname,
    linkHost: new URL(service.public_url).hostname,
    mxHost: service.inbound_mx_host,
    mailDomain: domainOf(parseAddress(service.mail_from)),
    addresses,
    senders: [...addresses, ...outbound.source_addresses.filter(isPublic)],
    nameservers: dns.nameservers,
    issuers: dns.caa,
    ttl: Math.round(dns.ttl / 1000),
  }
}

/** Behind a translator of addresses mail leaves from a private one, which nobody else sees. */
function isPublic(address: string): boolean {
  return ipaddr.process(address).range() === 'unicast'
}

export function isInside(name: string, zone: string): boolean {
  return name === zone || name.endsWith(`.${zone}`)
}

/** A key of the service itself. */
export interface ServiceKey {
  readonly selector: string
  readonly public_record: string
}

/** All but the SOA record: the apex first, then by name. */
export function fixedRecords(settings: ZoneSettings, keys: readonly ServiceKey[]): readonly ZoneRecord[] {
  const { zone, ttl } = settings
  const all = [...apex(settings), ...hosts(settings), ...addressesOnly(settings), ...ownMail(settings, keys)].filter(
    ([name]) => isInside(name, zone),
  )
  const distinct = new Map(all.map(([name, data]) => [`${name} ${JSON.stringify(data)}`, { name, ttl, data }]))
  const rank = (name: string): string => (name === zone ? '' : name)
  return [...distinct.values()].sort((a, b) => (rank(a.name) < rank(b.name) ? -1 : rank(a.name) > rank(b.name) ? 1 : 0))
}

type Named = readonly [name: string, data: RecordData]

function apex({ zone, nameservers, issuers }: ZoneSettings): readonly Named[] {
  return [
    ...nameservers.map((host): Named => [zone, { type: 'NS', host }]),
    ...issuers.map((issuer): Named => [zone, { type: 'CAA', issuer }]),
  ]
}

function hosts(settings: ZoneSettings): readonly Named[] {
  const { zone, hostname, mailDomain } = settings
  return [
    ...[zone, hostname, mailTarget(zone)].flatMap((name) => [
      ...addressesAt(name, settings),
      ...mailAt(name, settings),
    ]),
    ...mailAt(mailDomain, settings),
  ]
}

function addressesOnly(settings: ZoneSettings): readonly Named[] {
  const { mxHost, linkHost, nameservers } = settings
  return [mxHost, linkHost, ...nameservers].flatMap((name) => addressesAt(name, settings))
}

function addressesAt(name: string, { addresses }: ZoneSettings): readonly Named[] {
  return addresses.map((address) => [name, { type: address.includes(':') ? 'AAAA' : 'A', address }])
}

function mailAt(name: string, { mxHost, senders }: ZoneSettings): readonly Named[] {
  const spf = senders.map((address) => `ip${address.includes(':') ? 6 : 4}:${address}`)
  return [
    [name, { type: 'MX', preference: 10, host: mxHost }],
    ...(spf.length === 0 ? [] : [[name, { type: 'TXT', text: `v=spf1 ${spf.join(' ')} -all` }] as const]),
  ]
}

/** The service signs all that it sends: who cannot prove to be it may be refused. */
function ownMail({ zone, mailDomain }: ZoneSettings, keys: readonly ServiceKey[]): readonly Named[] {
  const policy = `v=DMARC1; p=reject; rua=mailto:dmarc@${zone}`
  return [
    [`_dmarc.${zone}`, { type: 'TXT', text: policy }],
    [`_dmarc.${mailDomain}`, { type: 'TXT', text: policy }],
    ...keys.map(
      ({ selector, public_record: text }): Named => [`${selector}._domainkey.${mailDomain}`, { type: 'TXT', text }],
    ),
  ]
}

const REFRESH = 900
const RETRY = 300
const EXPIRE = 14 * 86_400
/** Whoever asks a moment too early is to see soon what came. */
const NEGATIVE = 300

export function soaRecord({ zone, hostname, nameservers, ttl }: ZoneSettings, serial: number): SoaRecord {
  const [primary = hostname] = nameservers
  const data: SoaData = {
    type: 'SOA',
    primary,
    contact: `postmaster.${zone}`,
    serial,
    refresh: REFRESH,
    retry: RETRY,
    expire: EXPIRE,
    negative: Math.min(NEGATIVE, ttl),
  }
  return { name: zone, ttl, data }
}
