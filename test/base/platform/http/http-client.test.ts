/** The HTTP client: pinned addresses, verified certificates, kept connections, limits of time and size. */
import { once } from 'node:events'
import { createSecureServer } from 'node:http2'
import { createServer as createTlsServer } from 'node:https'
import { type AddressInfo, createServer, type Socket } from 'node:net'
import t, { type Test } from 'tap'
import { createHttpClient, type HttpClient } from '../../../../src/base/platform/http/http-client.js'
import { createSelfSigned } from '../../../helpers/certificates.js'
import { webhookReceiver } from '../../../helpers/http/webhook-receiver.js'
import { waitUntil } from '../../../helpers/wait-until.js'

async function open(t: Test, authorities?: string): Promise<HttpClient> {
  const client = await createHttpClient({ maxConnections: 2, maxBodyBytes: 10, maxDroppedBytes: 10, authorities })
  t.teardown(() => client.close())
  return client
}

const request = { headers: {}, body: 'text', timeout: 5_000 }

t.test('a request goes to the given address and no other, and the host name is kept', async (t) => {
  const client = await open(t)
  const receiver = await webhookReceiver(t)
  const url = new URL(`http://name.test:${receiver.port}/path?query=1`)
  const answer = await client.post({ ...request, url, addresses: ['127.0.0.1'] })
  t.match(answer, { status: 200, isComplete: true })
  t.match(receiver.requests, [{ path: '/path?query=1', body: 'text', headers: { host: `name.test:${receiver.port}` } }])
  await t.rejects(
    client.post({ ...request, url, addresses: ['127.0.0.2'] }),
    /refused/,
    'no connection to another address',
  )
  await t.rejects(client.post({ ...request, url: new URL(`http://localhost:${receiver.port}/`), addresses: [] }))
  t.equal(receiver.requests.length, 1)
})

t.test('the second address is tried when the first refuses', async (t) => {
  const client = await open(t)
  const receiver = await webhookReceiver(t)
  const url = new URL(`http://name.test:${receiver.port}/`)
  t.match(await client.post({ ...request, url, addresses: ['::1', '127.0.0.1'] }), { status: 200 })
})

t.test('connections are kept and bounded', async (t) => {
  const client = await open(t)
  const receiver = await webhookReceiver(t)
  const url = new URL(receiver.url)
  await Promise.all(Array.from({ length: 20 }, () => client.post({ ...request, url, addresses: ['127.0.0.1'] })))
  t.equal(receiver.requests.length, 20)
  t.equal(new Set(receiver.requests.map(({ clientPort }) => clientPort)).size, 2)
})

t.test('an answer is cut off at its limit, and redirects are answers', async (t) => {
  const client = await open(t)
  const receiver = await webhookReceiver(t)
  const other = await webhookReceiver(t)
  const url = new URL(receiver.url)
  for (const [size, isComplete] of [
    [10, true],
    [11, false],
    [21, false],
    [5_000_000, false],
  ] as const) {
    receiver.answer((response) => response.end('x'.repeat(size)))
    const answer = await client.post({ ...request, url })
    t.match(answer, { status: 200, isComplete })
    t.equal(answer.body.toString(), 'x'.repeat(10))
  }
  receiver.answer((response) => response.writeHead(307, { location: other.url }).end())
  t.match(await client.post({ ...request, url }), { status: 307 })
  t.equal(other.requests.length, 0)
})

t.test('the limit of time covers the wait for a connection', async (t) => {
  const client = await open(t)
  const receiver = await webhookReceiver(t)
  receiver.answer(() => undefined)
  const url = new URL(receiver.url)
  const holders = [1, 2].map(() => client.post({ ...request, url, timeout: 60_000 }))
  const ended = Promise.allSettled(holders)
  await waitUntil('both connections are in use', () => receiver.requests.length === 2)
  for (const waiting of [1, 2].map(() => client.post({ ...request, url, timeout: 50 })))
    await t.rejects(waiting, { message: 'no answer within 0.05 s', isSent: false }, 'the one that waited was not sent')
  t.equal(receiver.requests.length, 2)
  await client.close()
  t.match(
    await ended,
    [1, 2].map(() => ({ status: 'rejected', reason: { isSent: true } })),
    'the faults of the others say so',
  )
})

