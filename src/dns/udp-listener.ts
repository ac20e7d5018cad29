/**
 * The listener over UDP: one datagram in, at most one out.
 *
 * Known limit: a reply leaves from the address that the system chooses; who listens on "0.0.0.0" at a machine with
 * several addresses may answer from another than was asked, and is not believed.
 */
import { createSocket, type RemoteInfo, type Socket, type SocketOptions } from 'node:dgram'
import { isIPv6 } from 'node:net'
import type { Log } from '../platform/log.js'
import type { Responder } from './responder.js'
import type { DnsListener, Endpoint } from './tcp-listener.js'

/** Octets that wait while the thread is busy with something else. */
const RECEIVE_BUFFER_SIZE = 1_048_576

/** Only addresses come here; node would ask DNS for them otherwise. */
const lookup: SocketOptions['lookup'] = (address, _options, done) => done(null, address, isIPv6(address) ? 6 : 4)

export async function openUdpListener(
  { host, port }: Endpoint,
  { respondOverUdp }: Responder,
  log: Pick<Log, 'error'>,
): Promise<DnsListener> {
  const ipv6 = host.includes(':')
  const socket = createSocket({
    type: ipv6 ? 'udp6' : 'udp4',
    ipv6Only: ipv6,
    recvBufferSize: RECEIVE_BUFFER_SIZE,
    lookup,
  })
  await bindSocket(socket, { host, port })
  socket.on('error', (error) => log.error({ err: error }, 'a socket of the service zone has a fault'))
  socket.on('message', (message: Buffer, { address, port: from }: RemoteInfo) => {
    const reply = respondOverUdp(message, address)
    // Port 0 and a network that is gone: nobody waits for an answer there.
    if (reply !== null && from !== 0) socket.send(reply, from, address, () => undefined)
  })
  const { address, port: given } = socket.address()
  return {
    endpoint: { host: address, port: given },
    stop: () => new Promise((resolve) => socket.close(() => resolve())),
  }
}

function bindSocket(socket: Socket, { host, port }: Endpoint): Promise<void> {
  return new Promise((resolve, reject) => {
    const onError = (error: Error): void => {
      socket.close()
      reject(error)
    }
    socket.once('error', onError)
    socket.bind({ address: host, port }, () => {
      socket.off('error', onError)
      resolve()
    })
  })
}
