/**
 * A connection's place under the limits of its listener, from the moment at which it is accepted.
 *
 * Until there is a session (a TLS handshake or a PROXY line comes first) the place is that of a
 * socket which has shown nothing yet.
 */
import type { Socket } from 'node:net'
import type { ConnectionOrigin, Occupant, Place, Shortage, Standing } from '../platform/connections/connection-limit.js'
import type { CommonReason, SessionGate } from './session-gate.js'

export class ServerPlace implements Occupant {
  /** When the connection was accepted. */
  readonly since: number
  session: Occupant | null = null
  /** The client's address, as far as it is known. */
  client: string
  private place: Place | null = null

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
    const place = this.gate.connections.enter(origin, this)
    if (typeof place === 'string') return reasons[place]
    this.place = place
    return null
  }

  leave(): void {
    this.place?.leave()
  }

  standing(): Standing | null {
    if (this.session !== null) return this.session.standing()
    const { clock, settings } = this.gate
    return { rank: 'unproved', since: this.since, fresh: clock() - this.since < settings.givesWayAfter }
  }

  giveWay(): void {
    if (this.session !== null) {
      this.session.giveWay()
      return
    }
    this.gate.note('idle', { client: this.client })
    this.drop()
  }
}

const reasons: Readonly<Record<Shortage, CommonReason>> = {
  full: 'connections',
  'too-many-of-address': 'connections-of-address',
  'too-many-of-network': 'connections-of-network',
}
