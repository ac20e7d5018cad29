/**
 * One listening socket of an SMTP door: STARTTLS, or TLS from the start.
 *
 * Connections are counted when they are accepted, before anything is spent on them. One
 * too many is told 421 on the plain port; on the TLS port it is closed without a word,
 * because a word would cost us the handshake.
 */
import type { Socket } from 'node:net'
import type { TLSSocket } from 'node:tls'
import { SMTPServer, type SMTPServerDataStream, type SMTPServerOptions, type SMTPServerSession } from 'smtp-server'
import type { SMTPConnectionOptions, TLSError } from 'smtp-server/lib/smtp-connection.js'
import { originOf } from '../accounts/client-address.js'
import type { ConnectionOrigin } from '../platform/connections/connection-limiter.js'
import { ServerSlot } from './connection-slot.js'
import { ClientGone } from './incoming-message.js'
import { MailSession } from './mail-session.js'
import type { SmtpReply } from './protocol-fault.js'
import type { CommonReason, ListenerSettings, SessionGate } from './session-gate.js'
import { tooManyConnections, tooManyFromAddress, tooManyFromNetwork } from './session-replies.js'
import { asError, replyText } from './smtp-reply.js'

export type Callback<T> = (error?: Error | null, result?: T) => void

/** How long a client that was turned away has to close its side. */
const REFUSED_LINGER = 1000
const CLOSE_MARGIN = 60_000

const refusals: Readonly<Partial<Record<CommonReason, SmtpReply>>> = {
  'connections-of-address': tooManyFromAddress,
  'connections-of-network': tooManyFromNetwork,
}

export abstract class MailServer extends SMTPServer {
  private readonly sessions = new WeakMap<SMTPServerSession, MailSession>()
  private readonly slots = new WeakMap<Socket, ServerSlot>()

  constructor(
    private readonly base: SessionGate,
    options: SMTPServerOptions,
    readonly tls: boolean,
  ) {
    super(options)
  }

  protected abstract openSession(
    socket: Socket | TLSSocket,
    options: SMTPConnectionOptions | null | undefined,
    place: ServerSlot,
  ): MailSession

  /** The sessions that are open now. */
  *openSessions(): Iterable<MailSession> {
    for (const connection of this.connections) if (connection instanceof MailSession) yield connection
  }

  /** Accepts nothing new; whoever speaks up is told 421. smtp-server's own end must not come before ours. */
  stopAccepting(limit: number, closed: () => void): void {
    this.options.closeTimeout = limit + CLOSE_MARGIN
    this.close(closed)
  }

  /** As whom a connection is counted when it is accepted; null: in all alone. */
  protected originOf(socket: Socket): ConnectionOrigin | null {
    return originOf(socket.remoteAddress ?? '')
  }

  /** Counts a client in. What keeps it out; null: it has its place. */
  protected admit(place: ServerSlot, origin: ConnectionOrigin | null): SmtpReply | null {
    const reason = place.enter(origin)
    if (reason === null) return null
    this.base.note(reason, { client: place.client })
    return refusals[reason] ?? tooManyConnections
  }

  /** Counts a connection as somebody else's. False: there is no place for that one, and it is told so. */
  protected recount(socket: Socket, address: string): boolean {
    const place = this.slots.get(socket) ?? this.newSlot(socket)
    place.client = address
    return this.takeSlot(place, originOf(address), false)
  }

  private newSlot(socket: Socket): ServerSlot {
    // The topmost socket: a handshake must not lose the one below it.
    const place = new ServerSlot(socket, this.base, () => (this._pendingSockets.get(socket) ?? socket).destroy())
    socket.once('close', () => place.leave())
    this.slots.set(socket, place) // STARTTLS takes all listeners off the socket
    return place
  }

  private takeSlot(place: ServerSlot, origin: ConnectionOrigin | null, handshake: boolean): boolean {
    const refusal = this.admit(place, origin)
    if (refusal !== null) refuseConnection(place.socket, handshake, refusal)
    return refusal === null
  }

  override _acceptSocket(socket: Socket, handshake: boolean): (() => void) | false {
    const place = this.newSlot(socket)
    if (!this.takeSlot(place, this.originOf(socket), handshake)) return false
    const release = super._acceptSocket(socket, handshake)
    if (release === false || !this._pendingSockets.has(socket)) return release
    // smtp-server's own limit begins anew with every byte.
    const late = setTimeout(() => this._pendingSockets.get(socket)?.destroy(), this.base.settings.handshakeTimeout)
    socket.once('close', () => clearTimeout(late))
    return () => {
      clearTimeout(late)
      release()
    }
  }

  override _upgrade(socket: Socket, upgraded: (error: TLSError | null, secured?: TLSSocket) => void): void {
    super._upgrade(socket, (error, secured) => {
      const place = this.slots.get(socket)
      if (secured !== undefined && place !== undefined) this.slots.set(secured, place)
      upgraded(error, secured)
    })
  }

  override connect(socket: Socket | TLSSocket, socketOptions?: SMTPConnectionOptions | null): void {
    if (socket.destroyed) return // its `close` has been, nobody would ever take the session out
    const place = this.slots.get(socket)
    if (place === undefined) throw new Error('a connection that was not accepted')
    const session = this.openSession(socket, socketOptions, place)
    place.session = session
    this.sessions.set(session.session, session)
    this.connections.add(session)
    // What broke it is heard twice, of the socket and of the TLS over it.
    session.on(
      'error',
      once((error: Error) => this._onError(error)),
    )
    session.init()
  }

  /** At once: smtp-server's own waits a turn, and takes what comes meanwhile for talking too soon. */
  override onConnect(_session: SMTPServerSession, done: Callback<never>): void {
    done()
  }

  override onSecure(_socket: Socket | TLSSocket, _session: SMTPServerSession, done: Callback<never>): void {
    done()
  }

  override onData(_stream: SMTPServerDataStream, session: SMTPServerSession, done: Callback<string>): void {
    const mailSession = this.sessionOf(session)
    mailSession.receive().then(
      (text) => done(null, text),
      (error: unknown) => {
        if (!(error instanceof ClientGone)) done(asError(mailSession.replyTo(error)))
      },
    )
  }

  protected sessionOf(session: SMTPServerSession): MailSession {
    const owner = this.sessions.get(session)
    if (owner === undefined) throw new Error('a session that nobody opened')
    return owner
  }
}

/** What the options of all doors have in common. */
export function listenerOptions(settings: ListenerSettings, tls: boolean): SMTPServerOptions {
  return {
    name: settings.hostname,
    secure: tls,
    ...settings.tls,
    minVersion: 'TLSv1.2',
    size: settings.maxSize,
    authOptional: true, // the session decides
    hideENHANCEDSTATUSCODES: false,
    hideREQUIRETLS: true,
    heloResponse: '%s',
    disableReverseLookup: true,
    maxCommandLength: settings.maxCommandLength,
    socketTimeout: settings.idleTimeout,
    logger: false,
  }
}

function refuseConnection(socket: Socket, handshake: boolean, reply: SmtpReply): void {
  socket.on('error', () => undefined)
  if (handshake) {
    socket.destroy()
    return
  }
  socket.end(`${reply.code} ${replyText(reply)}\r\n`)
  socket.resume()
  setTimeout(() => socket.destroy(), REFUSED_LINGER).unref()
}

function once<Given extends readonly unknown[]>(act: (...given: Given) => void): (...given: Given) => void {
  let done = false
  return (...given) => {
    if (!done) act(...given)
    done = true
  }
}
