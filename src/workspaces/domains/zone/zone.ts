/**
 * The *service zone* is the DNS zone to which customers' CNAME records point. This file reads the records at a name,
 * and all records, as queries see them.
 *
 * Cached records are valid for one serial. Triggers raise the serial with every change of the keys, so each read
 * looks at the serial first. Each serial has a cache of its own: what was asked under an older serial is never stored
 * under a newer one. The cache of key names is bounded. A name that does not exist costs one read of an index and is
 * not cached.
 */
import { createLruCache, type LruCache } from '../../../base/platform/lru-cache.js'
import type { Read } from '../../../base/storage/db/prepared.js'
import { readZoneSerial } from '../../../base/storage/db/zone-serial.js'
import { SERVICE_WORKSPACE } from '../../../base/storage/tables/tables.js'
import { dkimKeysOf } from '../dkim/signing-keys.js'
import { keysOfLabel, type PublishedKey, publishedNameOf, readKeyPages } from './zone-keys.js'
import {
  buildFixedRecords,
  buildSoaRecord,
  reportConsentsOf,
  type ServiceKey,
  type SoaRecord,
  type ZoneRecord,
  type ZoneSettings,
} from './zone-records.js'

export interface ServiceZone {
  readonly name: string
  readonly readSerial: () => Promise<number>
  readonly readSoa: () => Promise<SoaRecord>
  /**
   * Records at a name of the zone, in lower case. An empty list is a name between others. Null means that there is
   * no such name.
   */
  readonly findRecords: (name: string) => Promise<readonly ZoneRecord[] | null>
  /** All records except the SOA, in a fixed order. It reads a page when the caller asks for it. */
  readonly readPages: () => AsyncGenerator<readonly ZoneRecord[]>
}

const MAX_NAMES = 5_000

interface Snapshot {
  readonly soa: SoaRecord
  readonly fixed: ReadonlyMap<string, readonly ZoneRecord[]>
  /** Names of keys that are cached. */
  readonly keyRecords: LruCache<readonly ZoneRecord[]>
}

/** `readSettings` returns the configuration in force. A reload that changes it raises the serial. */
export function createServiceZone({ read }: { readonly read: Read }, readSettings: () => ZoneSettings): ServiceZone {
  const { zone, ttl } = readSettings()
  const keysBelow = `._domainkey.${zone}`
  const consentsEnd = `.${reportConsentsOf(zone)}`
  const toRecord = (key: PublishedKey): ZoneRecord => ({
    name: publishedNameOf(key, zone),
    ttl,
    data: { type: 'TXT', text: key.public_record },
  })
  const snapshots = new Snapshots((serial) => readSnapshot(read, readSettings(), serial))
  const currentSnapshot = async (): Promise<Snapshot> => snapshots.find(await readZoneSerial(read))

  async function findKeyRecords(name: string): Promise<readonly ZoneRecord[] | null> {
    const parts = name.slice(0, -keysBelow.length).split('.')
    const label = parts.pop() ?? ''
    const keys = await keysOfLabel(read, label)
    const found = keys.map(toRecord).filter((published) => published.name === name)
    const holds = keys.some((key) => publishedNameOf(key, zone).endsWith(`.${name}`))
    return found.length > 0 ? found : holds ? [] : null
  }

  return {
    name: zone,
    readSerial: () => readZoneSerial(read),
    readSoa: async () => (await currentSnapshot()).soa,
    findRecords: async (name) => {
      const { fixed, keyRecords } = await currentSnapshot()
      const there = fixed.get(name) ?? keyRecords.get(name)
      if (there === undefined && name.endsWith(consentsEnd)) return expandWildcard(fixed.get(`*${consentsEnd}`), name)
      if (there !== undefined || !name.endsWith(keysBelow)) return there ?? null
      const found = await findKeyRecords(name)
      if (found === null) return null
      keyRecords.set(name, found)
      return found
    },
    async *readPages() {
      const settings = readSettings()
      yield buildFixedRecords(settings, await readServiceKeys(read, settings))
      for await (const keys of readKeyPages(read)) yield keys.map(toRecord)
    },
  }
}

/** Holds the snapshot of the serial that was asked for last. Those who ask for it at once share its load. */
class Snapshots {
  private held: { readonly serial: number; readonly snapshot: Promise<Snapshot> } | undefined

  constructor(private readonly load: (serial: number) => Promise<Snapshot>) {}

  async find(serial: number): Promise<Snapshot> {
    if (this.held?.serial === serial) return this.held.snapshot
    const held = { serial, snapshot: this.load(serial) }
    this.held = held
    try {
      return await held.snapshot
    } catch (error) {
      if (this.held === held) this.held = undefined
      throw error
    }
  }
}

async function readSnapshot(read: Read, settings: ZoneSettings, serial: number): Promise<Snapshot> {
  const soa = buildSoaRecord(settings, serial)
  const records = [soa, ...buildFixedRecords(settings, await readServiceKeys(read, settings))]
  return { soa, fixed: indexByName(settings, records), keyRecords: createLruCache({ max: MAX_NAMES }) }
}

/** The records of a wildcard at a name that it covers (RFC 4592). */
function expandWildcard(records: readonly ZoneRecord[] | undefined, name: string): readonly ZoneRecord[] | null {
  return records?.map((record) => ({ ...record, name })) ?? null
}

async function readServiceKeys(read: Read, { mailDomain }: ZoneSettings): Promise<readonly ServiceKey[]> {
  return dkimKeysOf(read, { workspaceId: SERVICE_WORKSPACE, domain: mailDomain })
}

/** Adds the names between those with records and the apex, because they exist (RFC 8020) without records. */
function indexByName(
  { zone }: ZoneSettings,
  records: readonly ZoneRecord[],
): ReadonlyMap<string, readonly ZoneRecord[]> {
  const names = new Map<string, ZoneRecord[]>([[`_domainkey.${zone}`, []]])
  for (const record of records) {
    const there = names.get(record.name)
    if (there === undefined) names.set(record.name, [record])
    else there.push(record)
    for (let name = parentName(record.name); name.length > zone.length; name = parentName(name)) {
      if (!names.has(name)) names.set(name, [])
    }
  }
  return names
}

function parentName(name: string): string {
  return name.slice(name.indexOf('.') + 1)
}
