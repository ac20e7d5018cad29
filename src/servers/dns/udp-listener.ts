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
import type { DnsEndpoint, DnsListener } from './tcp-listener.js'

/** Octets that the system holds while the thread is busy. */
const RECEIVE_BUFFER_SIZE = 1_048_576

/** Node.js would look up even addresses in DNS; nothing but addresses comes here. */
const lookup: SocketOptions['lookup'] = (address, _options, done) => done(null, address, isIPv6(address) ? 6 : 4)

/** Datagrams whose answers wait for the database. Others are dropped while there are so many; the client asks again. */
const MAX_WAITING = 1_000

export async function openUdpListener(
  { host, port }: DnsEndpoint,
  responder: Pick<Responder, 'respondOverUdp'>,
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
  const onFault = (error: unknown): void => log.error({ err: error }, 'a socket of the service zone has a fault')
  socket.on('error', onFault)
  const answering = new Set<Promise<void>>()
  let isStopping = false
  socket.on('message', (message, client) => {
    if (isStopping || answering.size >= MAX_WAITING) return
    const answer = answerDatagram(socket, responder, message, client)
      .catch(onFault)
      .finally(() => answering.delete(answer))
    answering.add(answer)
  })
  const { address, port: boundPort } = socket.address()
  return {
    endpoint: { host: address, port: boundPort },
    stop: async (limit) => {
      isStopping = true
      await settleWithin(answering, limit)
      await new Promise<void>((resolve) => socket.close(() => resolve()))
    },
  }
}

async function answerDatagram(
  socket: Socket,
  responder: Pick<Responder, 'respondOverUdp'>,
  message: Buffer,
  { address, port }: RemoteInfo,
): Promise<void> {
  const reply = await responder.respondOverUdp(message, address)
  // Port 0 cannot be answered. A failure to send needs no handling: the client asks again.
  if (reply !== null && port !== 0) socket.send(reply, port, address, () => undefined)
}

/** A socket that is closed before the last answer makes its sending fail, which is logged. */
async function settleWithin(answering: ReadonlySet<Promise<void>>, limit: number): Promise<void> {
  if (answering.size === 0) return
  const { promise, resolve } = Promise.withResolvers<void>()
  const timer = setTimeout(resolve, limit)
  await Promise.race([Promise.all(answering), promise])
  clearTimeout(timer)
}

function bindSocket(socket: Socket, { host, port }: DnsEndpoint): Promise<void> {
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
