/**
 * The connections of the REST API: their limit, their peers, and which of them wait for an answer.
 *
 * At the limit a new connection replaces one that has not sent a complete request yet, else an idle
 * one, else one whose client does not read its answer.
 */
import type { ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import type { Duplex } from 'node:stream'
import type { Clock } from '../../../../base/platform/clock.js'
import { originOf } from '../../../../base/platform/connections/client-address.js'
import {
  ConnectionLimiter,
  type ConnectionLimitSettings,
  type ConnectionState,
  type ReachedLimit,
} from '../../../../base/platform/connections/connection-limiter.js'
import { socketOf } from '../../../../base/platform/http/paced-connection.js'
import { parseIpAddress } from '../../../../base/platform/ip-address.js'
import { type IsProxy, LOOPBACK_ADDRESS, type Peer } from './request-source.js'

export type EndpointKind = 'tls' | 'http' | 'unix'

interface Connection {
  /** The TCP socket below TLS, or the Unix socket. */
  readonly socket: Socket
  readonly peer: Peer
  /** When it was accepted. Later, when its latest request began. */
  since: number
  /** The response to its latest request. */
  response: ServerResponse | null
}

interface ConnectionsSettings {
  readonly limits: () => ConnectionLimitSettings
  readonly isProxy: IsProxy
  readonly clock: Clock
  /** Milliseconds after which a connection without a request may be replaced. */
  readonly givesWayAfter: number
  /** A connection has found room. */
  readonly onEntered?: (() => void) | undefined
  /** Called for a client that is refused, and for one whose connection was replaced. */
  readonly onShortage: (reason: ReachedLimit | 'idle', client: string) => void
}

export class Connections {
  private readonly settings: ConnectionsSettings
  private readonly limit: ConnectionLimiter
  /** Each connection with the function that stops counting it. */
  private readonly open = new Map<Connection, () => void>()
  /** Connections whose TLS handshake has not ended, by their addresses and ports. */
  private readonly handshaking = new Map<string, Connection>()
  /** Connections by the socket of their requests. With TLS it is not the TCP socket. */
  private readonly bySocket = new WeakMap<Duplex, Connection>()

  constructor(settings: ConnectionsSettings) {
    this.settings = settings
    this.limit = new ConnectionLimiter(settings.limits)
  }

  get size(): number {
    return this.open.size
  }

  /** Counts a connection until it closes. False if there is no room for it. */
  enter(socket: Socket, kind: EndpointKind): boolean {
    const peer = this.buildPeer(socket, kind)
    const { clock, onShortage } = this.settings
    const connection: Connection = { socket, peer, since: clock(), response: null }
    const slot = this.limit.acquire(peer.trusted ? null : originOf(peer.address), {
      state: () => this.stateOf(connection),
      evict: () => {
        onShortage('idle', peer.address)
        socket.destroy()
      },
    })
    if (typeof slot === 'string') {
      onShortage(slot, peer.address)
      return false
    }
    this.register(connection, kind, () => slot.release())
    this.settings.onEntered?.()
    return true
  }

  private register(connection: Connection, kind: EndpointKind, countOut: () => void): void {
    const { socket } = connection
    const key = connectionKeyOf(socket)
    this.open.set(connection, countOut)
    if (kind === 'tls') this.handshaking.set(key, connection)
    else this.bySocket.set(socket, connection)
    socket.once('close', () => {
      this.remove(connection)
      if (this.handshaking.get(key) === connection) this.handshaking.delete(key)
    })
  }

  /** A request has begun. */
  markRequest(connection: Connection, response: ServerResponse): void {
    connection.since = this.settings.clock()
    connection.response = response
  }

  private stateOf({ response, since }: Connection): ConnectionState | null {
    const isFresh = this.settings.clock() - since < this.settings.givesWayAfter
    if (response === null) return { rank: 'unproved', since, isFresh }
    if (!isUnderWay(response)) return { rank: 'idle', since, isFresh: false }
    return response.writableEnded && !isFresh ? { rank: 'unread', since, isFresh } : null
  }

  /** The TLS handshake has ended: requests will come on this socket. */
  markSecured(socket: Socket): void {
    const key = connectionKeyOf(socket)
    const connection = this.handshaking.get(key)
    this.handshaking.delete(key)
    if (connection === undefined) socket.destroy()
    else this.bySocket.set(socket, connection)
  }

  /** The peer of a request; an untrusted one where the socket is unknown. */
  peerOf(stream: Duplex): Peer {
    return this.findBySocket(stream)?.peer ?? { address: '', trusted: false, tls: true }
  }

  findBySocket(stream: Duplex): Connection | undefined {
    return this.bySocket.get(socketOf(stream))
  }

  /** Resolves when the answers under way have ended, after `limit` milliseconds at the latest: their connections are cut then. */
  async drain(limit: number): Promise<void> {
    const awaited = [...this.open.keys()].filter(({ response }) => isUnderWay(response))
    const ended = Promise.all(awaited.map(({ response }) => waitForEnd(response)))
    let timer: NodeJS.Timeout | undefined
    const late = new Promise<void>((resolve) => {
      timer = setTimeout(resolve, limit)
    }).then(() => {
      for (const { socket } of awaited) socket.destroy()
    })
    await Promise.race([ended, late])
    clearTimeout(timer)
  }

  destroyAll(): void {
    for (const { socket } of [...this.open.keys()]) socket.destroy()
  }

  private buildPeer({ remoteAddress = '' }: Socket, kind: EndpointKind): Peer {
    if (kind === 'unix') return { address: LOOPBACK_ADDRESS, trusted: true, tls: false }
    const address = parseIpAddress(remoteAddress)?.toString() ?? remoteAddress
    return { address, trusted: kind === 'http' || this.settings.isProxy(address), tls: kind === 'tls' }
  }

  private remove(connection: Connection): void {
    const countOut = this.open.get(connection)
    this.open.delete(connection)
    countOut?.()
  }
}

export function isUnderWay(response: ServerResponse | null): response is ServerResponse {
  return response !== null && !response.writableFinished && !response.destroyed
}

/** The connection closes after the response, where the client can still be told so. */
async function waitForEnd(response: ServerResponse | null): Promise<void> {
  if (!isUnderWay(response)) return
  if (!response.headersSent) response.shouldKeepAlive = false
  await new Promise<void>((resolve) => response.once('close', resolve))
}

/** Unique among the TCP connections that are open at the same time. */
function connectionKeyOf({ remoteAddress, remotePort, localAddress, localPort }: Socket): string {
  return `${remoteAddress} ${remotePort} ${localAddress} ${localPort}`
}
