/** The listener over TCP: how many connections there may be, and their end. */
import { type AddressInfo, createServer, type Server, type Socket } from 'node:net'
import ipaddr from 'ipaddr.js'
import { type ConnectionLimit, connectionLimit } from '../platform/connection-limit.js'
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
const limits = { maxConnections: 500, maxConnectionsPerAddress: 20 }

export async function openTcp({ host, port }: Endpoint, desk: Desk, log: Pick<Log, 'error'>): Promise<DnsDoor> {
  const limit = connectionLimit(limits)
  const open = new Map<Socket, Conversation>()
  const server = createServer({ allowHalfOpen: true, noDelay: true }, (socket) => {
    const client = admitted(socket, limit)
    if (client === null) return
    const conversation = converse(socket, client, desk)
    open.set(socket, conversation)
    void conversation.ended.then(() => {
      open.delete(socket)
      limit.leave(client)
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

/** The client's address; null: it was turned away. */
function admitted(socket: Socket, limit: ConnectionLimit): string | null {
  const { remoteAddress } = socket
  const client = remoteAddress === undefined ? null : ipaddr.process(remoteAddress).toString()
  if (client !== null && limit.enter(client) === 'welcome') return client
  socket.on('error', () => undefined)
  socket.destroy()
  return null
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
