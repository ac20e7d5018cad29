/** A daemon that gets its certificates from Pebble, and what its listeners serve. */
import { connect as connectPlain, type Socket } from 'node:net'
import { connect, type PeerCertificate } from 'node:tls'
import type { Test } from 'tap'
import { type TestDaemon, type TestDaemonOptions, testDaemon } from '../../helpers/daemon/test-daemon.js'
import type { Pebble } from '../../helpers/programs/pebble.js'
import { waitUntil } from '../../helpers/wait-until.js'

export const HOST = 'mail.service.test'
const here = { addresses: ['127.0.0.1'] }
export const zone = { [HOST]: here, 'mx.mail.service.test': here, 'posthorn.a.test': here }

interface AcmeDaemonOptions extends TestDaemonOptions {
  /** False: challenges are answered at the port of the API alone. */
  readonly http?: boolean
}

export function acmeSettings(pebble: Pebble, http = true): Readonly<Record<string, Readonly<Record<string, unknown>>>> {
  const listen = http ? [`127.0.0.1:${pebble.httpPort}`] : []
  const acme = { enabled: true, directory: pebble.directory, ca_file: pebble.caFile, http_listen: listen }
  return { tls: { acme }, api: { listen: [`127.0.0.1:${http ? 0 : pebble.tlsPort}`] } }
}

export function acmeDaemon(t: Test, pebble: Pebble, { http, ...rest }: AcmeDaemonOptions = {}): Promise<TestDaemon> {
  const settings = { ...acmeSettings(pebble, http), ...rest.settings }
  return testDaemon(t, { zone, level: 'info', ...rest, settings })
}

export function findView({ daemon }: TestDaemon, name: string) {
  return daemon.listCertificates().find((view) => view.name === name)
}

export async function waitUntilIssued(app: TestDaemon, names: readonly string[] = Object.keys(zone)): Promise<void> {
  const isIssued = (name: string): boolean => findView(app, name)?.state === 'valid'
  await waitUntil('the certificates', () => names.every(isIssued), 60_000)
}

export function apiPort({ daemon }: TestDaemon): number {
  const [endpoint] = daemon.api
  return endpoint !== undefined && endpoint.kind !== 'unix' ? endpoint.port : 0
}

/** The certificate that a client gets who asks for `name`. `ca`: verified against it; absent: whatever it is. */
export async function readServed(port: number, name: string, ca?: string): Promise<PeerCertificate> {
  return handshake(connectPlain({ host: '127.0.0.1', port }), name, ca)
}

/** The same after STARTTLS. */
export async function readServedByStarttls(port: number, name: string, ca: string): Promise<PeerCertificate> {
  const socket = connectPlain({ host: '127.0.0.1', port })
  for (const [line, reply] of [
    ['', /^220 /m],
    ['EHLO client.test\r\n', /^250 /m],
    ['STARTTLS\r\n', /^220 /m],
  ] as const) {
    if (line !== '') socket.write(line)
    await readUntil(socket, reply)
  }
  return handshake(socket, name, ca)
}

function handshake(socket: Socket, servername: string, ca: string | undefined): Promise<PeerCertificate> {
  const trust = ca === undefined ? { rejectUnauthorized: false } : { ca }
  return new Promise((resolve, reject) => {
    const secured = connect({ socket, servername, ...trust }, () => {
      resolve(secured.getPeerCertificate())
      secured.destroy()
    })
    secured.on('error', reject)
  })
}

function readUntil(socket: Socket, reply: RegExp): Promise<void> {
  let text = ''
  return new Promise((resolve, reject) => {
    const read = (chunk: Buffer): void => {
      text += chunk.toString('latin1')
      if (!reply.test(text)) return
      socket.off('data', read)
      resolve()
    }
    socket.on('data', read)
    socket.once('error', reject)
  })
}
