/**
 * Adapts smtp-server to our sessions: a listening socket with STARTTLS or TLS from the start, and with
 * PROXY lines (version 1).
 *
 * `smtp-connection-adapter.ts` says which parts of smtp-server we use. A client can never end the process
 * by a fault: `error` always has a listener.
 *
 * Known limits: a PROXY line without an address (`UNKNOWN`) makes a connection that counts in the
 * total only; the reply to a broken PROXY line is smtp-server's.
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
import type { SMTPConnectionOptions, TLSError } from 'smtp-server/lib/smtp-connection'
import { formatForDisplay } from '../../../base/mail/address.js'
import type { ConnectionOrigin } from '../../../base/platform/connections/connection-limiter.js'
import { serverTlsSettings } from '../../../base/platform/tls-settings.js'
import type { SessionFacts, SessionGate } from '../session/session-gate.js'
import { formatReplyText, type SmtpReply } from '../session/smtp-reply.js'
import type { SessionConnection, SmtpSession } from '../session/smtp-session.js'
import { Admission, type CheckNewClient } from './admission.js'
import { handleAnswer } from './answers.js'
import { SmtpConnectionAdapter } from './smtp-connection-adapter.js'

/** The decisions of one kind of listener. */
export interface ListenerRules<Session extends SmtpSession> {
  readonly gate: SessionGate
  readonly openSession: (connection: SessionConnection) => Session
  /** Finds the client as which an accepted connection counts. */
  readonly originOf: (address: string) => ConnectionOrigin
  readonly checkNewClient: CheckNewClient
  /** Connections from this address begin with a PROXY line. */
  readonly isProxy: (address: string) => boolean
  /** EHLO may offer AUTH and DSN (RFC 3461). */
  readonly forSubmission: boolean
  readonly logFault: (facts: SessionFacts & { readonly reason: string }) => void
}

type Callback<T> = (error?: Error | null, result?: T) => void

/** smtp-server must not end sessions before we do. */
const CLOSE_MARGIN = 60_000
const AUTHENTICATED = 235
const OK = 250

export class SmtpServerAdapter<Session extends SmtpSession> extends SMTPServer {
  private readonly owners = new WeakMap<SMTPServerSession, SmtpConnectionAdapter<Session>>()
  /** The sessions of connections that failed, by their errors. */
  private readonly sessionIds = new WeakMap<Error, string>()
  private readonly admission: Admission

  constructor(
    private readonly rules: ListenerRules<Session>,
    readonly tls: boolean,
  ) {
    super(toServerOptions(rules, tls))
    this.admission = new Admission(rules.gate, rules.checkNewClient)
    this.on('error', (error: ClientError) => {
      // The listener itself could not be opened. The caller that opens it reports the error.
      if ('syscall' in error && error.syscall === 'listen') return
      rules.logFault(clientFaultFacts(error, this.sessionIds.get(error)))
    })
  }

  /** The connections that have a session now. */
  *openConnections(): Iterable<SmtpConnectionAdapter<Session>> {
    for (const { session } of this.connections) {
      const connection = this.owners.get(session)
      if (connection !== undefined) yield connection
    }
  }

  /** Accepts no more connections, and answers every command with 421. */
  stopAccepting(limit: number, closed: () => void): void {
    this.options.closeTimeout = limit + CLOSE_MARGIN
    this.close(closed)
  }

  override _expectsProxyHeader(socket: Socket): boolean {
    return this.rules.isProxy(socket.remoteAddress ?? '')
  }

  override _acceptSocket(socket: Socket, handshake: boolean): (() => void) | false {
    const origin = this._expectsProxyHeader(socket) ? null : this.rules.originOf(socket.remoteAddress ?? '')
    // Destroys the TLS socket on top, if there is one: Node.js does not expect the socket below to vanish in a
    // handshake.
    const drop = (): void => void (this._pendingSockets.get(socket) ?? socket).destroy()
    if (!this.admission.accept(socket, origin, drop, handshake)) return false
    const release = super._acceptSocket(socket, handshake)
    if (release === false || !this._pendingSockets.has(socket)) return release
    // smtp-server's own timeout starts again with every byte.
    const timeout = this.rules.gate.handshakeTimeout()
    const timer = setTimeout(() => this._pendingSockets.get(socket)?.destroy(), timeout)
    socket.once('close', () => clearTimeout(timer))
    return () => {
      clearTimeout(timer)
      release()
    }
  }

