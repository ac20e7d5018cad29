/** The zone listener over TCP: pipelined queries, limits, faults, slow transfers, stopping. */
import { once } from 'node:events'
import { type AddressInfo, connect, createServer, Server, type Socket } from 'node:net'
import t, { type Test } from 'tap'
import { serveConnection } from '../../../src/servers/dns/tcp-connection.js'
import { startZoneListener } from '../../../src/servers/dns/zone-listener.js'
import { createServiceZone } from '../../../src/workspaces/domains/zone/zone.js'
import { openZoneServer, ZONE } from '../../helpers/dns/zone-server.js'
import { waitUntil } from '../../helpers/wait-until.js'

/** One connection, and the replies received on it. */
async function dialTcp(t: Test, port: number): Promise<{ socket: Socket; replies: () => readonly Buffer[] }> {
  const socket = connect(port, '127.0.0.1')
  t.teardown(() => socket.destroy())
  await once(socket, 'connect')
  let got = Buffer.alloc(0)
  socket.on('data', (chunk: Buffer) => {
    got = Buffer.concat([got, chunk])
  })
  const replies = (): readonly Buffer[] => {
    const all: Buffer[] = []
    for (let at = 0; at + 2 <= got.length && at + 2 + got.readUInt16BE(at) <= got.length; ) {
      all.push(got.subarray(at + 2, at + 2 + got.readUInt16BE(at)))
      at += 2 + got.readUInt16BE(at)
    }
    return all
  }
  return { socket, replies }
}

/** A framed query for the addresses of `mx`. */
function question(id: number): Buffer {
  const name = `\x02mx${ZONE.split('.')
    .map((label) => String.fromCharCode(label.length) + label)
    .join('')}\0`
  const message = Buffer.concat([
    Buffer.of(id >> 8, id & 255, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0),
    Buffer.from(`${name}\0\x01\0\x01`, 'latin1'),
  ])
  return Buffer.concat([Buffer.of(message.length >> 8, message.length & 255), message])
}

const idsOf = (replies: readonly Buffer[]): number[] => replies.map((reply) => reply.readUInt16BE(0))

t.test('pipelined queries are answered in order, however they are split', async (t) => {
  const { port } = await openZoneServer(t)
  const { socket, replies } = await dialTcp(t, port)
  const ids = Array.from({ length: 50 }, (_, id) => id)
  const all = Buffer.concat(ids.map(question))
  for (let at = 0; at < all.length; at += 7) socket.write(all.subarray(at, at + 7))
  socket.end()
  await once(socket, 'close')
  t.same(idsOf(replies()), ids, 'the last ones after the client has said all')
})

t.test('a connection without a valid query is closed', async (t) => {
  const { port } = await openZoneServer(t)
  for (const bytes of [Buffer.of(0xff, 0xff, 1, 2), Buffer.of(0, 0), Buffer.of(0, 1, 1), Buffer.alloc(14, 0xff)]) {
    const { socket, replies } = await dialTcp(t, port)
    socket.write(bytes)
    await once(socket, 'close')
    t.same(replies(), [])
  }
})

t.test('an address may have twenty connections, and gets its slots back when they end', async (t) => {
  const { port } = await openZoneServer(t)
  const held = await Promise.all(Array.from({ length: 20 }, () => dialTcp(t, port)))
  const one = await dialTcp(t, port)
  await once(one.socket, 'close')
  held[0]?.socket.destroy()
  await waitUntil('there is a place', async () => {
    const { socket, replies } = await dialTcp(t, port)
    socket.write(question(1))
    await Promise.race([once(socket, 'data'), once(socket, 'close')])
    return replies().length === 1
  })
})

t.test('idle connections from many networks do not block other queries', async (t) => {
  const { port } = await openZoneServer(t)
  const flood = Array.from({ length: 500 }, (_, at) => {
    const localAddress = `127.3.${at % 5}.${1 + Math.floor(at / 100)}`
    return connect({ host: '127.0.0.1', port, localAddress }).on('error', () => undefined)
  })
  t.teardown(() => {
    for (const socket of flood) socket.destroy()
  })
  await waitUntil('all are connected', () => flood.every((socket) => !socket.connecting))
  for (let times = 0; times < 3; times++) {
    const { socket, replies } = await dialTcp(t, port)
    socket.write(question(1))
    await Promise.race([once(socket, 'data'), once(socket, 'close')])
    t.equal(replies().length, 1)
  }
})

t.test('a fault of the listener is logged, and it goes on', async (t) => {
  const { port, errors } = await openZoneServer(t)
  // Faults of the system cannot be provoked: the server on this port is made to emit one.
  const handles = Reflect.get(process, '_getActiveHandles') as () => readonly unknown[]
  const isOurs = (handle: unknown): handle is Server =>
    handle instanceof Server && (handle.address() as AddressInfo | null)?.port === port
  handles.call(process).find(isOurs)?.emit('error', new Error('accept ENFILE'))
  t.match(errors, [{ err: { message: 'accept ENFILE' } }])
  const { socket, replies } = await dialTcp(t, port)
  socket.write(question(1))
  await once(socket, 'data')
  t.equal(replies().length, 1)
})

t.test('a long transfer to a slow client leaves no listeners behind at each wait', async (t) => {
  const [count, size] = [500, 60_000]
  let [most, waits, got] = [0, 0, 0]
  const server = createServer({ allowHalfOpen: true }, (socket) => {
    socket.on('drain', () => (waits += 1))
    const respondOverTcp = async function* (): AsyncGenerator<Buffer> {
      for (let left = count; left > 0; left -= 1) {
        most = Math.max(most, socket.listenerCount('close'))
        yield Buffer.alloc(size)
      }
    }
    serveConnection(socket, '127.0.0.1', { respondOverTcp })
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.teardown(() => server.close())
  const socket = connect((server.address() as AddressInfo).port, '127.0.0.1')
  socket.on('data', ({ length }: Buffer) => {
    got += length
    socket.pause()
    // Some turns of the event loop later, in each of which the server would send more.
    setImmediate(() => setImmediate(() => setImmediate(() => socket.resume())))
  })
  socket.end(question(1))
  await once(socket, 'close')
  t.equal(got, count * (2 + size))
  t.ok(waits > 5, `${waits} waits`)
  t.ok(most < 5, `${most} listeners`)
})

t.test('stopping answers pending queries and closes the ports', async (t) => {
  const { port, listener } = await openZoneServer(t)
  const { socket } = await dialTcp(t, port)
  socket.write(question(1))
  await once(socket, 'data')
  await listener.stop(1000)
  if (!socket.closed) await once(socket, 'close')
  await t.rejects(dialTcp(t, port), { code: 'ECONNREFUSED' })
})

t.test('if one address cannot be bound, nothing stays open', async (t) => {
  const { port, listener } = await openZoneServer(t)
  const log = { error: () => undefined, warn: () => undefined }
  const zone = createServiceZone({ read: () => [] }, () => ({}) as never)
  const listen = [
    { host: '127.0.0.1', port: 0 },
    { host: '127.0.0.1', port },
  ]
  const deps = { zone, listen, secondaries: [], notify: [], clock: () => 0, log }
  await t.rejects(startZoneListener(deps), { code: 'EADDRINUSE' })
  t.equal(listener.endpoints.length, 1)
})
