/**
 * Lists what people publish in DNS before a domain sends: the records of the server, of the service zone and of the
 * domain. Each has who sets it, and whether sending needs it. Pure.
 *
 * With `dns.nameservers` the service answers for its zone itself, and only the delegation is to be published. Otherwise
 * the records of the zone are, by hand.
 */
import { findOwnerDomain, ownerDomainOf } from '../../../base/mail/public-suffix.js'
import { parseIpAddress, toReverseName } from '../../../base/platform/ip-address.js'
import type { DkimKeyRow } from '../dkim/signing-keys.js'
import type { SendingDomain } from '../rows/sending-domains.js'
import { dnsRecordsOf, keyTargetOf, suggestDmarcPolicy } from '../verification/dns-records.js'
import { dmarcNameOf } from '../verification/look-up-records.js'
import { listTlsRecords } from './policy-records.js'
import { type PlainRecord, toPlainRecord } from './zone-file.js'
import {
  buildServiceRecords,
  isInside,
  isOptionalRecord,
  type ServiceKey,
  type ZoneRecord,
  type ZoneSettings,
} from './zone-records.js'

export interface PublishedRecord extends PlainRecord {
  /** Sending needs it. */
  readonly required: boolean
  /** The provider at which it is set, as `DNS provider of example.com`. */
  readonly set_by: string
  /** What the record gives. */
  readonly purpose: string
}

/** The records of the server and of its zone, those of sending domains aside. */
export function listServiceRecords(settings: ZoneSettings, keys: readonly ServiceKey[]): readonly PublishedRecord[] {
  const flat = buildServiceRecords(settings, keys).filter((record) => isSetByHand(record, settings))
  return [
    ...listReverseNames(settings),
    ...listDelegation(settings),
    ...flat.map((record) => describe(record, settings)),
  ]
}

/** The records of one sending domain. `keys` are its own. */
export function listDomainRecords(
  settings: ZoneSettings,
  row: Pick<SendingDomain, 'id' | 'domain' | 'inbound'>,
  keys: readonly Pick<DkimKeyRow, 'selector' | 'public_record'>[],
): readonly PublishedRecord[] {
  const { zone, ttl, nameservers, hostname } = settings
  const provider = { ttl, set_by: providerOf(row.domain) }
  // The server's own name, such as posthorn.example.com, has records with the same effect, and no room for a CNAME.
  const possible = dnsRecordsOf(row, zone).filter(({ name }) => name !== hostname && name !== zone)
  const proofs = possible.map(({ type, name, value, purpose }) => {
    return { ...provider, type, name, value, required: true, purpose: proofPurposes[purpose] }
  })
  const targets = nameservers.length > 0 ? [] : keys
  const published = targets.map(({ selector, public_record: value }) => {
    const name = keyTargetOf(row, selector, zone)
    const purpose = `the key to which ${selector}._domainkey.${row.domain} leads`
    return { type: 'TXT' as const, name, ttl, value, required: true, set_by: providerOf(name), purpose }
  })
  return [...proofs, ...published, ...listSuggestions(settings, row).map((record) => ({ ...provider, ...record }))]
}

const proofPurposes = {
  mail_cname: 'bounces come back to this server, and SPF passes for the domain',
  dkim1: 'DKIM: this key signs mail of the domain',
  dkim2: 'DKIM: the next key, so that keys can change without you',
} as const

function listSuggestions(
  { zone, mxHost, policyId }: ZoneSettings,
  { domain, inbound }: Pick<SendingDomain, 'domain' | 'inbound'>,
): readonly Omit<PublishedRecord, 'ttl' | 'set_by'>[] {
  const optional = { required: false }
  const mx = { type: 'MX', name: domain, value: `10 ${mxHost}` } as const
  const dmarc = { type: 'TXT', name: dmarcNameOf(domain), value: suggestDmarcPolicy(zone) } as const
  const tls = listTlsRecords(domain, zone).filter(({ type }) => type === 'TXT' || policyId !== null)
  return [
    { ...dmarc, ...optional, purpose: 'DMARC: large providers expect a policy; any other one will do' },
    inbound === 1
      ? { ...mx, required: true, purpose: 'mail to the domain arrives here' }
      : {
          ...mx,
          ...optional,
          purpose: 'all mail to the domain arrives here; it leaves the server where it arrives now',
        },
    ...tls.map(({ type, name, value }) => {
      const purpose = type === 'TXT' ? 'reports about TLS arrive here' : 'MTA-STS: mail to the domain is sent over TLS'
      return { type, name, value, ...optional, purpose: `${purpose}; only with the MX record above` }
    }),
  ]
}

