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
import { doorOptions, MailServer, type Place, type Result } from './mail-server.js'
import type { SubmissionSettings } from './submission-deps.js'
import type { SubmissionGate } from './submission-gate.js'
import { SubmissionSession } from './submission-session.js'

export class SubmissionServer extends MailServer {
  constructor(
    private readonly gate: SubmissionGate,
    tls: boolean,
  ) {
    super(gate, options(gate.settings, tls), tls)
    this.on('error', (error: Error) => gate.deps.log.info({ reason: error.message }, 'a submission client failed'))
  }

  *submissions(): Iterable<SubmissionSession> {
    for (const session of this.open()) if (session instanceof SubmissionSession) yield session
  }

  protected override openSession(
    socket: Socket | TLSSocket,
    socketOptions: SMTPConnectionOptions | null | undefined,
    { leave }: Place,
  ): SubmissionSession {
    return new SubmissionSession(this, socket, socketOptions, this.gate, leave)
  }

  override onAuth(
    { password }: SMTPServerAuthentication,
    session: SMTPServerSession,
    done: Result<SMTPServerAuthenticationResponse>,
  ): void {
    const owner = this.owner(session)
    if (owner instanceof SubmissionSession) owner.authenticate(password ?? '', done)
  }
}

function options(settings: SubmissionSettings, tls: boolean): SMTPServerOptions {
  return {
    ...doorOptions(settings, tls),
    authMethods: ['PLAIN', 'LOGIN'],
    allowInsecureAuth: true, // the session decides: TLS or loopback
    disabledCommands: ['XCLIENT', 'XFORWARD', 'WIZ', 'SHELL', 'KILL'],
    hideDSN: false,
  }
}
