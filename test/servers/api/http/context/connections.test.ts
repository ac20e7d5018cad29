/** The REST listener and the network: connection limits, time limits, answers to malformed requests. */
import { existsSync, linkSync, statSync, writeFileSync } from 'node:fs'
import { connect, createServer } from 'node:net'
import { join } from 'node:path'
import { TLSSocket } from 'node:tls'
import t from 'tap'
import { json } from '../../../../../src/servers/api/http/answer.js'
import { createSelfSigned } from '../../../../helpers/certificates.js'
import { temporaryFolder } from '../../../../helpers/database/database.js'
import {
  findFaults,
  post,
  request,
  startTestApi,
  testRoute,
  testRoutes,
  withKey,
} from '../../../../helpers/http/test-api.js'
import { openWire, type WireAnswer } from '../../../../helpers/http/wire.js'
import { waitUntil } from '../../../../helpers/wait-until.js'

function code({ status, body }: WireAnswer): string {
  const { error } = JSON.parse(body) as { readonly error: { readonly code: string; readonly status: number } }
  return `${status} ${error.status} ${error.code}`
}

const from = ({ body }: WireAnswer): unknown => (JSON.parse(body) as { readonly remoteAddress?: unknown }).remoteAddress

t.test('plain HTTP at the TLS port gets a readable answer', async (t) => {
  const api = await startTestApi(t)
  for (const line of ['GET /v1/things', 'DELETE /v1/things', 'POST /v1/emails', 'PRI *']) {
    const client = await api.connect({ port: api.port() })
    client.send(request(line, withKey))
    const answer = await client.answer()
    t.equal(code(answer), '400 400 validation_error', line)
    t.match(answer.body, /https:\/\//)
    t.match(answer.headers, { connection: 'close', 'x-request-id': /./, 'x-ratelimit-limit': '1000' })
    await client.closed
  }
  t.equal((await api.ask('GET /v1/things', withKey)).status, 200)
  const deaf = connect({ host: '127.0.0.1', port: api.port(), allowHalfOpen: true })
  t.teardown(() => deaf.destroy())
  deaf.write(request('GET /v1/things'))
  await waitUntil('one that never closes is closed', () => api.connections.size === 0)
})

t.test('scanners and aborted connections neither stop the listener nor fill its log', async (t) => {
  const api = await startTestApi(t, { times: { handshake: 400 } })
  const openings = ['', '\x16', '\x16\x03\x01\x00\x05hello', '\x00\x01', 'SSH-2.0-scan\r\n', '\x80\x2e\x01']
  for (const opening of openings) {
    const scanner = await api.connect({ port: api.port() })
    scanner.send(opening)
    await scanner.closed
    const leaving = await api.connect({ port: api.port() })
    leaving.send(opening)
    leaving.socket.resetAndDestroy()
    await leaving.closed
  }
  const half = await api.connect()
  half.send('GET /v1/thi')
  half.socket.destroy()
  await waitUntil('all are gone', () => api.connections.size === 0)
  t.equal((await api.ask('GET /v1/things', withKey)).status, 200)
  t.same(findFaults(api.log), [])
})

t.test('TLS starts at 1.2, and a new certificate applies from the next handshake on', async (t) => {
  const api = await startTestApi(t)
  await t.rejects(api.connect({ port: api.port(), ca: api.certificate.cert, maxVersion: 'TLSv1.1' }))
  const old = await api.connect({ port: api.port(), ca: api.certificate.cert, maxVersion: 'TLSv1.2' })
  const renewed = await createSelfSigned(['localhost'])
  api.listener.updateSecureContext(renewed)
  await t.rejects(api.connect())
  const client = await api.connect({ port: api.port(), ca: renewed.cert })
  t.equal(client.socket instanceof TLSSocket && client.socket.getProtocol(), 'TLSv1.3')
  await t.rejects(api.connect({ port: api.port(), ca: renewed.cert, maxVersion: 'TLSv1.1' }), 'the floor stays')
  old.send(request('GET /v1/things', withKey))
  t.equal((await old.answer()).status, 200)
})

t.test('a malformed request gets an error in the usual form, and its connection ends', async (t) => {
  const api = await startTestApi(t)
  const get = request('GET /v1/things', withKey)
  const rows: readonly (readonly [what: string, text: string, answer: string])[] = [
    ['words', 'hello\r\n\r\n', '400 400 validation_error'],
    ['an unknown method', request('FETCH /v1/things'), '400 400 validation_error'],
    ['no version', 'GET /v1/things\r\n\r\n', '400 400 validation_error'],
    ['a blank before a colon', get.replace('Host:', 'Host :'), '400 400 validation_error'],
    ['a header without a colon', get.replace('Host:', 'Host'), '400 400 validation_error'],
    ['a bare line feed in a header', get.replace('localhost', 'local\0host'), '400 400 validation_error'],
    ['two lengths', request('POST /v1/things', 'Content-Length: 1', 'Content-Length: 2'), '400 400 validation_error'],
    [
      'a length and chunks',
      request('POST /v1/things', 'Content-Length: 1', 'Transfer-Encoding: chunked'),
      '400 400 validation_error',
    ],
    ['a length that is none', request('POST /v1/things', 'Content-Length: -1'), '400 400 validation_error'],
    ['another coding', request('POST /v1/things', 'Transfer-Encoding: gzip'), '400 400 validation_error'],
    [
      'a broken chunk',
      `${request('POST /v1/things', withKey, 'Content-Type: application/json', 'Transfer-Encoding: chunked')}zz\r\n`,
      '400 400 validation_error',
    ],
    ['a header without end', request('GET /v1/things', `X-Long: ${'x'.repeat(20_000)}`), '431 431 validation_error'],
    ['an address without end', request(`GET /v1/things?${'x'.repeat(20_000)}`), '431 431 validation_error'],
    ['CONNECT', request('CONNECT evil.test:443'), '405 405 method_not_allowed'],
  ]
  for (const [what, text, expected] of rows) {
    const client = await api.connect()
    client.send(text)
    const answer = await client.answer()
    t.equal(code(answer), expected, what)
    t.match(answer.headers, { connection: 'close', 'x-request-id': /./, 'x-ratelimit-remaining': /./ }, what)
    await client.closed
  }
  t.equal(code(await api.ask(`GET /v1/things?${'x'.repeat(9_000)}`, withKey)), '414 414 validation_error')
  const client = await api.connect()
  client.send('GET /v1/things HTTP/1.1\r\n\r\n')
  t.equal(code(await client.answer()), '400 400 validation_error', 'Host is required')
  client.send('GET /v1/things HTTP/1.0\r\n\r\n')
  t.equal(code(await client.answer()), '401 401 missing_api_key', 'but not in HTTP/1.0')
  t.same(findFaults(api.log), [])
})

t.test('a valid request is answered before the malformed one after it is refused', async (t) => {
  let finish = (): void => undefined
  let running = 0
  const held = new Promise<void>((resolve) => {
    finish = resolve
  })
  const run = () => {
    running += 1
    return held.then(() => json(200, {}))
  }
  const api = await startTestApi(t, { routes: [testRoute({ method: 'GET', path: '/slow', run })] })
  const client = await api.connect()
  // Without a blank line, at which a further request would wait for its turn.
  client.send(`${request('GET /slow', withKey)}no request at all\r\n`)
  await waitUntil('the first is under way', () => running === 1)
  await waitUntil('the second is refused', () => api.log.some(({ msg }) => msg === 'a client of the API failed'))
  finish()
  t.equal((await client.answer()).status, 200)
  await client.closed
})

t.test('a slow client gets 408 or is disconnected', async (t) => {
  const hasty = await startTestApi(t, { times: { header: 60 } })
  const silent = await hasty.connect()
  t.equal(code(await silent.answer()), '408 408 validation_error', 'no header')
  const slow = await hasty.connect()
  slow.send('GET /v1/things HTTP/1.1\r\nHost: ')
  t.equal(code(await slow.answer()), '408 408 validation_error', 'half a header')
  await Promise.all([silent.closed, slow.closed])

  const strict = await startTestApi(t, { times: { header: 120, request: 120 } })
  const bodies = [post('/v1/things', '{"text":"hello"}').slice(0, -1)]
  bodies.push(request('POST /v1/things', withKey, 'Content-Type: application/json', 'Transfer-Encoding: chunked'))
  for (const text of bodies) {
    const client = await strict.connect()
    client.send(text)
    t.equal(code(await client.answer()), '408 408 validation_error', 'half a body')
    await client.closed
  }

  const closing = await startTestApi(t, { times: { handshake: 60 } })
  await (await closing.connect({ port: closing.port() })).closed
  const forgetful = await startTestApi(t, { times: { keepAlive: 60 } })
  const kept = await forgetful.connect()
  kept.send(request('GET /v1/things', withKey))
  t.equal((await kept.answer()).status, 200)
  await kept.closed
  for (const api of [hasty, strict, closing, forgetful]) {
    await waitUntil('all are gone', () => api.connections.size === 0)
    t.same(findFaults(api.log), [])
  }
})

t.test('an unread answer holds its connection for a limited time', async (t) => {
  const large = testRoute({
    method: 'GET',
    path: '/large',
    run: () => ({ kind: 'bytes', type: 'x/y', bytes: Buffer.alloc(5e7) }),
  })
  const api = await startTestApi(t, { routes: [large], times: { inactivity: 100 } })
  const client = await api.connect()
  client.socket.pause()
  client.send(request('GET /large', withKey))
  await waitUntil('it is closed', () => api.connections.size === 0)
  t.same(findFaults(api.log), [])
})

t.test('connections are limited in total, and idle ones make room', async (t) => {
  let now = 1_000_000
  const api = await startTestApi(t, { maxConnections: 3, clock: () => now })
  const asked = await api.connect()
  asked.send(request('GET /v1/things', withKey))
  await asked.answer()
  now += 1
  const silent = await api.connect()
  const half = await api.connect({ port: api.port() })
  const first = await api.connect()
  await asked.closed
  await t.rejects(api.connect(), 'the others have come just now')
  now += 10_000
  first.send(request('GET /v1/things', withKey))
  t.equal((await first.answer()).status, 200)
  await api.connect()
  await silent.closed
  await api.connect()
  await half.closed
  await api.connect()
  await first.closed
  t.equal(api.connections.size, 3, 'who has brought no request goes first, then who is only kept')
  const idle = api.log.filter(({ msg, reason }) => msg === 'an API client was turned away' && reason === 'idle')
  t.equal(idle.length, 4)
})

t.test('an address has a connection limit, and a trusted proxy a higher one', async (t) => {
  const listen = [
    { kind: 'tls', host: '127.0.0.1', port: 0 },
    { kind: 'http', host: '127.0.0.1', port: 0 },
  ] as const
  const api = await startTestApi(t, { listen, maxConnectionsPerAddress: 2, maxConnections: 5 })
  await api.connect()
  await api.connect()
  await t.rejects(api.connect())
  for (let more = 0; more < 3; more += 1) {
    const proxied = await api.connect({ port: api.port(1) })
    proxied.send('GET /v1/things HTTP/1.1\r\n')
    await waitUntil('it has a place', () => api.connections.size === 3 + more)
  }
  const tooMany = await api.connect({ port: api.port(1) })
  t.equal(code(await tooMany.answer()), '503 503 service_unavailable', 'plain HTTP gets a word')
  await tooMany.closed
})

t.test('the client address is taken from trusted proxies only', async (t) => {
  const folder = temporaryFolder(t)
  const path = join(folder, 'api.sock')
  const listen = [
    { kind: 'tls', host: '127.0.0.1', port: 0 },
    { kind: 'http', host: '127.0.0.1', port: 0 },
    { kind: 'unix', path },
  ] as const
  const forwarded = 'X-Forwarded-For: 198.51.100.9, 203.0.113.7'
  const strict = await startTestApi(t, { listen })
  t.equal(from(await strict.ask('GET /v1/things', withKey, forwarded)), '127.0.0.1')
  t.equal((await strict.ask('GET /v1/things', withKey, 'X-Forwarded-Proto: http')).status, 200)
  for (const where of [{ port: strict.port(1) }, { path }]) {
    const client = await strict.connect(where)
    client.send(request('GET /v1/things', withKey, forwarded))
    t.equal(from(await client.answer()), '203.0.113.7')
    client.send(request('GET /v1/things', withKey))
    t.equal(from(await client.answer()), '127.0.0.1')
    client.send(request('GET /v1/things', withKey, 'X-Forwarded-Proto: https', 'Origin: https://localhost'))
    t.equal((await client.answer()).status, 200)
    client.send(request('GET /v1/things', withKey, 'X-Forwarded-Proto: http'))
    t.match((await client.answer()).body, /HTTPS only/, 'the proxy says that the key came in the clear')
  }
  const trusting = await startTestApi(t, { trustedProxies: ['127.0.0.0/8', '203.0.113.0/24'] })
  t.equal(from(await trusting.ask('GET /v1/things', withKey, forwarded)), '198.51.100.9')
})

t.test('an unauthenticated client counts by the address that the proxy reports', async (t) => {
  const listen = [{ kind: 'http', host: '127.0.0.1', port: 0 }] as const
  const api = await startTestApi(t, { listen, unauthenticatedRequests: 1 })
  const client = await api.connect({ port: api.port() })
  const status = async (address: string) => {
    client.send(request('GET /v1/things', `X-Forwarded-For: ${address}`))
    return (await client.answer()).status
  }
  t.equal(await status('203.0.113.7'), 401)
  t.equal(await status('203.0.113.7'), 429)
  t.equal(await status('203.0.113.8'), 401)
  t.equal(await status('2001:db8::1'), 401)
  t.equal(await status('2001:db8::2'), 429, 'a network of IPv6 is one client')
})

t.test('a Unix socket is open to its group, replaced after a crash, and removed on shutdown', async (t) => {
  const folder = temporaryFolder(t)
  const path = join(folder, 'api.sock')
  const listen = [{ kind: 'unix', path }] as const
  const api = await startTestApi(t, { listen })
  t.equal(statSync(path).mode & 0o777, 0o660)
  await t.rejects(startTestApi(t, { listen }), /is in use: another program answers there/)
  const client = await openWire(t, { path })
  client.send(request('GET /v1/things', withKey))
  t.equal((await client.answer()).status, 200, 'it answers still')
  await api.listener.close()
  t.notOk(existsSync(path))

  await staleSocket(path)
  const again = await startTestApi(t, { listen })
  t.same(again.listener.endpoints, listen)
  await again.listener.close()

  writeFileSync(path, 'precious')
  await t.rejects(startTestApi(t, { listen }), /exists and is not a socket/)
  await t.rejects(startTestApi(t, { listen: [{ kind: 'unix', path: join(folder, 'none', 'api.sock') }] }), {
    code: 'ENOENT',
  })
})

t.test('an endpoint that cannot be bound leaves nothing open', async (t) => {
  const taken = await startTestApi(t)
  const folder = temporaryFolder(t)
  const path = join(folder, 'api.sock')
  const listen = [
    { kind: 'unix', path },
    { kind: 'tls', host: '127.0.0.1', port: taken.port() },
  ] as const
  await t.rejects(startTestApi(t, { listen, routes: testRoutes }), { code: 'EADDRINUSE' })
  t.notOk(existsSync(path))
})

/** The socket file of a program that was killed: nothing listens on it. */
async function staleSocket(path: string): Promise<void> {
  const other = `${path}.other`
  const server = createServer().listen(other)
  await waitUntil('it listens', () => server.listening)
  linkSync(other, path)
  await new Promise((resolve) => server.close(resolve))
}
