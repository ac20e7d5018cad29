/**
 * Checks the service zone: its delegation, its name servers, and that each of its fixed records is in DNS as it should be.
 *
 * The keys of sending domains are in the zone too; the check `dkim` sees them through the CNAMEs of the domains. The key of
 * the service has a check of its own.
 */

import type { LookupResult, RecordType } from '../../../base/platform/dns/resolver.js'
import type { Read } from '../../../base/storage/db/prepared.js'
import { SERVICE_WORKSPACE } from '../../../base/storage/tables/tables.js'
import { holdsKey } from '../../../workspaces/domains/dkim/key-record.js'
import { dkimKeysOf } from '../../../workspaces/domains/dkim/signing-keys.js'
import { lookUpValues, toComparable } from '../../../workspaces/domains/missing-records.js'
import { formatZoneLine, toPlainRecord } from '../../../workspaces/domains/zone/zone-file.js'
import {
  buildFixedRecords,
  isInside,
  isOptionalRecord,
  toZoneSettings,
  type ZoneRecord,
  type ZoneSettings,
} from '../../../workspaces/domains/zone/zone-records.js'
import { addressRecords, describeMissing, listTexts, recordsOf } from '../answers.js'
import type { Check, CheckDeps } from '../check.js'
import { failure, good, type Judgement, type Remedy, undecided, warning } from '../finding.js'

const DNS_PORT = 53

export const zoneChecks: readonly Check[] = [
  {
    name: 'delegation',
    summary: 'the zone of the service is delegated, and its name servers answer',
    run: checkDelegation,
  },
  { name: 'zone', summary: 'each record of the zone is in DNS', run: checkRecords },
  { name: 'service-dkim', summary: "the key of the service's own mail is in DNS", run: checkServiceKey },
]

async function checkDelegation(deps: CheckDeps): Promise<readonly Judgement[]> {
  const { resolver, config } = deps
  const settings = toZoneSettings(config)
  const { zone, nameservers } = settings
  if (nameservers.length === 0) {
    return [
      good(
        zone,
        'the zone is not delegated, because dns.nameservers is empty and the records are in a zone of your own',
      ),
    ]
  }
  const delegated = judgeDelegation(settings, await resolver.resolveRecords(zone, 'NS'))
  const answers = await Promise.all(nameservers.map((host) => askNameServer(deps, zone, host)))
  return [delegated, ...answers.flat()]
}

export function judgeDelegation(
  { zone, nameservers, addresses }: Pick<ZoneSettings, 'zone' | 'nameservers' | 'addresses'>,
  lookup: LookupResult<string>,
): Judgement {
  const glue = nameservers.filter((host) => isInside(host, zone))
  const records = [
    ...nameservers.map((host) => `${zone}. NS ${host}.   ; in the zone above`),
    ...glue.flatMap((host) =>
      addresses.map((address) => `${host}. ${addressType(address)} ${address}   ; glue, in the zone above`),
    ),
  ]
  if (lookup.kind === 'failure') return undecided(zone, describeMissing(lookup), [`dig +trace ${zone} NS`, ...records])
  const remedy: Remedy = [...records, `dig +trace ${zone} NS   # shows them once they are there`]
  const found = recordsOf(lookup).map((name) => name.toLowerCase())
  if (found.length === 0) {
    const judgement = failure(zone, `the zone is not delegated: ${describeMissing(lookup)}`, remedy)
    return { ...judgement, explains: ['zone', 'service-dkim'] }
  }
  const absent = nameservers.filter((host) => !found.includes(host))
  if (absent.length === 0) return good(zone, `the zone is delegated to ${listTexts(found)}`)
  return failure(zone, `the zone is delegated to ${listTexts(found)}, but not to ${listTexts(absent)}`, remedy)
}

async function askNameServer(
  { resolver, openServerResolver, config }: CheckDeps,
  zone: string,
  host: string,
): Promise<readonly Judgement[]> {
  const subject = `${host} for ${zone}`
  const addresses = await resolver.resolveAddresses(host)
  if (addresses.kind !== 'records') {
    const text = `the name server has no address: ${describeMissing(addresses)}`
    if (addresses.kind === 'failure') return [undecided(subject, text, [`dig ${host}`])]
    return [failure(subject, text, addressRecords(host, config.service.public_addresses))]
  }
  return Promise.all(
    addresses.records.map(async (address) => {
      const server = openServerResolver({ address, port: DNS_PORT })
      return judgeNameServer(`${host} (${address})`, zone, address, await server.resolveRecords(zone, 'NS'))
    }),
  )
}

