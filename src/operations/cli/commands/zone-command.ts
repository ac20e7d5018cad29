/**
 * `zone`: the records of the service zone, for publishing them by hand or on another server.
 *
 * With `dns.nameservers` it is a complete zone. Otherwise it has neither SOA nor NS records, and its lines belong into
 * the parent zone.
 */
import { ensureServiceIdentity } from '../../../workspaces/domains/service-identity.js'
import { createServiceZone } from '../../../workspaces/domains/zone/zone.js'
import { syncZoneSerial } from '../../../workspaces/domains/zone/zone-change.js'
import { formatZoneLine, toPlainRecord } from '../../../workspaces/domains/zone/zone-file.js'
import {
  isInside,
  toZoneSettings,
  type ZoneRecord,
  type ZoneSettings,
} from '../../../workspaces/domains/zone/zone-records.js'
import { type Answer, type Call, refuseExtraWords } from '../command/command.js'

export async function printZone({ words, config, clock, database: openDatabase }: Call): Promise<Answer> {
  refuseExtraWords(words, 0)
  const database = await openDatabase()
  const settings = toZoneSettings(config)
  // Before the first start, the service has no key yet.
  await ensureServiceIdentity(database, config.service.mail_from, clock())
  await syncZoneSerial(database, settings, { now: clock(), restarted: false })
  const zone = createServiceZone(database, () => settings)
  const records: ZoneRecord[] = settings.nameservers.length === 0 ? [] : [await zone.readSoa()]
  for await (const page of zone.readPages()) records.push(...page)
  return {
    json: { records: records.map(toPlainRecord) },
    lines: records.map(formatZoneLine),
    warnings: findWarnings(settings),
  }
}

function findWarnings({ zone, addresses, nameservers, mailDomain, hostname, mxHost }: ZoneSettings): readonly string[] {
  const elsewhere = [hostname, mxHost].filter((name) => !isInside(name, zone))
  return [
    ...(addresses.length > 0
      ? []
      : ['service.public_addresses is empty: the zone has no addresses, and SPF fails for every domain']),
    ...(nameservers.length > 0
      ? []
      : ['dns.nameservers is empty: without SOA and NS these are lines for the zone above, not a complete zone']),
    ...elsewhere.map((name) => `${name} lies outside ${zone}: its address records are published elsewhere`),
    ...(isInside(mailDomain, zone)
      ? []
      : [`service.mail_from is in ${mailDomain}, outside ${zone}: publish the key of the service's own mail there`]),
  ]
}
