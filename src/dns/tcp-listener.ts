/** The listener over TCP: how many connections there may be, and their end. */
import { createServer, type Server, type Socket } from 'node:net'
import { originOf } from '../accounts/client-address.js'
import { boundAddressOf } from '../platform/bound-address.js'
import {
  type ConnectionLimiter,
  type ConnectionSlot,
  createConnectionLimiter,
  type ReachedLimit,
} from '../platform/connections/connection-limiter.js'
import { parseIpAddress } from '../platform/ip-address.js'
import type { Log } from '../platform/log.js'
import type { Responder } from './responder.js'
import { type DnsConnection, serveConnection } from './tcp-connection.js'

export interface Endpoint {
  readonly host: string
  readonly port: number
}

export interface DnsListener {
  readonly endpoint: Endpoint
  /** Resolves once everything is closed, after `limit` milliseconds at the latest. */
  readonly stop: (limit: number) => Promise<void>
}

/** Of one door. */
const connectionLimits = { maxConnections: 500, maxConnectionsPerAddress: 20, maxConnectionsPerNetwork: 100 }

export async function openTcpListener(
  { host, port }: Endpoint,
  desk: Responder,
  log: Pick<Log, 'error'>,
): Promise<DnsListener> {
  const limit = createConnectionLimiter(connectionLimits)
  const connections = new Map<Socket, DnsConnection>()
  const server = createServer({ allowHalfOpen: true, noDelay: true }, (socket) => {
    const { remoteAddress } = socket
    const place = remoteAddress === undefined ? 'full' : admitConnection(socket, remoteAddress, limit, connections)
    if (typeof place === 'string' || remoteAddress === undefined) {
      socket.on('error', () => undefined)
      socket.destroy()
      return
    }
    const conversation = serveConnection(socket, parseIpAddress(remoteAddress)?.toString() ?? remoteAddress, desk)
    connections.set(socket, conversation)
    void conversation.whenClosed.then(() => {
      connections.delete(socket)
      place.release()
    })
  })
  await bindServer(server, { host, port })
  // Such as a system without file descriptors: the next connection may find some.
  server.on('error', (error) => log.error({ err: error }, 'a listener of the service zone has a fault'))
  const { address, port: given } = boundAddressOf(server)
  return {
    endpoint: { host: address, port: given },
    stop: async (patience) => {
      const closed = new Promise<void>((resolve) => server.close(() => resolve()))
      for (const { finish } of connections.values()) finish()
      const timer = setTimeout(() => {
        for (const socket of connections.keys()) socket.destroy()
      }, patience)
      await Promise.all([closed, ...[...connections.values()].map(({ whenClosed }) => whenClosed)])
      clearTimeout(timer)
    },
  }
}

/** A place for it. Where there is none, a connection without a question under way gives way. */
function admitConnection(
  socket: Socket,
  address: string,
  limit: ConnectionLimiter,
  open: ReadonlyMap<Socket, DnsConnection>,
): ConnectionSlot | ReachedLimit {
  return limit.acquire(originOf(address), {
    state: () => open.get(socket)?.status() ?? null,
    evict: () => socket.destroy(),
  })
}

function bindServer(server: Server, { host, port }: Endpoint): Promise<void> {
  return new Promise((resolve, reject) => {
    server.once('error', reject)
    server.listen({ host, port, ipv6Only: host.includes(':') }, () => {
      server.off('error', reject)
      resolve()
    })
  })
}