/** Behind each address is the name that its sessions say at EHLO. */
function listReverseNames({ sendingAddresses, sendingHosts, hostname, ttl }: ZoneSettings): readonly PublishedRecord[] {
  return sendingAddresses.flatMap((address) => {
    const parsed = parseIpAddress(address)
    if (parsed?.range() !== 'unicast') return []
    const value = sendingHosts.find((host) => host.address === address)?.name ?? hostname
    return {
      ...{ type: 'PTR', name: toReverseName(parsed), ttl, value, required: true },
      ...{
        set_by: `hosting provider of ${address}`,
        purpose: `the name of ${address}; large providers refuse mail without it`,
      },
    } as const
  })
}

/** A zone that is itself a registered domain is delegated at its registrar, any other one in the zone above it. */
function listDelegation({ zone, nameservers, addresses, ttl }: ZoneSettings): readonly PublishedRecord[] {
  const set_by = findOwnerDomain(zone) === zone ? `registrar of ${zone}` : providerOf(zone)
  const common = { ttl, required: true, set_by }
  return [
    ...nameservers.map((value) => {
      return { ...common, type: 'NS', name: zone, value, purpose: `this server answers for ${zone}` } as const
    }),
    ...nameservers
      .filter((host) => isInside(host, zone))
      .flatMap((name) =>
        addresses.map((value) => {
          const type = value.includes(':') ? 'AAAA' : 'A'
          return { ...common, type, name, value, purpose: 'the address of the name server (glue)' } as const
        }),
      ),
  ]
}

/**
 * Outside the zone, a name may be in use for other things: there we ask only for addresses of our hosts, for the SPF
 * record of the host name, and for the key of the service's own mail.
 */
function isSetByHand({ name, data }: ZoneRecord, settings: ZoneSettings): boolean {
  const { zone, nameservers, hostname, mxHost, linkHost, sendingHosts, mailDomain } = settings
  if (isInside(name, zone)) return nameservers.length === 0
  if (data.type === 'TXT') return name === hostname || name.endsWith(`._domainkey.${mailDomain}`)
  const isAddress = data.type === 'A' || data.type === 'AAAA'
  return isAddress && [hostname, mxHost, linkHost, ...sendingHosts.map((host) => host.name)].includes(name)
}

function describe(record: ZoneRecord, { zone }: ZoneSettings): PublishedRecord {
  return {
    ...toPlainRecord(record),
    required: !isOptionalRecord(record),
    set_by: isInside(record.name, zone) ? providerOf(zone) : providerOf(record.name),
    purpose: describePurpose(record),
  }
}

function describePurpose({ name, data }: ZoneRecord): string {
  switch (data.type) {
    case 'A':
    case 'AAAA':
      return 'the address of this server'
    case 'MX':
      return 'bounces and reports come back to this server'
    case 'CAA':
      return 'no other authority issues certificates'
    case 'TXT':
      return describeText(name, data.text)
    default:
      return `this server answers for ${name}`
  }
}

function describeText(name: string, text: string): string {
  if (text.startsWith('v=spf1')) return 'SPF: this server may send'
  if (text.startsWith('v=TLSRPT')) return 'reports about TLS arrive here'
  if (text.startsWith('v=STS')) return 'MTA-STS: mail to this server is sent over TLS'
  if (name.startsWith('*.')) return 'reports about your domains may be sent here'
  if (name.startsWith('_dmarc.')) return 'mail that forges the name of the service is refused'
  return "the signature of the service's own mail, such as bounces and notices"
}

function providerOf(name: string): string {
  return `DNS provider of ${ownerDomainOf(name)}`
}
