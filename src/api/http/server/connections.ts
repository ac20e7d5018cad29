/**
 * The connections of the REST door: how many there may be, who is at their other ends, and
 * which of them wait for an answer.
 *
 * Where there is no room for one more, one that has brought no whole request yet gives way to it,
 * else one that is only kept open, else one whose client does not take its answer.
 */

import type { ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import { originOf } from '../../../accounts/client-address.js'
import type { Clock } from '../../../platform/clock.js'
import {
  type ConnectionLimiter,
  type ConnectionLimitSettings,
  type ConnectionState,
  createConnectionLimiter,
  type ReachedLimit,
} from '../../../platform/connections/connection-limiter.js'
import { parseIpAddress } from '../../../platform/ip-address.js'
import { type IsProxy, LOOPBACK_ADDRESS, type Peer } from '../client-address.js'

export type EndpointKind = 'tls' | 'http' | 'unix'

export interface Connection {
  /** Of TCP, below TLS, or of a Unix socket. */
  readonly socket: Socket
  readonly peer: Peer
  /** When it was accepted, then when its newest request came. */
  since: number
  /** Of the newest request. */
  response: ServerResponse | null
}

export interface ConnectionsSettings extends ConnectionLimitSettings {
  readonly isProxy: IsProxy
  readonly clock: Clock
  /** Milliseconds after which a connection without a request gives way to another. */
  readonly givesWayAfter: number
  /** Called for a client that is turned away, and for one whose connection gave way. */
  readonly onShortage: (reason: ReachedLimit | 'idle', client: string) => void
}

export class Connections {
  private readonly settings: ConnectionsSettings
  private readonly limit: ConnectionLimiter
  /** With the way to count each of them out. */
  private readonly open = new Map<Connection, () => void>()
  /** TLS handshakes that are under way. */
  private readonly handshaking = new Map<string, Connection>()
  /** By the socket that requests name: with TLS it is another one. */
  private readonly bySocket = new WeakMap<Socket, Connection>()

  constructor(settings: ConnectionsSettings) {
    this.settings = settings
    this.limit = createConnectionLimiter(settings)
  }

  get size(): number {
    return this.open.size
  }

  /** Counts it until it closes. False: there is no place for it. */
  enter(socket: Socket, kind: EndpointKind): boolean {
    const peer = this.buildPeer(socket, kind)
    const { clock, onShortage } = this.settings
    const connection: Connection = { socket, peer, since: clock(), response: null }
    const place = this.limit.acquire(peer.trusted ? null : originOf(peer.address), {
      state: () => this.stateOf(connection),
      evict: () => {
        onShortage('idle', peer.address)
        socket.destroy()
      },
    })
    if (typeof place === 'string') {
      onShortage(place, peer.address)
      return false
    }
    this.register(connection, kind, () => place.release())
    return true
  }

  private register(connection: Connection, kind: EndpointKind, leave: () => void): void {
    const { socket } = connection
    const ends = connectionKeyOf(socket)
    this.open.set(connection, leave)
    if (kind === 'tls') this.handshaking.set(ends, connection)
    else this.bySocket.set(socket, connection)
    socket.once('close', () => {
      this.remove(connection)
      if (this.handshaking.get(ends) === connection) this.handshaking.delete(ends)
    })
  }

  /** A request has come. */
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

  /** The handshake is done: requests will name this socket. */
  markSecured(socket: Socket): void {
    const ends = connectionKeyOf(socket)
    const connection = this.handshaking.get(ends)
    this.handshaking.delete(ends)
    if (connection === undefined) socket.destroy()
    else this.bySocket.set(socket, connection)
  }

  /** Of a request. Nothing counts that a stranger says. */
  peerOf(socket: Socket): Peer {
    return this.bySocket.get(socket)?.peer ?? { address: '', trusted: false, tls: true }
  }

  findBySocket(socket: Socket): Connection | undefined {
    return this.bySocket.get(socket)
  }

  /** Those that wait for an answer end with it, and once nobody waits any more, all others do. */
  drain(): void {
    for (const { response } of this.open.keys()) {
      if (!isUnderWay(response)) continue
      if (!response.headersSent) response.shouldKeepAlive = false
      response.once('close', () => this.destroyUnlessAwaited())
    }
    this.destroyUnlessAwaited()
  }

  destroyAll(): void {
    for (const { socket } of [...this.open.keys()]) socket.destroy()
  }

  private destroyUnlessAwaited(): void {
    const open = [...this.open.keys()]
    if (!open.some(({ response }) => isUnderWay(response))) this.destroyAll()
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

/** What tells one TCP connection from all others of the same time. */
function connectionKeyOf({ remoteAddress, remotePort, localAddress, localPort }: Socket): string {
  return `${remoteAddress} ${remotePort} ${localAddress} ${localPort}`
}
