/**
 * The connections of the REST door: how many there may be, who is at their other ends, and
 * which of them wait for an answer.
 *
 * Where there is no room for one more, a connection that is only kept open makes room for
 * it: a client that does nothing must not keep others out.
 */
import type { ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import ipaddr from 'ipaddr.js'
import { limitKey } from '../accounts/client-address.js'
import {
  type ConnectionLimit,
  type ConnectionLimitSettings,
  connectionLimit,
  type Entry,
} from '../platform/connection-limit.js'
import { type IsProxy, type Peer, THIS_MACHINE } from './client-address.js'

export type EndpointKind = 'tls' | 'http' | 'unix'

export interface Connection {
  /** Of TCP, below TLS, or of a Unix socket. */
  readonly socket: Socket
  readonly peer: Peer
  /** Of the newest request. */
  response: ServerResponse | null
}

export interface ConnectionsSettings extends ConnectionLimitSettings {
  readonly isProxy: IsProxy
}

export class Connections {
  readonly #isProxy: IsProxy
  readonly #limit: ConnectionLimit
  /** With the way to count each of them out. */
  readonly #open = new Map<Connection, () => void>()
  /** TLS handshakes that are under way. */
  readonly #securing = new Map<string, Connection>()
  /** By the socket that requests name: with TLS it is another one. */
  readonly #bySocket = new WeakMap<Socket, Connection>()

  constructor({ isProxy, ...limits }: ConnectionsSettings) {
    this.#isProxy = isProxy
    this.#limit = connectionLimit(limits)
  }

  get size(): number {
    return this.#open.size
  }

  /** Counts it, where it is welcome, until it closes. */
  enter(socket: Socket, kind: EndpointKind): Entry {
    const peer = this.#peerAt(socket, kind)
    const client = peer.trusted ? null : limitKey(peer.address)
    let entry = this.#limit.enter(client)
    if (entry === 'full' && this.#closeOneIdle()) entry = this.#limit.enter(client)
    if (entry !== 'welcome') return entry
    const connection: Connection = { socket, peer, response: null }
    const ends = endsOf(socket)
    this.#open.set(connection, () => this.#limit.leave(client))
    if (kind === 'tls') this.#securing.set(ends, connection)
    else this.#bySocket.set(socket, connection)
    socket.once('close', () => {
      this.#leave(connection)
      if (this.#securing.get(ends) === connection) this.#securing.delete(ends)
    })
    return 'welcome'
  }

  /** The handshake is done: requests will name this socket. */
  secured(socket: Socket): void {
    const ends = endsOf(socket)
    const connection = this.#securing.get(ends)
    this.#securing.delete(ends)
    if (connection === undefined) socket.destroy()
    else this.#bySocket.set(socket, connection)
  }

  /** Of a request. Nothing counts that a stranger says. */
  peerOf(socket: Socket): Peer {
    return this.#bySocket.get(socket)?.peer ?? { address: '', trusted: false, tls: true }
  }

  of(socket: Socket): Connection | undefined {
    return this.#bySocket.get(socket)
  }

  /** Those that wait for an answer end with it, and once nobody waits any more, all others do. */
  drain(): void {
    for (const { response } of this.#open.keys()) {
      if (!isUnderWay(response)) continue
      if (!response.headersSent) response.shouldKeepAlive = false
      response.once('close', () => this.#endUnlessAwaited())
    }
    this.#endUnlessAwaited()
  }

  destroyAll(): void {
    for (const { socket } of [...this.#open.keys()]) socket.destroy()
  }

  #endUnlessAwaited(): void {
    const open = [...this.#open.keys()]
    if (!open.some(({ response }) => isUnderWay(response))) this.destroyAll()
  }

  #peerAt({ remoteAddress = '' }: Socket, kind: EndpointKind): Peer {
    if (kind === 'unix') return { address: THIS_MACHINE, trusted: true, tls: false }
    const address = ipaddr.isValid(remoteAddress) ? ipaddr.process(remoteAddress).toString() : remoteAddress
    return { address, trusted: kind === 'http' || this.#isProxy(address), tls: kind === 'tls' }
  }

  #leave(connection: Connection): void {
    const countOut = this.#open.get(connection)
    this.#open.delete(connection)
    countOut?.()
  }

  /** The one that has been there for longest. */
  #closeOneIdle(): boolean {
    for (const connection of this.#open.keys()) {
      const { response, socket } = connection
      if (response === null || isUnderWay(response)) continue
      this.#leave(connection)
      socket.destroy()
      return true
    }
    return false
  }
}

export function isUnderWay(response: ServerResponse | null): response is ServerResponse {
  return response !== null && !response.writableFinished && !response.destroyed
}

/** What tells one TCP connection from all others of the same time. */
function endsOf({ remoteAddress, remotePort, localAddress, localPort }: Socket): string {
  return `${remoteAddress} ${remotePort} ${localAddress} ${localPort}`
}
