/** The zone of the service, served on free ports of this machine. */

import type { Test } from 'tap'
import { parseConfig } from '../../../src/base/config/load.js'
import { parseDomainName } from '../../../src/base/mail/address.js'
import type { Database } from '../../../src/base/storage/db/database.js'
import { startZoneListener, type ZoneListener } from '../../../src/servers/dns/zone-listener.js'
import { dkimKeysOf } from '../../../src/workspaces/domains/dkim/signing-keys.js'
import { domainsOfWorkspace } from '../../../src/workspaces/domains/rows/sending-domains.js'
import { keyTargetOf } from '../../../src/workspaces/domains/verification/dns-records.js'
import { createServiceZone } from '../../../src/workspaces/domains/zone/zone.js'
import { toZoneSettings } from '../../../src/workspaces/domains/zone/zone-records.js'
import { dnsServers, networks } from '../config-values.js'
import { temporaryDatabase } from '../database/database.js'
import { seedDatabase } from '../database/seed-data.js'

export const ZONE = 'mail.service.test'

interface ZoneServer {
  readonly database: Database
  readonly listener: ZoneListener
  readonly port: number
  readonly errors: readonly unknown[]
  readonly serial: () => Promise<number>
  /** Where the key of a.test is served, and its text. */
  readonly key: { readonly name: string; readonly text: string }
}

export async function openZoneServer(t: Test, notify: readonly string[] = [], host = '127.0.0.1'): Promise<ZoneServer> {
  const { database } = await temporaryDatabase(t)
  const { workspaceId } = await seedDatabase(database)
  const text = `[service]\npublic_addresses = ["192.0.2.1", "2001:db8::1"]\n[dns]\nnameservers = ["ns.${ZONE}"]\n`
  const loaded = parseConfig(text, null, { hostname: ZONE, home: '/', isRoot: true, stateHome: undefined })
  if (loaded.kind === 'problems') throw new Error(JSON.stringify(loaded.problems))
  const zone = createServiceZone(database, () => toZoneSettings(loaded.config))
  const errors: unknown[] = []
  const log = { error: (found: unknown) => void errors.push(found), warn: () => undefined }
  const listen = [{ host, port: 0 }]
  const deps = {
    zone,
    listen,
    secondaries: networks('127.0.0.2', '127.0.0.1'),
    notify: dnsServers(...notify),
    clock: () => 0,
    log,
  }
  const listener = await startZoneListener(deps)
  t.teardown(() => listener.stop(0))
  const [row] = await domainsOfWorkspace(database.read, { workspaceId })
  const [key] = await dkimKeysOf(database.read, { workspaceId, domain: row?.domain ?? parseDomainName(ZONE) })
  const name = keyTargetOf(row ?? { id: '' }, key?.selector ?? '', ZONE)
  const port = listener.endpoints[0]?.port ?? 0
  return { database, listener, port, errors, serial: zone.readSerial, key: { name, text: key?.public_record ?? '' } }
}