t.test('the limit of time covers the wait for an answer', async (t) => {
  const client = await open(t)
  const receiver = await webhookReceiver(t)
  receiver.answer(() => undefined)
  const url = new URL(receiver.url)
  await t.rejects(client.post({ ...request, url, timeout: 1_000 }), { message: 'no answer within 1 s' })
})

t.test('a server that is no HTTP server, or says nothing, is a fault with a plain reason', async (t) => {
  const client = await open(t)
  const server = createServer((socket) => socket.on('error', () => undefined).end('220 smtp ready\r\n')).listen(
    0,
    '127.0.0.1',
  )
  await once(server, 'listening')
  t.teardown(() => server.close())
  const url = new URL(`http://127.0.0.1:${(server.address() as AddressInfo).port}/`)
  await t.rejects(client.post({ ...request, url }), { name: 'HttpFault', message: /is not HTTP/, isSent: true })
  server.close()
  await t.rejects(client.post({ ...request, url }), { name: 'HttpFault', message: /refused/, isSent: false })
})

t.test('the header of an answer', async (t) => {
  const client = await open(t)
  const receiver = await webhookReceiver(t)
  receiver.answer((response) => response.writeHead(429, { 'Retry-After': '7', 'X-List': ['a', 'b'] }).end())
  const { headers } = await client.post({ ...request, url: new URL(receiver.url) })
  t.match(headers, { 'retry-after': '7', 'x-list': ['a', 'b'] })
})

t.test('answers that never come to the final one are cut off', async (t) => {
  const client = await open(t)
  const listen = async (respond: (socket: Socket) => void): Promise<URL> => {
    const server = createServer((socket) => {
      socket.on('error', () => undefined)
      socket.once('data', () => respond(socket))
    }).listen(0, '127.0.0.1')
    await once(server, 'listening')
    t.teardown(() => server.close())
    return new URL(`http://127.0.0.1:${(server.address() as AddressInfo).port}/`)
  }
  const interim = (count: number): string => 'HTTP/1.1 103 Early Hints\r\n\r\n'.repeat(count)
  const last = 'HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n'
  const few = await listen((socket) => socket.end(`${interim(10)}${last}`))
  t.match(await client.post({ ...request, url: few }), { status: 200 })
  const many = await listen((socket) => socket.write(interim(11)))
  await t.rejects(client.post({ ...request, url: many }), { name: 'HttpFault', message: /more than 10 answers/ })
  const zero = await listen((socket) => socket.end('HTTP/1.1 000 None\r\n\r\n'))
  await t.rejects(client.post({ ...request, url: zero }), { name: 'HttpFault', message: /is not HTTP/ })
})

t.test('certificates are verified for the name of the host, not for the address', async (t) => {
  const { cert, key } = await createSelfSigned(['name.test'])
  const server = createTlsServer({ cert, key }, (_, response) => response.end('fine')).listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.teardown(() => {
    server.closeAllConnections()
    server.close()
  })
  const { port } = server.address() as AddressInfo
  const post = (client: HttpClient, name: string): ReturnType<HttpClient['post']> =>
    client.post({ ...request, url: new URL(`https://${name}:${port}/`), addresses: ['127.0.0.1'] })
  await t.rejects(post(await open(t), 'name.test'), /certificate/, 'one that nothing vouches for')
  const trusting = await open(t, cert)
  t.match(await post(trusting, 'name.test'), { status: 200 })
  await t.rejects(post(trusting, 'other.test'), { message: /certificate is for another name/, isSent: false })
})

// undici 8 offers HTTP/2 unless it is told `allowH2: false`. There one connection carries many requests.
t.test('a server that offers HTTP/2 is spoken to over HTTP/1.1', async (t) => {
  const { cert, key } = await createSelfSigned(['name.test'])
  const versions: string[] = []
  const server = createSecureServer({ cert, key, allowHTTP1: true }, ({ httpVersion }, response) => {
    versions.push(httpVersion)
    response.end('fine')
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.teardown(() => server.close())
  const { port } = server.address() as AddressInfo
  const client = await open(t, cert)
  const url = new URL(`https://name.test:${port}/`)
  t.match(await client.post({ ...request, url, addresses: ['127.0.0.1'] }), { status: 200 })
  t.same(versions, ['1.1'])
})
