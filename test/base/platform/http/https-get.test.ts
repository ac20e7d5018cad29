/** One GET: its answer, a body that is too long, a certificate that is not trusted, a server that says nothing. */
import { once } from 'node:events'
import { createServer } from 'node:https'
import { createServer as createPlainServer } from 'node:net'
import { createServer as createTlsServer } from 'node:tls'
import t from 'tap'
import { getOverHttps } from '../../../../src/base/platform/http/https-get.js'
import { createSelfSigned } from '../../../helpers/certificates.js'

const addresses = ['127.0.0.1']

t.test('answers', async (t) => {
  const { cert, key } = await createSelfSigned(['a.test'])
  const server = createServer({ cert, key }, (request, response) => {
    response.writeHead(request.url === '/there' ? 200 : 302, { location: 'https://b.test/' })
    response.end('x'.repeat(100_000))
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.teardown(() => server.close())
  const { port } = server.address() as { readonly port: number }
  const url = (path: string): URL => new URL(`https://a.test:${port}${path}`)
  const limits = { addresses, timeout: 5_000, maxBytes: 70_000 }
  const answer = await getOverHttps(url('/there'), { ...limits, authorities: cert })
  t.match(answer, { status: 200, body: 'x'.repeat(70_000) })
  t.ok(Math.abs((answer.date ?? 0) - Date.now()) < 60_000)
  t.match(await getOverHttps(url('/moved'), { ...limits, authorities: cert }), { status: 302 })
  await t.rejects(getOverHttps(url('/there'), limits), /self-signed/)
  await t.rejects(getOverHttps(url('/there'), { ...limits, addresses: [], authorities: cert }), /no address/)
})

t.test('a server that wants another protocol', async (t) => {
  const { cert, key } = await createSelfSigned(['a.test'])
  const server = createTlsServer({ cert, key }, (socket) => {
    socket.on('error', () => undefined)
    socket.once('data', () => socket.write('HTTP/1.1 101 x\r\nConnection: Upgrade\r\nUpgrade: x\r\n\r\n'))
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.teardown(() => server.close())
  const url = new URL(`https://a.test:${(server.address() as { readonly port: number }).port}/`)
  await t.rejects(getOverHttps(url, { addresses, timeout: 60_000, maxBytes: 1, authorities: cert }), /another protocol/)
})

t.test('a server that says nothing', async (t) => {
  const server = createPlainServer((socket) => socket.on('error', () => undefined)).listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.teardown(() => server.close())
  const url = new URL(`https://a.test:${(server.address() as { readonly port: number }).port}/`)
  await t.rejects(getOverHttps(url, { addresses, timeout: 50, maxBytes: 1 }), /no answer within 0\.05 s/)
})
