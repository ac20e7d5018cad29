/**
 * A connection's place under the limits of its listener, from the moment at which it is accepted.
 *
 * Until there is a session (a TLS handshake or a PROXY line comes first) the place is that of a
 * socket which has shown nothing yet.
 */
import type { Socket } from 'node:net'
import type {
  ConnectionOrigin,
  ConnectionSlot,
  ConnectionState,
  LimitedConnection,
  ReachedLimit,
} from '../platform/connections/connection-limiter.js'
import type { CommonReason, SessionGate } from './session-gate.js'

export class ServerSlot implements LimitedConnection {
  /** When the connection was accepted. */
  readonly since: number
  session: LimitedConnection | null = null
  /** The client's address, as far as it is known. */
  client: string
  private place: ConnectionSlot | null = null

  constructor(
    readonly socket: Socket,
    private readonly gate: SessionGate,
    private readonly drop: () => void,
  ) {
    this.since = gate.clock()
    this.client = socket.remoteAddress ?? ''
  }

  /** As whom it counts; null: in all alone. */
  get origin(): ConnectionOrigin | null {
    return this.place?.origin ?? null
  }

  /** Counts it, as this origin from now on. What keeps it out, or null: it has its place. */
  enter(origin: ConnectionOrigin | null): CommonReason | null {
    this.leave()
    const place = this.gate.connections.acquire(origin, this)
    if (typeof place === 'string') return reasons[place]
    this.place = place
    return null
  }

  leave(): void {
    this.place?.release()
  }

  state(): ConnectionState | null {
    if (this.session !== null) return this.session.state()
    const { clock, settings } = this.gate
    return { rank: 'unproved', since: this.since, isFresh: clock() - this.since < settings.givesWayAfter }
  }

  evict(): void {
    if (this.session !== null) {
      this.session.evict()
      return
    }
    this.gate.note('idle', { client: this.client })
    this.drop()
  }
}

const reasons: Readonly<Record<ReachedLimit, CommonReason>> = {
  full: 'connections',
  'too-many-of-address': 'connections-of-address',
  'too-many-of-network': 'connections-of-network',
}
