/**
 * Two daemons on one database, with Pebble as the ACME server: one of them orders, both serve, and each answers the
 * challenges of the other.
 */
import { createServer, type Server } from 'node:tls'
import { pino } from 'pino'
import t, { type Test } from 'tap'
import { parseDomainName } from '../../../src/base/mail/address.js'
import type { TlsFiles } from '../../../src/base/platform/tls-files.js'
import type { Store } from '../../../src/base/storage/db/database.js'
import { TableChanges } from '../../../src/base/storage/db/table-changes.js'
import { Certificates } from '../../../src/operations/certificates/certificates.js'
import { NameLeases } from '../../../src/operations/certificates/name-leases.js'
import { temporaryDatabase, temporaryFolder } from '../../helpers/database/database.js'
import { zoneResolver } from '../../helpers/dns/zone-resolver.js'
import { testConfig } from '../../helpers/doctor/test-config.js'
import { type Pebble, skipWithoutPebble, startPebble } from '../../helpers/programs/pebble.js'
import { waitUntil } from '../../helpers/wait-until.js'
import { readServed } from '../../journeys/support/acme.js'

const options = { skip: skipWithoutPebble(), timeout: 120_000 }
const host = parseDomainName('mail.service.test')

interface DaemonOptions {
  readonly store: Store
  readonly pebble: Pebble
  readonly holder: string
  readonly httpPort: number
}

/** As much of a daemon as certificates need: a TLS listener, and what follows the changes of others. */
async function startDaemon(t: Test, { store, pebble, holder, httpPort }: DaemonOptions) {
  const acme = { enabled: true, directory: pebble.directory, ca_file: pebble.caFile }
  const config = testConfig({
    service: { hostname: host, data_dir: temporaryFolder(t), public_url: `https://${host}` },
    inbound: { listen: [] },
    tls: { acme: { ...acme, http_listen: [`127.0.0.1:${httpPort}`] } },
  })
  const log = pino({ level: 'silent' })
  const certificates = await Certificates.open({ config, store, holder, clock: Date.now, log }, config.tls)
  const served = { cert: certificates.tls.cert }
  const listener = createServer(certificates.listenerTls, (socket) => socket.end())
  const useCertificate = ({ cert, key }: TlsFiles): void => {
    served.cert = cert
    listener.setSecureContext({ cert, key })
  }
  const port = await listen(listener)
  t.teardown(() => listener.close())
  const changes = new TableChanges(store.read, [])
  const follow = (): Promise<void> => changes.follow((changed) => certificates.madeElsewhere(changed))
  await certificates.start({
    ...{ resolver: zoneResolver({ [host]: { addresses: ['127.0.0.1'] } }), random: () => 0 },
    listeners: { served, useCertificate },
    composeNotices: async () => ({ writes: [], onCommitted: () => undefined }),
  })
  t.teardown(() => certificates.stop())
  return { certificates, port, served, follow }
}

function listen(server: Server): Promise<number> {
  return new Promise((resolve) => {
    server.listen(0, '127.0.0.1', () => {
      const address = server.address()
      resolve(address === null || typeof address === 'string' ? 0 : address.port)
    })
  })
}

t.test('one daemon orders, and the challenge is answered by the other', options, async (t) => {
  const { database, openAgain } = await temporaryDatabase(t)
  const pebble = await startPebble(t)
  // The first daemon had begun before it was restarted. Pebble connects to the second one.
  await new NameLeases({ ...database, clock: Date.now, holder: 'first' }).take(host)
  const second = await startDaemon(t, { store: await openAgain(), pebble, holder: 'second', httpPort: pebble.httpPort })
  const first = await startDaemon(t, { store: database, pebble, holder: 'first', httpPort: 0 })
  await waitUntil('the certificate', () => first.certificates.servesName(host), 60_000)
  t.equal(second.certificates.servesName(host), false)
  await second.follow()
  t.equal(second.certificates.servesName(host), true)
  const root = await pebble.readRoot()
  const [one, two] = [await readServed(first.port, host, root), await readServed(second.port, host, root)]
  t.equal(one.subjectaltname, `DNS:${host}`)
  t.equal(two.serialNumber, one.serialNumber, 'both serve the same')
  t.equal((await readServed(second.port, 'else.test')).serialNumber, one.serialNumber, 'it is the default one too')
  t.equal(second.served.cert, first.served.cert)
  t.equal(pebble.listLines('orders in the db').length, 1)
  await waitUntil('the list', () => second.certificates.list()[0]?.state === 'valid')
  t.match(second.certificates.list(), [{ name: host, state: 'valid', last_fault: null }])
  t.same(await database.read('select token from acme_challenges', []), [])
})

t.test('a daemon that starts later serves what is stored, and orders nothing', options, async (t) => {
  const { database, openAgain } = await temporaryDatabase(t)
  const pebble = await startPebble(t)
  const first = await startDaemon(t, { store: database, pebble, holder: 'first', httpPort: pebble.httpPort })
  await waitUntil('the certificate', () => first.certificates.servesName(host), 60_000)
  const root = await pebble.readRoot()
  await first.certificates.stop()
  pebble.stop()
  const second = await startDaemon(t, { store: await openAgain(), pebble, holder: 'second', httpPort: 0 })
  t.equal((await readServed(second.port, host, root)).subjectaltname, `DNS:${host}`)
  t.match(second.certificates.tls, { cert: first.served.cert, caFile: `acme:${host}` })
})
