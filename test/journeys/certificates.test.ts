/** Certificates from an ACME server, through the whole daemon, with Pebble as the server. */
import { X509Certificate } from 'node:crypto'
import { existsSync } from 'node:fs'
import { request } from 'node:http'
import { join } from 'node:path'
import { connect } from 'node:tls'
import t from 'tap'
import { parseDomainName } from '../../src/base/mail/address.js'
import { databaseFile, openStore } from '../../src/base/storage/open.js'
import { storeCertificate, toCertificateRow } from '../../src/operations/certificates/certificate-rows.js'
import { createSelfSigned } from '../helpers/certificates.js'
import { testDaemon } from '../helpers/daemon/test-daemon.js'
import { skipWithoutPebble, startPebble } from '../helpers/programs/pebble.js'
import { openSink } from '../helpers/smtp/scripted-sink.js'
import { waitUntil } from '../helpers/wait-until.js'
import {
  acmeDaemon,
  apiPort,
  findView,
  HOST,
  readServed,
  readServedByStarttls,
  waitUntilIssued,
  zone,
} from './support/acme.js'

const options = { skip: skipWithoutPebble(), timeout: 120_000 }
t.jobs = 2

t.test(
  'http-01: each name gets a certificate, which all listeners serve to clients that ask for it',
  { ...options },
  async (t) => {
    const pebble = await startPebble(t)
    const app = await acmeDaemon(t, pebble)
    t.equal((await readServed(apiPort(app), HOST)).issuer.CN, HOST, 'self-signed until then')
    await waitUntilIssued(app)
    const root = await pebble.readRoot()
    const [tls, plain] = [true, false].map((kind) => app.daemon.submission.find((endpoint) => endpoint.tls === kind))
    for (const name of Object.keys(zone)) {
      const expected = `DNS:${name}`
      t.equal((await readServed(apiPort(app), name, root)).subjectaltname, expected, 'REST')
      t.equal((await readServed(tls?.port ?? 0, name, root)).subjectaltname, expected, 'submission over TLS')
      t.equal((await readServedByStarttls(plain?.port ?? 0, name, root)).subjectaltname, expected, 'submission')
      t.equal((await readServedByStarttls(app.daemon.mx[0]?.port ?? 0, name, root)).subjectaltname, expected, 'MX')
    }
    t.equal((await readServed(apiPort(app), 'else.test')).subjectaltname, `DNS:${HOST}`, 'the default')

    t.equal(existsSync(join(app.folder, 'data/tls/acme')), false, 'everything is in the database')
    t.same(await app.rows('select name from acme_names where order_url is not null'), [])
    t.same(await app.rows('select token from acme_challenges'), [])
    t.match(findView(app, 'posthorn.other.test'), {
      state: 'none',
      last_fault: 'posthorn.other.test does not exist in DNS',
    })
    t.equal(pebble.listLines('orders in the db').length, 3, 'no order for a name that does not lead here')
  },
)

t.test('tls-alpn-01 at the port of the API, while other clients are served', { ...options }, async (t) => {
  const pebble = await startPebble(t, { slow: true })
  const app = await acmeDaemon(t, pebble, { http: false })
  t.same(app.daemon.challenges, [])
  let isIssued = false
  let served = 0
  const issued = waitUntilIssued(app).then(() => {
    isIssued = true
  })
  while (!isIssued) {
    const protocols: (string | false | null)[] = []
    await new Promise<void>((resolve, reject) => {
      const at = { host: '127.0.0.1', port: apiPort(app), servername: HOST, rejectUnauthorized: false }
      const socket = connect({ ...at, ALPNProtocols: ['http/1.1'] }, () => {
        protocols.push(socket.alpnProtocol)
        socket.destroy()
        resolve()
      })
      socket.on('error', reject)
    })
    t.same(protocols, ['http/1.1'])
    served += 1
  }
  await issued
  t.ok(served > 1)
  t.equal((await readServed(apiPort(app), HOST, await pebble.readRoot())).subjectaltname, `DNS:${HOST}`)
})

