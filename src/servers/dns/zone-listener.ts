/**
 * The authoritative server for the service zone: one NS delegation to it replaces records by hand.
 *
 * Each endpoint is opened over TCP and UDP at one port. The configured secondaries are notified of changes.
 */

import { createSocket, type RemoteInfo, type Socket, type SocketOptions } from 'node:dgram'
import { isIPv6 } from 'node:net'
import type { Clock } from '../../base/platform/clock.js'
import type { DnsServer } from '../../base/platform/dns/transport.js'
import type { Log } from '../../base/platform/log.js'
import { startNotifier } from './notify.js'
import { Responder, type ResponderDeps } from './responder.js'
import { defaultResponseRate, ResponseRateLimiter } from './response-rate-limiter.js'
import { type DnsEndpoint, type DnsListener, openTcpListener } from './tcp-listener.js'

/** Octets that the system holds while the thread is busy. */
const RECEIVE_BUFFER_SIZE = 1_048_576

/** Node.js would look up even addresses in DNS; nothing but addresses comes here. */
const lookup: SocketOptions['lookup'] = (address, _options, done) => done(null, address, isIPv6(address) ? 6 : 4)

interface ZoneListenerDeps extends Pick<ResponderDeps, 'zone' | 'secondaries'> {
  readonly listen: readonly DnsEndpoint[]
  /** Servers that get a NOTIFY when the zone has changed. */
  readonly notify: readonly DnsServer[]
  readonly clock: Clock
  readonly log: Pick<Log, 'error' | 'warn'>
}

export interface ZoneListener {
  /** They are in the order of the settings, with the ports that were given. */
  readonly endpoints: readonly DnsEndpoint[]
  /** Resolves once everything is closed, after `limit` milliseconds at the latest. */
  readonly stop: (limit: number) => Promise<void>
}

/** Rejects, with nothing left open, when one of the endpoints cannot be bound. */
export async function startZoneListener(deps: ZoneListenerDeps): Promise<ZoneListener> {
  const responder = new Responder({ ...deps, rateLimiter: new ResponseRateLimiter(defaultResponseRate) })
  const listeners: DnsListener[] = []
  const stop = async (limit: number): Promise<void> => {
    await Promise.all(listeners.splice(0).map((listener) => listener.stop(limit)))
  }
  const endpoints: DnsEndpoint[] = []
  try {
    for (const endpoint of deps.listen) {
      const pair = await openListenerPair(endpoint, responder, deps.log)
      listeners.push(...pair)
      endpoints.push(pair[0].endpoint)
    }
  } catch (error) {
    await stop(0)
    throw error
  }
  const notifier = deps.listen.length > 0 && deps.notify.length > 0 ? startNotifier(deps) : null
  return {
    endpoints,
    stop: async (limit) => {
      notifier?.stop()
      await stop(limit)
    },
  }
}

/** A port that is free for TCP may be taken for UDP: if port 0 is configured, another is tried. */
const MAX_PORT_TRIES = 10

async function openListenerPair(
  endpoint: DnsEndpoint,
  responder: Responder,
  log: ZoneListenerDeps['log'],
): Promise<[DnsListener, DnsListener]> {
  for (let count = 1; ; count += 1) {
    const tcp = await openTcpListener(endpoint, responder, log)
    try {
      return [tcp, await openUdpListener(tcp.endpoint, responder, log)]
    } catch (error) {
      await tcp.stop(0)
      if (endpoint.port !== 0 || count === MAX_PORT_TRIES) throw error
    }
  }
}

/**
 * The UDP listener: one datagram in, at most one out.
 *
 * Known limit: a reply leaves from the address that the system chooses. On a machine with several addresses,
 * a listener on "0.0.0.0" may answer from another address than was asked, and clients ignore such a reply.
 */
async function openUdpListener(
  { host, port }: DnsEndpoint,
  responder: Responder,
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
    const reply = responder.respondOverUdp(message, address)
    // Port 0 cannot be answered. A failure to send needs no handling: the client asks again.
    if (reply !== null && port !== 0) socket.send(reply, port, address, () => undefined)
  })
  const { address, port: boundPort } = socket.address()
  return {
    endpoint: { host: address, port: boundPort },
    stop: () => new Promise((resolve) => socket.close(() => resolve())),
  }
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
