/**
 * One listening socket for submissions: STARTTLS, or TLS from the start.
 *
 * Connections are counted when they are accepted, before anything is spent on them. One
 * too many is told 421 on the plain port; on the TLS port it is closed without a word,
 * because a word would cost us the handshake.
 *
 * Nothing that a client does may end the server: `error` always has a listener.
 */
import type { Socket } from 'node:net'
import type { TLSSocket } from 'node:tls'
import {
  SMTPServer,
  type SMTPServerAuthentication,
  type SMTPServerAuthenticationResponse,
  type SMTPServerDataStream,
  type SMTPServerOptions,
  type SMTPServerSession,
} from 'smtp-server'
import type { SMTPConnectionOptions } from 'smtp-server/lib/smtp-connection.js'
import { limitKey } from '../accounts/client-address.js'
import { answer, asError } from './answer.js'
import { ClientGone } from './collect.js'
import type { SubmissionSettings } from './submission-deps.js'
import type { SubmissionGate } from './submission-gate.js'
import { SubmissionSession } from './submission-session.js'

type Result<T> = (error?: Error | null, result?: T) => void

/** How long a client that was turned away has to close its side. */
const REFUSED_LINGER = 1000
const CLOSE_MARGIN = 60_000

export class SubmissionServer extends SMTPServer {
  private readonly sessions = new WeakMap<SMTPServerSession, SubmissionSession>()
  private readonly leavings = new WeakMap<Socket, () => void>()

  constructor(
    private readonly gate: SubmissionGate,
    readonly tls: boolean,
  ) {
    super(options(gate.settings, tls))
    this.on('error', (error: Error) => gate.deps.log.info({ reason: error.message }, 'a submission client failed'))
  }

  /** The sessions that are open now. */
  *open(): Iterable<SubmissionSession> {
    for (const connection of this.connections) if (connection instanceof SubmissionSession) yield connection
  }

  /** Accepts nothing new; whoever speaks up is told 421. smtp-server's own end must not come before ours. */
  shut(limit: number, closed: () => void): void {
    this.options.closeTimeout = limit + CLOSE_MARGIN
    this.close(closed)
  }

  override _acceptSocket(socket: Socket, handshake: boolean): (() => void) | false {
    const { connections } = this.gate
    const client = limitKey(socket.remoteAddress ?? '')
    const entry = connections.enter(client)
    if (entry !== 'welcome') {
      turnAway(socket, handshake, entry === 'full' ? '4.3.2' : '4.7.0')
      return false
    }
    const leave = once(() => connections.leave(client))
    socket.once('close', leave)
    this.leavings.set(socket, leave) // STARTTLS takes all listeners off the socket
    return super._acceptSocket(socket, handshake)
  }

  override connect(socket: Socket | TLSSocket, socketOptions?: SMTPConnectionOptions | null): void {
    if (socket.destroyed) return // its `close` has been, nobody would ever take the session out
    const leave = this.leavings.get(socket) ?? (() => undefined)
    const session = new SubmissionSession(this, socket, socketOptions, this.gate, leave)
    this.sessions.set(session.session, session)
    this.connections.add(session)
    session.on('error', (error: Error) => this._onError(error))
    session.init()
  }

  /** At once: smtp-server's own waits a turn, and takes what comes meanwhile for talking too soon. */
  override onConnect(_session: SMTPServerSession, done: Result<never>): void {
    done()
  }

  override onSecure(_socket: Socket | TLSSocket, _session: SMTPServerSession, done: Result<never>): void {
    done()
  }

  override onAuth(
    { password }: SMTPServerAuthentication,
    session: SMTPServerSession,
    done: Result<SMTPServerAuthenticationResponse>,
  ): void {
    this.owner(session).authenticate(password ?? '', done)
  }

  override onData(_stream: SMTPServerDataStream, session: SMTPServerSession, done: Result<string>): void {
    this.owner(session)
      .receive()
      .then(
        (text) => done(null, text),
        (error: unknown) => {
          if (!(error instanceof ClientGone)) done(asError(answer(error, this.gate.report)))
        },
      )
  }

  private owner(session: SMTPServerSession): SubmissionSession {
    const owner = this.sessions.get(session)
    if (owner === undefined) throw new Error('a session that nobody opened')
    return owner
  }
}

function options(settings: SubmissionSettings, tls: boolean): SMTPServerOptions {
  return {
    name: settings.hostname,
    secure: tls,
    ...settings.tls,
    minVersion: 'TLSv1.2',
    size: settings.maxSize,
    authMethods: ['PLAIN', 'LOGIN'],
    authOptional: true, // the session decides: trusted networks need none
    allowInsecureAuth: true, // the session decides: TLS or loopback
    disabledCommands: ['XCLIENT', 'XFORWARD', 'WIZ', 'SHELL', 'KILL'],
    hideDSN: false,
    hideENHANCEDSTATUSCODES: false,
    hideREQUIRETLS: true,
    heloResponse: '%s',
    disableReverseLookup: true,
    maxCommandLength: settings.maxCommandLength,
    socketTimeout: settings.idleTimeout,
    logger: false,
  }
}

function turnAway(socket: Socket, handshake: boolean, status: string): void {
  socket.on('error', () => undefined)
  if (handshake) {
    socket.destroy()
    return
  }
  socket.end(`421 ${status} Too many connections, try again later\r\n`)
  socket.resume()
  setTimeout(() => socket.destroy(), REFUSED_LINGER).unref()
}

function once(act: () => void): () => void {
  let done = false
  return () => {
    if (!done) act()
    done = true
  }
}
