/**
 * The UDP listener: one datagram in, at most one out.
 *
 * Known limit: a reply leaves from the address that the system chooses. On a machine with several addresses,
 * a listener on "0.0.0.0" may answer from another address than was asked, and clients ignore such a reply.
 */
import { createSocket, type RemoteInfo, type Socket, type SocketOptions } from 'node:dgram'
import { isIPv6 } from 'node:net'
import type { Log } from '../../base/platform/log.js'
import type { Responder } from './responder.js'
import type { DnsListener, Endpoint } from './tcp-listener.js'

/** Octets that the system holds while the thread is busy. */
const RECEIVE_BUFFER_SIZE = 1_048_576

/** Node.js would look up even addresses in DNS; nothing but addresses comes here. */
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
  socket.on('message', (message: Buffer, { address, port }: RemoteInfo) => {
    const reply = respondOverUdp(message, address)
    // Port 0 cannot be answered. A send that fails needs no handling: the client asks again.
    if (reply !== null && port !== 0) socket.send(reply, port, address, () => undefined)
  })
  const { address, port: boundPort } = socket.address()
  return {
    endpoint: { host: address, port: boundPort },
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
