/** Validations by tls-alpn-01 are found among TLS connections. */
import { once } from 'node:events'
import { createServer, type Socket } from 'node:net'
import { connect } from 'node:tls'
import { assert, property, uint8Array } from 'fast-check'
import t, { type Test } from 'tap'
import { ALPN_PROTOCOL, MAX_HELLO_BYTES, readClientHello } from '../../../src/operations/certificates/client-hello.js'

/** The first bytes of Node's own TLS client. */
async function helloOf(t: Test, servername: string | undefined, protocols: readonly string[]): Promise<Buffer> {
  const server = createServer().listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.teardown(() => server.close())
  const address = server.address()
  const port = typeof address === 'object' ? (address?.port ?? 0) : 0
  const named = servername === undefined ? {} : { servername }
  const client = connect({
    host: '127.0.0.1',
    port,
    ...named,
    ALPNProtocols: [...protocols],
    rejectUnauthorized: false,
  })
  client.on('error', () => undefined)
  const [socket] = (await once(server, 'connection')) as [Socket]
  const [bytes] = (await once(socket, 'data')) as [Buffer]
  socket.destroy()
  client.destroy()
  return bytes
}

t.test('a ClientHello with the protocol alone and a name is a validation', async (t) => {
  const bytes = await helloOf(t, 'Mail.A.test', [ALPN_PROTOCOL])
  t.same(readClientHello(bytes), { kind: 'validation', name: 'mail.a.test' })
  for (let length = 0; length < bytes.length; length += 1) {
    t.equal(readClientHello(bytes.subarray(0, length)).kind, 'incomplete')
  }
  t.equal(readClientHello(Buffer.concat([bytes, Buffer.from('more')])).kind, 'validation')
})

t.test('others are ordinary connections', async (t) => {
  t.equal(readClientHello(await helloOf(t, 'mail.a.test', ['h2', 'http/1.1'])).kind, 'ordinary')
  t.equal(readClientHello(await helloOf(t, 'mail.a.test', [ALPN_PROTOCOL, 'http/1.1'])).kind, 'ordinary')
  t.equal(readClientHello(await helloOf(t, 'mail.a.test', ['http/1.1', ALPN_PROTOCOL])).kind, 'ordinary')
  t.equal(readClientHello(await helloOf(t, undefined, [ALPN_PROTOCOL])).kind, 'ordinary', 'no name')
  t.equal(readClientHello(Buffer.from('GET / HTTP/1.1\r\n\r\n')).kind, 'ordinary')
  t.equal(readClientHello(Buffer.from([22, 3, 1, 0xff, 0xff])).kind, 'ordinary', 'longer than the limit')
  t.equal(readClientHello(Buffer.alloc(MAX_HELLO_BYTES)).kind, 'ordinary')
})

t.test('no bytes make it fail', async (t) => {
  const real = await helloOf(t, 'mail.a.test', [ALPN_PROTOCOL])
  await assert(
    property(uint8Array({ maxLength: 2_000 }), (bytes) => {
      readClientHello(Buffer.from(bytes))
      readClientHello(Buffer.concat([Buffer.from([22, 3, 1, bytes.length >> 8, bytes.length & 0xff, 1]), bytes]))
      const damaged = Buffer.from(real)
      bytes.forEach((byte, at) => {
        if (at % 2 === 0) damaged[((bytes[at + 1] ?? 0) * 7 + at) % damaged.length] = byte
      })
      readClientHello(damaged)
    }),
  )
})
