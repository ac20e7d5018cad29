/** Certificates from an ACME server, through the whole daemon, with Pebble as the server. */
import { X509Certificate } from 'node:crypto'
import { readdirSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { connect, type PeerCertificate } from 'node:tls'
import t, { type Test } from 'tap'
import { type TestDaemon, type TestDaemonOptions, testDaemon } from '../helpers/daemon/test-daemon.js'
import { type Pebble, skipWithoutPebble, startPebble } from '../helpers/programs/pebble.js'
import { waitUntil } from '../helpers/wait-until.js'

const HOST = 'mail.service.test'
const here = { addresses: ['127.0.0.1'] }
const zone = { [HOST]: here, 'mx.mail.service.test': here, 'posthorn.a.test': here }
const options = { skip: skipWithoutPebble(), timeout: 120_000 }

interface AcmeDaemonOptions extends TestDaemonOptions {
  readonly http?: boolean
}

/** With http-01, or with tls-alpn-01 at the port of the API. */
function acmeDaemon(t: Test, pebble: Pebble, { http = true, ...rest }: AcmeDaemonOptions = {}): Promise<TestDaemon> {
  const listen = http ? [`127.0.0.1:${pebble.httpPort}`] : []
  const acme = { enabled: true, directory: pebble.directory, ca_file: pebble.caFile, http_listen: listen }
  const api = { listen: [`127.0.0.1:${http ? 0 : pebble.tlsPort}`] }
  return testDaemon(t, { zone, level: 'info', ...rest, settings: { tls: { acme }, api, ...rest.settings } })
}

/** The certificate that a listener serves to a client that asks for `name`; verified against `ca`. */
function readServed(port: number, name: string, ca: string): Promise<PeerCertificate> {
  return new Promise((resolve, reject) => {
    const socket = connect({ host: '127.0.0.1', port, servername: name, ca }, () => {
      resolve(socket.getPeerCertificate())
      socket.destroy()
    })
    socket.on('error', reject)
  })
}

function isIssued(app: TestDaemon, name: string): boolean {
  return app.daemon.listCertificates().some((view) => view.name === name && view.state === 'valid')
}

async function waitForAll(app: TestDaemon): Promise<void> {
  await waitUntil('all certificates', () => Object.keys(zone).every((name) => isIssued(app, name)), 60_000)
}

function apiPort({ daemon }: TestDaemon): number {
  const [endpoint] = daemon.api
  return endpoint !== undefined && endpoint.kind !== 'unix' ? endpoint.port : 0
}

t.test('http-01: a certificate for each name, served by the name that a client asks for', options, async (t) => {
  const pebble = await startPebble(t)
  const app = await acmeDaemon(t, pebble)
  await waitForAll(app)
  const root = await pebble.readRoot()
  for (const name of Object.keys(zone)) {
    t.equal((await readServed(apiPort(app), name, root)).subjectaltname, `DNS:${name}`)
    const tls = app.daemon.submission.find((endpoint) => endpoint.tls)
    t.equal((await readServed(tls?.port ?? 0, name, root)).subjectaltname, `DNS:${name}`, 'submission')
  }
  t.equal(readdirSync(join(app.folder, 'data/tls/acme')).length, 5, 'three names, an account, requests')
})
