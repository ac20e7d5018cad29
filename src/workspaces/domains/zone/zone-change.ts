/**
 * Raises the zone's serial when the configuration has changed the records of the zone. No trigger of the database
 * notices such a change.
 */
import { createHash } from 'node:crypto'
import type { Database } from '../../../base/storage/db/database.js'
import { readServiceState, setServiceState } from '../../../base/storage/db/service-state.js'
import { raiseZoneSerial } from '../../../base/storage/db/zone-serial.js'
import { buildFixedRecords, type ZoneSettings } from './zone-records.js'

const SETTINGS_HASH_KEY = 'zone_configured'

/**
 * With `restarted`, it raises the serial in any case, because a restored database may have a serial that secondaries
 * have passed.
 */
export async function syncZoneSerial(
  { read, commit }: Pick<Database, 'read' | 'commit'>,
  settings: ZoneSettings,
  { now, restarted }: { readonly now: number; readonly restarted: boolean },
): Promise<void> {
  const value = createHash('sha256')
    .update(JSON.stringify(buildFixedRecords(settings, [])))
    .digest('hex')
  const same = (await readServiceState(read, { key: SETTINGS_HASH_KEY }))[0]?.value === value
  if (same && !restarted) return
  await commit([raiseZoneSerial({ now: Math.floor(now / 1000) }), setServiceState({ key: SETTINGS_HASH_KEY, value })])
}
