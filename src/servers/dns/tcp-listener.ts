/** The TCP listener: it limits the connections, and ends them when it stops. */
import { createServer, type Server, type Socket } from 'node:net'
import { boundAddressOf } from '../../base/platform/bound-address.js'
import { originOf } from '../../base/platform/connections/client-address.js'
import {
  ConnectionLimiter,
  type ConnectionSlot,
  type ReachedLimit,
} from '../../base/platform/connections/connection-limiter.js'
import { parseIpAddress } from '../../base/platform/ip-address.js'
import type { Log } from '../../base/platform/log.js'
import type { Responder } from './responder.js'
import { type DnsConnection, serveConnection } from './tcp-connection.js'

export interface DnsEndpoint {
  readonly host: string
  readonly port: number
}

export interface DnsListener {
  readonly endpoint: DnsEndpoint
  /** Resolves once everything is closed, after `limit` milliseconds at the latest. */
  readonly stop: (limit: number) => Promise<void>
}

/** The limits of one listener. */
const connectionLimits = { max_connections: 500, max_connections_per_address: 20, max_connections_per_network: 100 }

export async function openTcpListener(
  { host, port }: DnsEndpoint,
  responder: Responder,
  log: Pick<Log, 'error'>,
): Promise<DnsListener> {
  const limiter = new ConnectionLimiter(() => connectionLimits)
  const connections = new Map<Socket, DnsConnection>()
  const server = createServer({ allowHalfOpen: true, noDelay: true }, (socket) => {
    const { remoteAddress } = socket
    const slot = remoteAddress === undefined ? 'full' : admitConnection(socket, remoteAddress, limiter, connections)
    if (typeof slot === 'string' || remoteAddress === undefined) {
      socket.on('error', () => undefined)
      socket.destroy()
      return
    }
    const connection = serveConnection(socket, parseIpAddress(remoteAddress)?.toString() ?? remoteAddress, responder)
    connections.set(socket, connection)
    void connection.whenClosed.then(() => {
      connections.delete(socket)
      slot.release()
    })
  })
  await bindServer(server, { host, port })
  // One cause is that no file descriptor is free: the next connection may find one.
  server.on('error', (error) => log.error({ err: error }, 'a listener of the service zone has a fault'))
  const { address, port: boundPort } = boundAddressOf(server)
  return {
    endpoint: { host: address, port: boundPort },
    stop: async (limit) => {
      const closed = new Promise<void>((resolve) => server.close(() => resolve()))
      for (const { finish } of connections.values()) finish()
      const timer = setTimeout(() => {
        for (const socket of connections.keys()) socket.destroy()
      }, limit)
      await Promise.all([closed, ...[...connections.values()].map(({ whenClosed }) => whenClosed)])
      clearTimeout(timer)
    },
  }
}

/** Takes a slot. When none is free, a connection that is not being answered may be closed for it. */
function admitConnection(
  socket: Socket,
  address: string,
  limiter: ConnectionLimiter,
  open: ReadonlyMap<Socket, DnsConnection>,
): ConnectionSlot | ReachedLimit {
  return limiter.acquire(originOf(address), {
    state: () => open.get(socket)?.status() ?? null,
    evict: () => socket.destroy(),
  })
}

function bindServer(server: Server, { host, port }: DnsEndpoint): Promise<void> {
  return new Promise((resolve, reject) => {
    server.once('error', reject)
    server.listen({ host, port, ipv6Only: host.includes(':') }, () => {
      server.off('error', reject)
      resolve()
    })
  })
}
