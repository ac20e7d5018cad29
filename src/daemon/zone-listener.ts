/** Wires the DNS listener of the service zone to the rooms below it. */
import type { ReadSettings, StartSettings } from '../config/live-config.js'
import { startZoneListener, type ZoneListener } from '../dns/zone-listener.js'
import { createServiceZone } from '../domains/zone/zone.js'
import { syncZoneSerial } from '../domains/zone/zone-change.js'
import { toZoneSettings } from '../domains/zone/zone-records.js'
import type { Clock } from '../platform/clock.js'
import type { Log } from '../platform/log.js'
import type { Database } from '../storage/database.js'

interface ZoneDeps {
  readonly config: StartSettings
  readonly settings: ReadSettings
  readonly clock: Clock
  readonly log: Log
  readonly database: Database
}

export interface PublishedZone extends ZoneListener {
  /** Call it after a reload, which may have changed the addresses that mail is sent from. */
  readonly onReload: () => Promise<void>
}

export async function openZoneListener({ config, settings, clock, log, database }: ZoneDeps): Promise<PublishedZone> {
  const { zone_listen: listen, secondaries, notify } = config.dns
  const sync = async (restarted: boolean): Promise<void> => {
    if (listen.length > 0) await syncZoneSerial(database, toZoneSettings(settings()), { now: clock(), restarted })
  }
  await sync(true)
  const zone = createServiceZone(database, () => toZoneSettings(settings()))
  const listener = await startZoneListener({ zone, listen, secondaries, notify, clock, log })
  return { ...listener, onReload: () => sync(false) }
}
