/**
 * Counts the connections of a listener, from the moment at which each is accepted.
 *
 * A client over a limit gets 421 on a plain socket; where a TLS handshake comes first the socket is
 * closed without a reply, because a reply would cost us the handshake.
 */
import type { Socket } from 'node:net'
import { originOf } from '../../../base/platform/connections/client-address.js'
import type {
  ConnectionOrigin,
  ConnectionSlot,
  ConnectionState,
  LimitedConnection,
  ReachedLimit,
} from '../../../base/platform/connections/connection-limiter.js'
import type { CommonReason, SessionGate } from '../session/session-gate.js'
import { tooManyConnections, tooManyFromAddress, tooManyFromNetwork } from '../session/session-replies.js'
import { formatReplyText, type SmtpReply } from '../session/smtp-reply.js'

/** How long a refused client has to close its side. */
const REFUSED_LINGER = 1000

const reasons: Readonly<Record<ReachedLimit, CommonReason>> = {
  full: 'connections',
  'too-many-of-address': 'connections-of-address',
  'too-many-of-network': 'connections-of-network',
}

const refusals: Readonly<Record<ReachedLimit, SmtpReply>> = {
  full: tooManyConnections,
  'too-many-of-address': tooManyFromAddress,
  'too-many-of-network': tooManyFromNetwork,
}

/** A limit of one kind of listener, checked before the common limits. Null if the client may connect. */
export type CheckNewClient = (origin: ConnectionOrigin, client: string) => SmtpReply | null

/** The slot of a connection. It is unproved until there is a session, which a TLS handshake or a PROXY line may precede. */
export class ListenerSlot implements LimitedConnection {
  /** When the connection was accepted, in epoch milliseconds. */
  readonly since: number
  session: LimitedConnection | null = null
  /** The client's address, as far as it is known. */
  client: string
  private slot: ConnectionSlot | null = null

  constructor(
    readonly socket: Socket,
    private readonly gate: SessionGate,
    private readonly drop: () => void,
  ) {
    this.since = gate.clock()
    this.client = socket.remoteAddress ?? ''
  }

  /** The client as which it counts. Null if it counts in the total only. */
  get origin(): ConnectionOrigin | null {
    return this.slot?.origin ?? null
  }

  /** Counts it as this origin from now on. Null if it has its slot. */
  enter(origin: ConnectionOrigin | null): ReachedLimit | null {
    this.leave()
    const slot = this.gate.connections.acquire(origin, this)
    if (typeof slot === 'string') return slot
    this.slot = slot
    return null
  }

  leave(): void {
    this.slot?.release()
  }

  state(): ConnectionState | null {
    if (this.session !== null) return this.session.state()
    const { clock, limits } = this.gate
    return { rank: 'unproved', since: this.since, isFresh: clock() - this.since < limits.givesWayAfter }
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

export class Admission {
  private readonly slots = new WeakMap<Socket, ListenerSlot>()

  constructor(
    private readonly gate: SessionGate,
    private readonly checkNewClient: CheckNewClient,
  ) {}

  /** `drop` ends the connection while it has no session. False if it was refused. */
  accept(socket: Socket, origin: ConnectionOrigin | null, drop: () => void, handshake: boolean): boolean {
    const slot = new ListenerSlot(socket, this.gate, drop)
    socket.once('close', () => slot.leave())
    this.slots.set(socket, slot)
    return this.enter(slot, origin, handshake)
  }

  /** Counts a connection as that of the address in a PROXY line. False if it was refused. */
  recount(slot: ListenerSlot, address: string): boolean {
    slot.client = address
    return this.enter(slot, originOf(address), false)
  }

  /** A TLS socket takes the slot of the socket below it. */
  share(socket: Socket, secured: Socket): void {
    const slot = this.slots.get(socket)
    if (slot !== undefined) this.slots.set(secured, slot)
  }

  slotOf(socket: Socket): ListenerSlot {
    const slot = this.slots.get(socket)
    if (slot === undefined) throw new Error('the connection was not accepted')
    return slot
  }

  private enter(slot: ListenerSlot, origin: ConnectionOrigin | null, handshake: boolean): boolean {
    const refusal = (origin === null ? null : this.checkNewClient(origin, slot.client)) ?? this.takeSlot(slot, origin)
    if (refusal !== null) refuseConnection(slot.socket, handshake, refusal)
    return refusal === null
  }

  private takeSlot(slot: ListenerSlot, origin: ConnectionOrigin | null): SmtpReply | null {
    const reached = slot.enter(origin)
    if (reached === null) return null
    this.gate.note(reasons[reached], { client: slot.client })
    return refusals[reached]
  }
}

function refuseConnection(socket: Socket, handshake: boolean, reply: SmtpReply): void {
  socket.on('error', () => undefined)
  if (handshake) {
    socket.destroy()
    return
  }
  socket.end(`${reply.code} ${formatReplyText(reply)}\r\n`)
  socket.resume()
  setTimeout(() => socket.destroy(), REFUSED_LINGER).unref()
}
