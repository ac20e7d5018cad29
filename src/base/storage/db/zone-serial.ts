/**
 * The serial number of the service zone (RFC 1035 section 3.3.13): secondaries copy the zone when it grows.
 *
 * Triggers raise it with every change of the zone's keys. Records from the configuration are not in the
 * database: a start with a changed configuration calls `raiseZoneSerial`.
 */
import { sql } from 'kysely'
import { greatestOf } from './dialect.js'
import { prepareRead, prepareWrite, type Read } from './prepared.js'

const selectSerial = prepareRead<object>()(({ db }) => db.selectFrom('zone_serial').select('serial'))

export async function readZoneSerial(read: Read): Promise<number> {
  const [row] = await selectSerial(read, {})
  if (row === undefined) throw new Error('the zone has no serial number')
  return row.serial
}

/** `now` in seconds. */
export const raiseZoneSerial = prepareWrite<{ now: number }>(
  ({ db, slot }) => db.updateTable('zone_serial').set({ serial: greatestOf(sql`serial + 1`, slot('now')) }),
  1,
)