export function judgeNameServer(
  subject: string,
  zone: string,
  address: string,
  answer: LookupResult<string>,
): Judgement {
  if (answer.kind === 'records') return good(subject, `the name server answers for ${zone}`)
  return failure(subject, `the name server does not answer for ${zone}: ${describeMissing(answer)}`, [
    `dig @${address} ${zone} NS +norecurse`,
    `dig @${address} ${zone} NS +norecurse +tcp`,
    'dns.zone_listen names the addresses at which this service answers; the firewall must let port 53 in, UDP and TCP',
  ])
}

function addressType(address: string): 'A' | 'AAAA' {
  return address.includes(':') ? 'AAAA' : 'A'
}

async function checkRecords({ config, resolver }: CheckDeps): Promise<readonly Judgement[]> {
  const settings = toZoneSettings(config)
  const missing = settings.addresses.length > 0 ? [] : [judgeNoAddresses()]
  // The check `service-dkim` tells about the key.
  const groups = groupRecords(buildFixedRecords(settings, []))
  const judged = await Promise.all(
    groups.map(async (group) => judgeZoneRecords(group, await lookUpValues(resolver, group.name, group.type))),
  )
  const [bad, right] = [judged.filter(({ state }) => state !== 'ok'), judged.filter(({ state }) => state === 'ok')]
  return [
    ...missing,
    ...bad,
    ...(right.length === 0
      ? []
      : [good(settings.zone, `${right.length} of ${judged.length} sets of records are in DNS`)]),
  ]
}

function judgeNoAddresses(): Judgement {
  return warning('service.public_addresses', 'the zone has no addresses, and SPF fails for every domain', [
    '[service]',
    'public_addresses = ["ADDRESS"]',
  ])
}

async function serviceKeys(read: Read | null, { mailDomain }: Pick<ZoneSettings, 'mailDomain'>) {
  return read === null ? [] : await dkimKeysOf(read, { workspaceId: SERVICE_WORKSPACE, domain: mailDomain })
}

interface RecordGroup {
  readonly name: string
  readonly type: RecordType | 'MX'
  readonly records: readonly ZoneRecord[]
}

function groupRecords(records: readonly ZoneRecord[]): readonly RecordGroup[] {
  const groups = new Map<string, { name: string; type: RecordType | 'MX'; records: ZoneRecord[] }>()
  for (const record of records) {
    const { type } = record.data
    if (type === 'SOA') continue
    const key = `${type} ${record.name}`
    const group = groups.get(key) ?? { name: record.name, type, records: [] }
    groups.set(key, group)
    group.records.push(record)
  }
  return [...groups.values()]
}

/** Further texts at a name, such as proofs of ownership, do no harm; other addresses and MX records do. */
export function judgeZoneRecords({ name, type, records }: RecordGroup, lookup: LookupResult<string>): Judgement {
  const subject = `${name} ${type}`
  const remedy: Remedy = [...records.map(formatZoneLine), `dig ${name} ${type}   # shows what DNS has`]
  if (lookup.kind === 'failure') return undecided(subject, describeMissing(lookup), [`dig ${name} ${type}`])
  const found = recordsOf(lookup).map((value) => toComparable(type, value))
  const expected = records.map((record) => toComparable(type, toPlainRecord(record).value))
  const absent = expected.filter((value) => !found.includes(value))
  const surplus = type === 'TXT' ? findSecondSpf(found) : found.filter((value) => !expected.includes(value))
  if (absent.length === 0 && surplus.length === 0) return good(subject, listTexts(found))
  const shown = found.length === 0 ? describeMissing(lookup) : `found ${listTexts(found)}`
  const isOptional = records.every(isOptionalRecord)
  return isOptional && found.length === 0 ? warning(subject, shown, remedy) : failure(subject, shown, remedy)
}

/** Two SPF records at one name are an error (RFC 7208 section 4.5). */
function findSecondSpf(texts: readonly string[]): readonly string[] {
  return texts.filter((text) => /^v=spf1(?: |$)/i.test(text)).slice(1)
}

async function checkServiceKey({ config, read, resolver }: CheckDeps): Promise<readonly Judgement[]> {
  const settings = toZoneSettings(config)
  const { mailDomain } = settings
  const [key] = await serviceKeys(read, settings)
  if (key === undefined) return [good(mailDomain, 'the service has no key yet; the first start makes one')]
  const name = `${key.selector}._domainkey.${mailDomain}`
  const texts = await resolver.resolveRecords(name, 'TXT')
  if (holdsKey(recordsOf(texts), key.public_record)) return [good(name, "the key of the service's own mail is in DNS")]
  if (texts.kind === 'failure') return [undecided(name, describeMissing(texts), [`dig ${name} TXT`])]
  const ttl = settings.ttl
  return [
    failure(name, `the service's own mail (bounces, notices) is signed with a key that DNS does not show`, [
      formatZoneLine({ name, ttl, data: { type: 'TXT', text: key.public_record } }),
    ]),
  ]
}
