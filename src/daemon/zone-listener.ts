/** Wires the DNS listener of the service zone to the rooms below it. */
import type { Config } from '../config/complete.js'
import { startZoneListener, type ZoneListener } from '../dns/zone-listener.js'
import { createServiceZone } from '../domains/zone/zone.js'
import { syncZoneSerial } from '../domains/zone/zone-change.js'
import { toZoneSettings } from '../domains/zone/zone-records.js'
import type { Clock } from '../platform/clock.js'
import type { Log } from '../platform/log.js'
import type { Database } from '../storage/database.js'

interface ZoneDeps {
  readonly config: Config
  readonly clock: Clock
  readonly log: Log
  readonly database: Database
}

export async function openZoneListener({ config, clock, log, database }: ZoneDeps): Promise<ZoneListener> {
  const settings = toZoneSettings(config)
  const { zone_listen: listen, secondaries, notify } = config.dns
  if (listen.length > 0) await syncZoneSerial(database, settings, { now: clock(), restarted: true })
  return startZoneListener({ zone: createServiceZone(database, settings), listen, secondaries, notify, clock, log })
}
