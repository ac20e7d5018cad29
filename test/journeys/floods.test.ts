/**
 * Floods of connections from a few networks that fill a listener, while an honest client connects.
 *
 * One daemon whose limits are a fifth of the defaults, so that the floods are quick. Each attacker's network is
 * another /24 of loopback.
 */
import { connect, type Socket } from 'node:net'
import { setTimeout as pause } from 'node:timers/promises'
import t, { type Test } from 'tap'
import { testDaemon } from '../helpers/daemon/test-daemon.js'
import { deliverInbound, idOfReply, inboundText, waitUntilProcessed } from '../helpers/smtp/deliver-inbound.js'
import { type Dialogue, dial } from '../helpers/smtp/smtp-dialogue.js'
import { waitUntil } from '../helpers/wait-until.js'

const MAX = 200

const app = await testDaemon(t, {
  settings: {
    submission: { max_connections: MAX, max_connections_per_address: 40, max_connections_per_network: 100 },
    inbound: { max_connections: MAX, max_connections_per_address: 10, min_data_rate_patience: '2s' },
    api: { max_connections: MAX, max_connections_per_address: 40, max_connections_per_network: 100 },
  },
})
const added = await app.cli('domain', 'add', 'home.test', '--inbound', '--force', '--workspace', app.workspaceId)
if (added.status !== 0) throw new Error(added.err)
const submissionPort = (tls: boolean): number => app.daemon.submission.find((at) => at.tls === tls)?.port ?? 0
const mxPort = app.daemon.mx[0]?.port ?? 0
const [api] = app.daemon.api
const apiPort = api !== undefined && api.kind !== 'unix' ? api.port : 0

/** As many connections as the listener takes, from so many networks. */
function crowd(port: number, networks: number): Promise<readonly Dialogue[]> {
  return Promise.all(Array.from({ length: MAX }, (_, at) => dial(port, { localAddress: network(at, networks) })))
}

function network(at: number, networks: number): string {
  return `127.2.${1 + (at % networks)}.1`
}

async function silentSockets(port: number, networks: number): Promise<readonly Socket[]> {
  const sockets = Array.from({ length: MAX }, (_, at) =>
    connect({ host: '127.0.0.1', port, localAddress: network(at, networks) }).on('error', () => undefined),
  )
  await waitUntil('all are connected', () => sockets.every((socket) => !socket.connecting))
  return sockets
}

async function submits(t: Test, what: string): Promise<void> {
  for (let times = 0; times < 3; times++) t.match(await app.submit({}), /^250 2\.0\.0 /, what)
}

t.test('five addresses that are silent, or send NOOP endlessly, do not block submissions', async (t) => {
  const flood = await crowd(submissionPort(false), 5)
  await Promise.all(flood.map((client) => client.readReply()))
  await submits(t, 'at once')
  await Promise.all(flood.slice(20).map((client) => client.send('EHLO noop.test\r\nNOOP\r\nNOOP\r\n')))
  await submits(t, 'words earn no place')
  for (const client of flood) client.reset()
})

t.test('unfinished TLS handshakes do not block submissions', async (t) => {
  const flood = await silentSockets(submissionPort(true), 5)
  for (const socket of flood) socket.write(Buffer.from([22, 3, 1, 2, 0, 1]))
  for (let times = 0; times < 3; times++) {
    const client = await dial(submissionPort(true), { tls: true })
    t.match(await client.readReply(), /^220 /)
    client.end()
  }
  for (const socket of flood) socket.destroy()
})

t.test('twenty addresses that send messages very slowly do not block inbound mail', async (t) => {
  const flood = await crowd(mxPort, 20)
  await Promise.all(flood.map((client) => client.readReply()))
  for (const line of ['EHLO slow.test', 'MAIL FROM:<a@slow.test>', 'RCPT TO:<info@home.test>', 'DATA']) {
    await Promise.all(flood.map((client) => client.sendCommand(line)))
  }
  let over = false
  const dripped = (async () => {
    while (!over) {
      await Promise.all(flood.map((client) => client.send('x')))
      await pause(50)
    }
  })()
  const message = { to: ['info@home.test'], raw: inboundText() }
  const reply = await waitUntil('a place', async () => {
    const answer = await deliverInbound(t, app, message)
    return answer.startsWith('250') && answer
  })
  t.equal((await waitUntilProcessed(app, idOfReply(reply)))['status'], 'processed')
  await Promise.all(flood.map((client) => client.waitForClose()))
  over = true
  await dripped
  t.pass('none of them stays')
})

t.test('connections to the API without a request or with half a handshake block no request', async (t) => {
  const flood = await silentSockets(apiPort, 5)
  const asks = async (): Promise<number> =>
    (await app.rest('GET', '/v1/domains', { headers: { connection: 'close' } })).status
  for (let times = 0; times < 3; times++) t.equal(await asks(), 200)
  for (const socket of flood) socket.write(Buffer.from([22, 3, 1, 2, 0, 1]))
  for (let times = 0; times < 3; times++) t.equal(await asks(), 200)
  for (const socket of flood) socket.destroy()
})

t.test('no error was logged', async (t) => t.same(app.errors, []))
