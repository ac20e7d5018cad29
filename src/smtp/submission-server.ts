/**
 * One listening socket for submissions: STARTTLS, or TLS from the start.
 *
 * Nothing that a client does may end the server: `error` always has a listener.
 */
import type { Socket } from 'node:net'
import type { TLSSocket } from 'node:tls'
import type {
  SMTPServerAuthentication,
  SMTPServerAuthenticationResponse,
  SMTPServerOptions,
  SMTPServerSession,
} from 'smtp-server'
import type { SMTPConnectionOptions } from 'smtp-server/lib/smtp-connection.js'
import type { ConnectionOrigin } from '../platform/connections/connection-limiter.js'
import type { ServerSlot } from './connection-slot.js'
import { type ClientError, clientFaultFacts } from './log-facts.js'
import { type Callback, listenerOptions, MailServer } from './mail-server.js'
import type { SubmissionSettings } from './submission-deps.js'
import type { SubmissionGate } from './submission-gate.js'
import { SubmissionSession } from './submission-session.js'

export class SubmissionServer extends MailServer {
  constructor(
    private readonly gate: SubmissionGate,
    tls: boolean,
  ) {
    super(gate, options(gate.settings, tls), tls)
    this.on('error', (error: ClientError) => gate.lines.info(clientFaultFacts(error), 'a submission client failed'))
  }

  /** A network that the operator trusts is not held to the limit of strangers' networks. */
  protected override originOf(socket: Socket): ConnectionOrigin | null {
    const origin = super.originOf(socket)
    return origin !== null && this.isTrusted(socket) ? { ...origin, network: null } : origin
  }

  private isTrusted({ remoteAddress = '' }: Socket): boolean {
    try {
      return this.gate.deps.trusted(remoteAddress) !== null
    } catch {
      return false // the session asks again, and tells the client
    }
  }

  *submissions(): Iterable<SubmissionSession> {
    for (const session of this.openSessions()) if (session instanceof SubmissionSession) yield session
  }

  protected override openSession(
    socket: Socket | TLSSocket,
    socketOptions: SMTPConnectionOptions | null | undefined,
    place: ServerSlot,
  ): SubmissionSession {
    return new SubmissionSession(this, socket, socketOptions, this.gate, place)
  }

  override onAuth(
    { password }: SMTPServerAuthentication,
    session: SMTPServerSession,
    done: Callback<SMTPServerAuthenticationResponse>,
  ): void {
    const owner = this.sessionOf(session)
    if (owner instanceof SubmissionSession) owner.authenticate(password ?? '', done)
  }
}

function options(settings: SubmissionSettings, tls: boolean): SMTPServerOptions {
  return {
    ...listenerOptions(settings, tls),
    authMethods: ['PLAIN', 'LOGIN'],
    allowInsecureAuth: true, // the session decides: TLS or loopback
    disabledCommands: ['XCLIENT', 'XFORWARD', 'WIZ', 'SHELL', 'KILL'],
    hideDSN: false,
  }
}
