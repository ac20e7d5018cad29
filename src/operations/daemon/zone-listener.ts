/** Wires the DNS listener of the service zone to the rooms below it. */
import type { ReadSettings, StartSettings } from '../../base/config/live-config.js'
import type { Clock } from '../../base/platform/clock.js'
import type { Log } from '../../base/platform/log.js'
import type { Database } from '../../base/storage/db/database.js'
import { startZoneListener, type ZoneListener } from '../../servers/dns/zone-listener.js'
import { createServiceZone } from '../../workspaces/domains/zone/zone.js'
import { syncZoneSerial } from '../../workspaces/domains/zone/zone-change.js'
import { toZoneSettings } from '../../workspaces/domains/zone/zone-records.js'

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
