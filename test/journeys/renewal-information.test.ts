/** An ACME server that says when certificates are to be renewed (RFC 9773): the daemon follows it, and orders name what they replace. */
import { X509Certificate } from 'node:crypto'
import t, { type Test } from 'tap'
import type { TestDaemon } from '../helpers/daemon/test-daemon.js'
import { skipWithoutPebble, startPebble } from '../helpers/programs/pebble.js'
import { renewalServer } from '../helpers/programs/renewal-server.js'
import { waitUntil } from '../helpers/wait-until.js'
import { acmeDaemon, apiPort, findView, HOST, readServed, waitUntilIssued } from './support/acme.js'

const options = { skip: skipWithoutPebble(), timeout: 120_000 }
const HOUR = 3_600_000
const DAY = 24 * HOUR
t.jobs = 2

async function open(t: Test) {
  const server = await renewalServer(t, await startPebble(t))
  const app = await acmeDaemon(t, server.pebble, { zone: { [HOST]: { addresses: ['127.0.0.1'] } } })
  await waitUntilIssued(app, [HOST])
  return { server, app }
}

let wakes = 0

/** A change of the database has the daemon look at its certificates. */
async function wake(app: TestDaemon): Promise<void> {
  wakes += 1
  await app.cli('key', 'create', '--workspace', app.workspaceId, '--name', `wake ${wakes}`)
}

/** RFC 9773 section 4.1, read from what a client gets. */
async function readServedId(app: TestDaemon): Promise<string> {
  const { raw } = await readServed(apiPort(app), HOST)
  const { serialNumber } = new X509Certificate(raw)
  const digits = serialNumber.length % 2 === 0 ? serialNumber : `0${serialNumber}`
  const serial = Buffer.from(Number.parseInt(digits.slice(0, 2), 16) >= 0x80 ? `00${digits}` : digits, 'hex')
  return serial.toString('base64url')
}

t.test('a window in the past has a certificate renewed long before two thirds', { ...options }, async (t) => {
  const { server, app } = await open(t)
  const first = await readServedId(app)
  const begin = app.now()
  server.suggest({ start: begin + 50 * DAY, end: begin + 51 * DAY })
  await wake(app)
  await waitUntil('the first question', () => server.asked.length === 1)
  t.match(server.asked[0], new RegExp(`^[\\w-]{20,}\\.${first}$`))
  const planned = await waitUntil('the plan', () => {
    const at = Date.parse(findView(app, HOST)?.next_try ?? '')
    return at >= begin + 50 * DAY && at <= begin + 51 * DAY && at
  })
  t.ok(planned)

  // The authority has to revoke the certificate: its window moves.
  server.suggest({ start: begin - 2 * DAY, end: begin - DAY })
  app.advance(11 * HOUR)
  await wake(app)
  app.advance(2 * HOUR)
  await wake(app)
  const second = await waitUntil('the new certificate', async () => {
    const id = await readServedId(app)
    return id !== first && id
  })
  t.same(server.orders, [undefined, server.asked[0]], 'the order names the certificate that it replaces')
  t.equal(server.asked.filter((id) => id === server.asked[0]).length, 2, 'the server is asked twice a day')
  t.not(second, first)
  t.match(findView(app, HOST), { state: 'valid', last_fault: null })
  t.same(app.errors, [])
})

t.test('a certificate that was replaced before is ordered without naming it', { ...options }, async (t) => {
  const { server, app } = await open(t)
  const first = await readServedId(app)
  server.suggest({ start: app.now() - 2 * DAY, end: app.now() - DAY })
  server.refuseReplacements()
  await wake(app)
  await waitUntil('the new certificate', async () => (await readServedId(app)) !== first)
  t.same(server.orders, [undefined, server.asked[0], undefined])
  t.match(findView(app, HOST), { last_fault: null })
})

t.test('without an answer the daemon renews at two thirds, and orders name nothing', { ...options }, async (t) => {
  const { server, app } = await open(t)
  const first = await readServedId(app)
  app.advance(55 * DAY)
  await wake(app)
  await waitUntil('the question', () => server.asked.length === 1)
  t.equal(findView(app, HOST)?.state, 'valid')
  app.advance(8 * DAY)
  await wake(app)
  await waitUntil('the new certificate', async () => (await readServedId(app)) !== first)
  t.same(server.orders, [undefined, undefined])
})