  override _upgrade(socket: Socket, upgraded: (error: TLSError | null, secured?: TLSSocket) => void): void {
    super._upgrade(socket, (error, secured) => {
      if (secured !== undefined) this.admission.share(socket, secured)
      upgraded(error, secured)
    })
  }

  /** `remoteAddress` of the options comes from a PROXY line. */
  override connect(socket: Socket | TLSSocket, options?: SMTPConnectionOptions | null): void {
    if (socket.destroyed) return // its `close` event has been emitted: nothing would remove the session
    const slot = this.admission.slotOf(socket)
    const proxied = options?.remoteAddress
    if (proxied !== undefined && !this.admission.recount(slot, proxied)) return
    const connection = new SmtpConnectionAdapter(this, socket, options, slot, this.rules.openSession)
    slot.session = connection.smtpSession
    this.owners.set(connection.session, connection)
    this.connections.add(connection)
    // One fault is emitted twice: on the socket and on the TLS socket over it.
    connection.once('error', (error: Error) => {
      connection.on('error', () => undefined)
      this.sessionIds.set(error, connection.id)
      this._onError(error)
    })
    connection.init()
  }

  /** It is synchronous: smtp-server's default waits a tick, and refuses what arrives in that time as too early. */
  override onConnect(_session: SMTPServerSession, done: Callback<never>): void {
    done()
  }

  override onSecure(socket: Socket | TLSSocket, session: SMTPServerSession, done: Callback<never>): void {
    this.ownerOf(session).setTls(socket)
    done()
  }

  override onAuth(
    { password }: SMTPServerAuthentication,
    session: SMTPServerSession,
    done: Callback<SMTPServerAuthenticationResponse>,
  ): void {
    const { smtpSession } = this.ownerOf(session)
    if (smtpSession.auth === undefined) throw new Error('AUTH in a session that does not offer it')
    handleAnswer(smtpSession.auth(password ?? ''), (reply) => {
      if (reply.code === AUTHENTICATED) done(null, { user: true })
      else done(asError(reply))
    })
  }

  override onData(_stream: SMTPServerDataStream, session: SMTPServerSession, done: Callback<string>): void {
    this.ownerOf(session).handleStored((reply) => {
      if (reply.code === OK) done(null, formatReplyText(reply))
      else done(asError(reply))
    })
  }

  private ownerOf(session: SMTPServerSession): SmtpConnectionAdapter<Session> {
    const owner = this.owners.get(session)
    if (owner === undefined) throw new Error('a session has no connection')
    return owner
  }
}

function toServerOptions<Session extends SmtpSession>(
  { gate: { hostname, tls: certificate, settings, limits }, forSubmission }: ListenerRules<Session>,
  tls: boolean,
): SMTPServerOptions {
  return {
    name: hostname,
    secure: tls,
    ...certificate,
    ...serverTlsSettings,
    // It is read at each EHLO and MAIL.
    get size() {
      return settings().max_size
    },
    authOptional: true, // the session decides
    authMethods: ['PLAIN', 'LOGIN'],
    allowInsecureAuth: true, // the session decides: TLS or loopback
    disabledCommands: [...(forSubmission ? [] : ['AUTH']), 'XCLIENT', 'XFORWARD', 'WIZ', 'SHELL', 'KILL'],
    hideDSN: !forSubmission,
    hideENHANCEDSTATUSCODES: false,
    hideREQUIRETLS: false,
    heloResponse: '%s',
    disableReverseLookup: true,
    maxCommandLength: limits.maxCommandLength,
    socketTimeout: limits.idleTimeout,
    logger: false,
  }
}

/** A reply in the form that smtp-server's callbacks take. */
export function asError(reply: SmtpReply): Error {
  return Object.assign(new Error(formatReplyText(reply)), { responseCode: reply.code })
}

/** smtp-server adds the address to the error, or to its details if it is the error of a handshake. */
interface ClientError extends Error {
  readonly remoteAddress?: string
  readonly meta?: { readonly remoteAddress?: string }
}

/** `session` is undefined before there is one, as in a handshake. */
function clientFaultFacts(
  { message, remoteAddress, meta }: ClientError,
  session: string | undefined,
): SessionFacts & { readonly reason: string } {
  const client = remoteAddress ?? meta?.remoteAddress ?? ''
  return { client, ...(session === undefined ? {} : { session }), reason: formatForDisplay(message) }
}
