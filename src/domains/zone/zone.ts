/**
 * The service zone as questions see it: what is at a name, and all of it.
 *
 * Everything that was read holds for one serial: every change of the keys raises it, whoever makes the
 * change, so it is looked at first, each time. Names of keys are remembered in bounds; names
 * that are not there cost one look at an index and are not.
 */
import type { Read } from '../../storage/prepared.js'
import { SERVICE } from '../../storage/tables/tables.js'
import { zoneSerial } from '../../storage/zone-serial.js'
import { dkimKeysOf } from '../dkim/signing-keys.js'
import { keyPages, keysOfLabel, type PublishedKey, publishedName } from './zone-keys.js'
import {
  fixedRecords,
  type ServiceKey,
  type SoaRecord,
  soaRecord,
  type ZoneRecord,
  type ZoneSettings,
} from './zone-records.js'

export interface ServiceZone {
  readonly name: string
  readonly serial: () => number
  readonly soa: () => SoaRecord
  /** By a name of the zone in lower case; empty: it only holds other names; null: there is no such name. */
  readonly at: (name: string) => readonly ZoneRecord[] | null
  /** All records but the SOA, in one order; a page is read when it is asked for. */
  readonly pages: () => Generator<readonly ZoneRecord[]>
}

const MAX_NAMES = 5_000

interface Snapshot {
  readonly serial: number
  readonly soa: SoaRecord
  readonly fixed: ReadonlyMap<string, readonly ZoneRecord[]>
  /** Of keys. */
  readonly known: Map<string, readonly ZoneRecord[]>
}

export function serviceZone({ read }: { readonly read: Read }, settings: ZoneSettings): ServiceZone {
  const { zone, ttl } = settings
  const keysBelow = `._domainkey.${zone}`
  const record = (key: PublishedKey): ZoneRecord => ({
    name: publishedName(key, zone),
    ttl,
    data: { type: 'TXT', text: key.public_record },
  })
  let last: Snapshot | undefined

  function now(): Snapshot {
    const serial = zoneSerial(read)
    if (last?.serial === serial) return last
    const fixed = byName(settings, [
      soaRecord(settings, serial),
      ...fixedRecords(settings, serviceKeys(read, settings)),
    ])
    last = { serial, soa: soaRecord(settings, serial), fixed, known: new Map() }
    return last
  }

  function keysAt(name: string): readonly ZoneRecord[] | null {
    const parts = name.slice(0, -keysBelow.length).split('.')
    const label = parts.pop() ?? ''
    const keys = keysOfLabel(read, label)
    const found = keys.map(record).filter((published) => published.name === name)
    const holds = keys.some((key) => publishedName(key, zone).endsWith(`.${name}`))
    return found.length > 0 ? found : holds ? [] : null
  }

  return {
    name: zone,
    serial: () => now().serial,
    soa: () => now().soa,
    at: (name) => {
      const { fixed, known } = now()
      const there = fixed.get(name) ?? known.get(name)
      if (there !== undefined || !name.endsWith(keysBelow)) return there ?? null
      const found = keysAt(name)
      if (found === null) return null
      if (known.size >= MAX_NAMES) known.clear()
      known.set(name, found)
      return found
    },
    *pages() {
      yield fixedRecords(settings, serviceKeys(read, settings))
      for (const keys of keyPages(read)) yield keys.map(record)
    },
  }
}

function serviceKeys(read: Read, { mailDomain: domain }: ZoneSettings): readonly ServiceKey[] {
  return dkimKeysOf(read, { workspaceId: SERVICE, domain })
}

/** With the names between those that have records and the zone's own: they exist (RFC 8020), and have none. */
function byName({ zone }: ZoneSettings, records: readonly ZoneRecord[]): ReadonlyMap<string, readonly ZoneRecord[]> {
  const names = new Map<string, ZoneRecord[]>([[`_domainkey.${zone}`, []]])
  for (const record of records) {
    const there = names.get(record.name)
    if (there === undefined) names.set(record.name, [record])
    else there.push(record)
    for (let name = parent(record.name); name.length > zone.length; name = parent(name)) {
      if (!names.has(name)) names.set(name, [])
    }
  }
  return names
}

function parent(name: string): string {
  return name.slice(name.indexOf('.') + 1)
}
