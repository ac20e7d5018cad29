/**
 * Debian's Pebble, an ACME server for tests, with pebble-challtestsrv as the DNS of its validations: both as child
 * processes on free ports of 127.0.0.1. Its certificates have no limit on rates; its accounts live as long as it does.
 */
import { sign } from 'node:crypto'
import { writeFileSync } from 'node:fs'
import type { IncomingMessage } from 'node:http'
import { request } from 'node:https'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import type { Test } from 'tap'
import { createSelfSigned } from '../certificates.js'
import { temporaryFolder } from '../database/database.js'
import { freeBase } from '../free-port.js'
import { type ChildServer, childServer } from './child-server.js'
import { skipWithout } from './skip-without.js'

export interface Pebble {
  readonly directory: string
  /** Signs the certificate of the directory. */
  readonly caFile: string
  /** Where it validates: the ports that it connects to on 127.0.0.1. */
  readonly httpPort: number
  readonly tlsPort: number
  /** Its root certificate, which changes with each start. */
  readonly readRoot: () => Promise<string>
  /** Validations of this name go to the address. */
  readonly pointTo: (name: string, address: string) => Promise<void>
  /** `HOST:PORT` of the DNS of its validations: every name is at 127.0.0.1. */
  readonly dnsAddress: string
  readonly stop: () => void
  /** Deactivates an account, as its owner can. */
  readonly deactivate: (key: string, url: string) => Promise<void>
  /** Starts it again, without its accounts, orders and root. */
  readonly restart: () => Promise<void>
  /** Lines of its log with these words. */
  readonly listLines: (words: string) => readonly string[]
}

interface PebbleOptions {
  /** Seconds for which its certificates are valid. */
  readonly lifetime?: number
  /** Names that it refuses. */
  readonly refused?: readonly string[]
  /** It takes up to three seconds for each validation. */
  readonly slow?: boolean
  /** It believes every challenge, without a connection. */
  readonly trusting?: boolean
}

export function skipWithoutPebble(): false | string {
  return skipWithout('pebble') || skipWithout('pebble-challtestsrv')
}

const offsets = [0, 1, 2, 3, 4, 5]

export async function startPebble(
  t: Test,
  { lifetime = 7_776_000, refused = [], slow = false, trusting = false }: PebbleOptions = {},
): Promise<Pebble> {
  const home = temporaryFolder(t)
  const base = await freeBase(offsets)
  const [port, management, dnsPort, dnsManagement, httpPort, tlsPort] = offsets.map((offset) => base + offset)
  const { cert, key } = await createSelfSigned(['localhost', '127.0.0.1'])
  const at = (name: string): string => join(home, name)
  writeFileSync(at('cert.pem'), cert)
  writeFileSync(at('key.pem'), key)
  const pebble = {
    listenAddress: `127.0.0.1:${port}`,
    managementListenAddress: `127.0.0.1:${management}`,
    certificate: at('cert.pem'),
    privateKey: at('key.pem'),
    httpPort,
    tlsPort,
    domainBlocklist: refused,
    certificateValidityPeriod: lifetime,
  }
  writeFileSync(at('pebble.json'), JSON.stringify({ pebble }))
  const dnsWords = ['-dns01', `127.0.0.1:${dnsPort}`, '-management', `127.0.0.1:${dnsManagement}`, '-defaultIPv6', '']
  const unused = ['-http01', '', '-https01', '', '-tlsalpn01', '']
  await childServer(t, ['pebble-challtestsrv', ...dnsWords, ...unused], 'management server')
  const trust = trusting ? ['PEBBLE_VA_ALWAYS_VALID=1'] : []
  const variables = [...trust, slow ? 'PEBBLE_VA_SLEEPTIME=3' : 'PEBBLE_VA_NOSLEEP=1', 'PEBBLE_AUTHZREUSE=0']
  const words = ['env', ...variables, 'pebble', '-config', at('pebble.json'), '-dnsserver', `127.0.0.1:${dnsPort}`]
  const start = (): Promise<ChildServer> => childServer(t, words, 'ACME directory available')
  let server = await start()
  return {
    directory: `https://localhost:${port}/dir`,
    caFile: at('cert.pem'),
    httpPort: httpPort ?? 0,
    tlsPort: tlsPort ?? 0,
    readRoot: () => readRoot(management ?? 0, cert),
    pointTo: async (host, address) => {
      const body = JSON.stringify({ host: `${host}.`, addresses: [address] })
      const post = (path: string): Promise<unknown> =>
        fetch(`http://127.0.0.1:${dnsManagement}/${path}`, { method: 'POST', body })
      await post('clear-a')
      await post('add-a')
    },
    dnsAddress: `127.0.0.1:${dnsPort}`,
    stop: () => server.signal('SIGKILL'),
    deactivate: (accountKey, accountUrl) => deactivate({ port: port ?? 0, ca: cert, accountKey, accountUrl }),
    restart: async () => {
      server.signal('SIGKILL')
      await server.ended
      server = await start()
    },
    listLines: (part) => server.listLines(part),
  }
}

function readRoot(port: number, ca: string): Promise<string> {
  return new Promise((resolve, reject) => {
    const sent = request({ host: '127.0.0.1', port, path: '/roots/0', ca }, (answer) => resolve(text(answer)))
    sent.on('error', reject)
    sent.end()
  })
}

interface OwnedAccount {
  readonly port: number
  readonly ca: string
  readonly accountKey: string
  readonly accountUrl: string
}

/** A request of RFC 8555 section 7.3.6, made here: acme-client in this process belongs to the daemon. */
async function deactivate({ port, ca, accountKey, accountUrl }: OwnedAccount): Promise<void> {
  const send = (method: string, path: string, body = ''): Promise<IncomingMessage> =>
    new Promise((resolve, reject) => {
      const headers = { 'Content-Type': 'application/jose+json', Host: new URL(accountUrl).host }
      const sent = request({ host: '127.0.0.1', port, path, method, ca, headers }, (answer) => resolve(answer.resume()))
      sent.on('error', reject)
      sent.end(body)
    })
  for (let tries = 0; tries < 10; tries += 1) {
    const { headers } = await send('HEAD', '/nonce-plz')
    const head = { alg: 'ES256', kid: accountUrl, nonce: headers['replay-nonce'], url: accountUrl }
    const [encoded, payload] = [head, { status: 'deactivated' }].map((part) =>
      Buffer.from(JSON.stringify(part)).toString('base64url'),
    )
    const key = { key: accountKey, dsaEncoding: 'ieee-p1363' as const }
    const signature = sign('sha256', Buffer.from(`${encoded}.${payload}`), key).toString('base64url')
    const body = JSON.stringify({ protected: encoded, payload, signature })
    // Pebble refuses one nonce in twenty.
    if ((await send('POST', new URL(accountUrl).pathname, body)).statusCode === 200) return
  }
  throw new Error('the account could not be deactivated')
}
