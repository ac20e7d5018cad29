/** The listener over TCP: how many connections there may be, and their end. */
import { type AddressInfo, createServer, type Server, type Socket } from 'node:net'
import ipaddr from 'ipaddr.js'
import { originOf } from '../accounts/client-address.js'
import {
  type ConnectionLimit,
  connectionLimit,
  type Place,
  type Shortage,
} from '../platform/connections/connection-limit.js'
import type { Log } from '../platform/log.js'
import type { Desk } from './desk.js'
import { type Conversation, converse } from './tcp-conversation.js'

export interface Endpoint {
  readonly host: string
  readonly port: number
}

export interface DnsDoor {
  readonly endpoint: Endpoint
  /** Resolves once everything is closed, after `limit` milliseconds at the latest. */
  readonly stop: (limit: number) => Promise<void>
}

/** Of one door. */
const limits = { maxConnections: 500, maxConnectionsPerAddress: 20, maxConnectionsPerNetwork: 100 }

export async function openTcp({ host, port }: Endpoint, desk: Desk, log: Pick<Log, 'error'>): Promise<DnsDoor> {
  const limit = connectionLimit(limits)
  const open = new Map<Socket, Conversation>()
  const server = createServer({ allowHalfOpen: true, noDelay: true }, (socket) => {
    const { remoteAddress } = socket
    const place = remoteAddress === undefined ? 'full' : admitted(socket, remoteAddress, limit, open)
    if (typeof place === 'string' || remoteAddress === undefined) {
      socket.on('error', () => undefined)
      socket.destroy()
      return
    }
    const conversation = converse(socket, ipaddr.process(remoteAddress).toString(), desk)
    open.set(socket, conversation)
    void conversation.ended.then(() => {
      open.delete(socket)
      place.leave()
    })
  })
  await listening(server, { host, port })
  // Such as a system without file descriptors: the next connection may find some.
  server.on('error', (error) => log.error({ err: error }, 'a listener of the service zone has a fault'))
  const { address, port: given } = server.address() as AddressInfo // bound to a port, never to a path
  return {
    endpoint: { host: address, port: given },
    stop: async (patience) => {
      const closed = new Promise<void>((resolve) => server.close(() => resolve()))
      for (const { finish } of open.values()) finish()
      const timer = setTimeout(() => {
        for (const socket of open.keys()) socket.destroy()
      }, patience)
      await Promise.all([closed, ...[...open.values()].map(({ ended }) => ended)])
      clearTimeout(timer)
    },
  }
}

/** A place for it. Where there is none, a connection without a question under way gives way. */
function admitted(
  socket: Socket,
  address: string,
  limit: ConnectionLimit,
  open: ReadonlyMap<Socket, Conversation>,
): Place | Shortage {
  return limit.enter(originOf(address), {
    standing: () => open.get(socket)?.standing() ?? null,
    giveWay: () => socket.destroy(),
  })
}

function listening(server: Server, { host, port }: Endpoint): Promise<void> {
  return new Promise((resolve, reject) => {
    server.once('error', reject)
    server.listen({ host, port, ipv6Only: host.includes(':') }, () => {
      server.off('error', reject)
      resolve()
    })
  })
}
