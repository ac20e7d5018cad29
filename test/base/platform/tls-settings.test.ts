/** What a listener speaks, asked by real handshakes with an RSA and with an ECDSA certificate. */
import { spawn } from 'node:child_process'
import { createPrivateKey, generateKeyPairSync } from 'node:crypto'
import { once } from 'node:events'
import type { AddressInfo } from 'node:net'
import { text } from 'node:stream/consumers'
import { type ConnectionOptions, connect, createSecureContext, createServer } from 'node:tls'
import { generate } from 'selfsigned'
import t, { type Test } from 'tap'
import { serverTlsSettings } from '../../../src/base/platform/tls-settings.js'
import { skipWithout } from '../../helpers/programs/skip-without.js'

async function startServer(t: Test, keyType: 'rsa' | 'ec'): Promise<number> {
  const pair = await generate([{ name: 'commonName', value: 'localhost' }], { keyType, algorithm: 'sha256' })
  const server = createServer({ ...serverTlsSettings, cert: pair.cert, key: pair.private }, (socket) => {
    socket.on('error', () => undefined)
    socket.resume()
  })
  server.on('tlsClientError', () => undefined)
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.teardown(() => void server.close())
  return (server.address() as AddressInfo).port
}

/** The name of the cipher; null: no handshake. */
function shakeHands(port: number, options: ConnectionOptions): Promise<string | null> {
  return new Promise((resolve) => {
    const socket = connect({ host: '127.0.0.1', port, rejectUnauthorized: false, ...options })
    socket.once('error', () => resolve(null))
    socket.once('secureConnect', () => {
      resolve(socket.getCipher().name)
      socket.destroy()
    })
  })
}

t.test('what was found out for the settings is no error of the next private key that is parsed', async (t) => {
  const { privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' })
  const pem = privateKey.export({ type: 'pkcs8', format: 'pem' })
  t.equal(createPrivateKey(pem).asymmetricKeyType, 'ec')
  t.doesNotThrow(() => createSecureContext(serverTlsSettings))
})

const skip = skipWithout('openssl')

const refused: readonly ConnectionOptions[] = [
  { minVersion: 'TLSv1', maxVersion: 'TLSv1', ciphers: 'ALL:@SECLEVEL=0' },
  { minVersion: 'TLSv1.1', maxVersion: 'TLSv1.1', ciphers: 'ALL:@SECLEVEL=0' },
  ...[
    'kRSA',
    'AES128-GCM-SHA256',
    'ECDHE-RSA-AES128-SHA',
    'ECDHE-RSA-AES256-SHA384',
    'ECDHE-ECDSA-AES128-SHA256',
    'ECDHE-ECDSA-AES128-CCM8',
    'ECDHE-ECDSA-ARIA128-GCM-SHA256',
    'DHE-RSA-AES128-GCM-SHA256',
    'aNULL',
    'eNULL',
  ].map((ciphers): ConnectionOptions => ({ maxVersion: 'TLSv1.2', ciphers: `${ciphers}:@SECLEVEL=0` })),
]

t.test('only forward secrecy with authenticated encryption is spoken', async (t) => {
  for (const keyType of ['rsa', 'ec'] as const) {
    const port = await startServer(t, keyType)
    for (const options of refused) {
      t.equal(await shakeHands(port, options), null, `${keyType}: ${options.ciphers} ${options.maxVersion}`)
    }
    t.equal(await shakeHands(port, {}), 'TLS_AES_256_GCM_SHA384')
    const kind = keyType === 'rsa' ? 'RSA' : 'ECDSA'
    for (const cipher of ['AES128-GCM-SHA256', 'AES256-GCM-SHA384', 'CHACHA20-POLY1305']) {
      const name = `ECDHE-${kind}-${cipher}`
      t.equal(await shakeHands(port, { maxVersion: 'TLSv1.2', ciphers: name }), name)
    }
  }
})

t.test('a client cannot choose a group that costs the main thread tens of milliseconds', { skip }, async (t) => {
  const port = await startServer(t, 'ec')
  const connectWith = async (group: string): Promise<boolean> => {
    const words = ['s_client', '-connect', `127.0.0.1:${port}`, '-groups', group, '-tls1_3']
    const client = spawn('openssl', words, { stdio: ['ignore', 'pipe', 'ignore'] })
    return /New, TLSv1\.3/.test(await text(client.stdout))
  }
  for (const group of ['ffdhe2048', 'ffdhe8192', 'secp521r1']) t.notOk(await connectWith(group), group)
  for (const group of ['X25519', 'prime256v1', 'secp384r1']) t.ok(await connectWith(group), group)
})

t.test('a client cannot renegotiate', async (t) => {
  const port = await startServer(t, 'ec')
  const socket = connect({ host: '127.0.0.1', port, rejectUnauthorized: false, maxVersion: 'TLSv1.2' })
  await once(socket, 'secureConnect')
  const outcome = await new Promise<Error | null>((resolve) => {
    socket.once('error', resolve)
    socket.renegotiate({ rejectUnauthorized: false }, resolve)
  })
  t.match(outcome?.message, /no renegotiation/)
  socket.destroy()
})
