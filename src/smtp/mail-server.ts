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
import type { SMTPConnectionOptions } from 'smtp-server/lib/smtp-connection.js'
import { limitKey } from '../accounts/client-address.js'
import { asError, replyText } from './answer.js'
import { ClientGone } from './collect.js'
import { MailSession } from './mail-session.js'
import type { SmtpReply } from './protocol-fault.js'
import type { DoorSettings, SessionGate } from './session-gate.js'
import { tooManyConnections, tooManyFromThere } from './session-replies.js'

export type Result<T> = (error?: Error | null, result?: T) => void

/** A connection's place under the limits. */
export interface Place {
  /** As whom it is counted; null: in all alone. */
  readonly client: string | null
  leave(): void
}

/** How long a client that was turned away has to close its side. */
const REFUSED_LINGER = 1000
const CLOSE_MARGIN = 60_000

export abstract class MailServer extends SMTPServer {
  private readonly sessions = new WeakMap<SMTPServerSession, MailSession>()
  private readonly places = new WeakMap<Socket, Place>()

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
    place: Place,
  ): MailSession

  /** The sessions that are open now. */
  *open(): Iterable<MailSession> {
    for (const connection of this.connections) if (connection instanceof MailSession) yield connection
  }

  /** Accepts nothing new; whoever speaks up is told 421. smtp-server's own end must not come before ours. */
  shut(limit: number, closed: () => void): void {
    this.options.closeTimeout = limit + CLOSE_MARGIN
    this.close(closed)
  }

  /** As whom a connection is counted when it is accepted; null: in all alone. */
  protected clientOf(socket: Socket): string | null {
    return limitKey(socket.remoteAddress ?? '')
  }

  /** Counts a client in. What it is told where there is no place; null: it has one. */
  protected admit(client: string | null): SmtpReply | null {
    const entry = this.base.connections.enter(client)
    if (entry === 'welcome') return null
    return entry === 'full' ? tooManyConnections : tooManyFromThere
  }

  /** Counts a connection as somebody else's. False: there is no place for that one, and it is told so. */
  protected recount(socket: Socket, client: string): boolean {
    this.places.get(socket)?.leave()
    return this.takePlace(socket, client, false)
  }

  private takePlace(socket: Socket, client: string | null, handshake: boolean): boolean {
    const refusal = this.admit(client)
    if (refusal !== null) {
      turnAway(socket, handshake, refusal)
      return false
    }
    const leave = once(() => this.base.connections.leave(client))
    socket.once('close', leave)
    this.places.set(socket, { client, leave }) // STARTTLS takes all listeners off the socket
    return true
  }

  override _acceptSocket(socket: Socket, handshake: boolean): (() => void) | false {
    if (!this.takePlace(socket, this.clientOf(socket), handshake)) return false
    return super._acceptSocket(socket, handshake)
  }

  override connect(socket: Socket | TLSSocket, socketOptions?: SMTPConnectionOptions | null): void {
    if (socket.destroyed) return // its `close` has been, nobody would ever take the session out
    const place = this.places.get(socket) ?? { client: null, leave: () => undefined }
    const session = this.openSession(socket, socketOptions, place)
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
  override onConnect(_session: SMTPServerSession, done: Result<never>): void {
    done()
  }

  override onSecure(_socket: Socket | TLSSocket, _session: SMTPServerSession, done: Result<never>): void {
    done()
  }

  override onData(_stream: SMTPServerDataStream, session: SMTPServerSession, done: Result<string>): void {
    const owner = this.owner(session)
    owner.receive().then(
      (text) => done(null, text),
      (error: unknown) => {
        if (!(error instanceof ClientGone)) done(asError(owner.replyTo(error)))
      },
    )
  }

  protected owner(session: SMTPServerSession): MailSession {
    const owner = this.sessions.get(session)
    if (owner === undefined) throw new Error('a session that nobody opened')
    return owner
  }
}

/** What the options of all doors have in common. */
export function doorOptions(settings: DoorSettings, tls: boolean): SMTPServerOptions {
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

function turnAway(socket: Socket, handshake: boolean, reply: SmtpReply): void {
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