t.test(
  'links in mail bear the name of the customer, also after a restart without the ACME server',
  { ...options },
  async (t) => {
    const pebble = await startPebble(t)
    const sink = await openSink()
    t.teardown(() => sink.close())
    const routes = { 'b.test': sink }
    const first = await acmeDaemon(t, pebble, { routes })
    await waitUntilIssued(first)
    const root = await pebble.readRoot()
    await first.stop()
    pebble.stop()
    const app = await acmeDaemon(t, pebble, { routes, folder: first.folder })
    t.equal((await readServed(apiPort(app), HOST, root)).subjectaltname, `DNS:${HOST}`)
    t.equal((await readServed(apiPort(app), 'posthorn.a.test', root)).subjectaltname, 'DNS:posthorn.a.test')
    const fields = ['Content-Type: text/html', 'X-Service-Track-Clicks: true']
    const raw = [
      'From: App <app@a.test>',
      'To: bob@b.test',
      'Subject: hello',
      ...fields,
      '',
      '<p><a href="https://shop.test/">shop</a></p>',
      '',
    ]
    await app.waitUntilSettled(await app.submitAccepted({ key: first.key, raw: raw.join('\r\n') }))
    await waitUntil('the message', () => sink.messages.length > 0)
    const body = sink.messages[0]?.raw.toString().replaceAll('=\r\n', '')
    t.match(body, /https:\/\/posthorn\.a\.test\/v1\/track\/click\//)
    t.same(app.errors, [])
  },
)

t.test('the plain HTTP listener answers challenges and redirects everything else', { ...options }, async (t) => {
  const pebble = await startPebble(t)
  const app = await acmeDaemon(t, pebble, { settings: { service: { public_url: 'https://mail.service.test/base' } } })
  const [endpoint] = app.daemon.challenges
  const ask = (path: string, method = 'GET'): Promise<readonly [number | undefined, string | undefined]> =>
    new Promise((resolve, reject) => {
      const sent = request({ host: '127.0.0.1', port: endpoint?.port, path, method }, (answer) => {
        answer.resume()
        resolve([answer.statusCode, answer.headers.location])
      })
      sent.on('error', reject)
      sent.end()
    })
  t.same(await ask('/ui/?a=b'), [308, 'https://mail.service.test/ui/?a=b'])
  t.same(await ask('//else.test/'), [308, 'https://mail.service.test//else.test/'])
  t.same(await ask('/.well-known/acme-challenge/unknown'), [404, undefined])
  t.same(await ask('/v1/emails', 'POST'), [404, undefined])
})

t.test('a stored certificate is served, then what another process stores', async (t) => {
  const [old, next] = [await createSelfSigned([HOST]), await createSelfSigned([HOST])]
  const acme = { enabled: true, directory: 'https://127.0.0.1:9/directory', http_listen: ['127.0.0.1:0'] }
  const app = await testDaemon(t, { zone: {}, settings: { tls: { acme }, inbound: { listen: [] } } })
  const other = await openStore({ file: databaseFile(app.config.service.data_dir) })
  t.teardown(() => other.close())
  const store = (pair: typeof old) => other.commit([storeCertificate(toCertificateRow(parseDomainName(HOST), pair))])
  await store(old)
  await waitUntil('the first certificate', () => readServed(apiPort(app), HOST, old.cert).catch(() => false))
  t.equal((await readServed(apiPort(app), HOST, old.cert)).subjectaltname, `DNS:${HOST}`)
  await store(next)
  const isServed = (name: string) => readServed(apiPort(app), name, next.cert).catch(() => false)
  await waitUntil('the certificate', () => isServed(HOST))
  const { raw } = await readServed(apiPort(app), 'else.test')
  t.same(raw, new X509Certificate(next.cert).raw, 'it is the default one too')
  t.same(app.errors, [])
})
