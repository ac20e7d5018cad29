/**
 * A connection of smtp-server as the connection of a session of ours.
 *
 * With `smtp-server-adapter.ts` this is the only file that knows the inside of smtp-server: its
 * underscore members, handlers and parser. `test/smtp/server/smtp-server-adapter.test.ts` names each
 * of them. smtp-server frames commands and DATA, runs TLS and SASL, and answers HELO, RSET, NOOP,
 * HELP, VRFY and QUIT; MAIL, RCPT, DATA, and whether AUTH may run, are the session's. smtp-server's
 * envelope is only filled so far that its DATA sees a transaction.
 */
import type { Socket } from 'node:net'
import { TLSSocket } from 'node:tls'
import type { SMTPServer, SMTPServerDataStream } from 'smtp-server'
import { SMTPConnection, type SMTPConnectionOptions } from 'smtp-server/lib/smtp-connection.js'
import type { SMTPStream } from 'smtp-server/lib/smtp-stream.js'
import type { ConnectionOrigin } from '../../platform/connections/connection-limiter.js'
import type { TlsFacts } from '../../receiving/received-message.js'
import type { IncomingMessage } from '../session/incoming-message.js'
import type { SmtpReply } from '../session/protocol-fault.js'
import { expnNotImplemented } from '../session/session-replies.js'
import { replyText } from '../session/smtp-reply.js'
import type { Answer, MessageTransfer, SessionConnection, SmtpSession } from '../session/smtp-session.js'
import type { ListenerSlot } from './admission.js'
import { hasStatus, withStatus } from './enhanced-status.js'

type Done = () => void

const OK = 250
/** How long a client has to close its side before the socket is destroyed. */
const CLOSE_LINGER = 500

export class SmtpConnectionAdapter<Session extends SmtpSession> extends SMTPConnection implements SessionConnection {
  readonly smtpSession: Session
  tls: TlsFacts | null = null
  private transfer: MessageTransfer | null = null
  private runHeldCommand: Done = () => undefined

  constructor(
    server: SMTPServer,
    socket: Socket | TLSSocket,
    options: SMTPConnectionOptions | null | undefined,
    private readonly slot: ListenerSlot,
    openSession: (connection: SessionConnection) => Session,
  ) {
    super(server, socket, options)
    this.smtpSession = openSession(this)
  }

  get acceptedAt(): number {
    return this.slot.since
  }

  get origin(): ConnectionOrigin | null {
    return this.slot.origin
  }

  get helo(): string {
    return this.hostNameAppearsAs || ''
  }

  get isExtended(): boolean {
    return this.openingCommand === 'EHLO'
  }

  get isInHandshake(): boolean {
    return this._upgrading
  }

  get isOpen(): boolean {
    return !this._closing && !this._closed
  }

  get hasUnreadInput(): boolean {
    return this._parser !== false && this._parser._remainder !== ''
  }

  reply(reply: SmtpReply): void {
    this.send(reply.code, replyText(reply))
  }

  destroy(): void {
    this._socket.destroy()
  }

  destroySoon(): void {
    setTimeout(() => this.destroy(), CLOSE_LINGER).unref()
  }

  /** Replaces smtp-server's wait of 100 ms, its limit of clients and its reverse lookup: the session decides. */
  override init(): void {
    this._setListeners(() => whenAnswered(this.smtpSession.connect(), (refusal) => this.greet(refusal)))
  }

  private greet(refusal: SmtpReply | null): void {
    if (!this.isOpen) return
    if (refusal === null) this.connectionReady(() => this.runHeldCommand())
    else this.refuse(refusal)
  }

  private refuse(reply: SmtpReply): void {
    this.reply(reply)
    this.close()
  }

  /** A command before the greeting waits here; the parser gives out no other meanwhile. */
  override _onCommand(command: Buffer, callback?: Done): void {
    this.smtpSession.command()
    if (this._ready || this._server._closeTimeout) {
      super._onCommand(command, callback)
      return
    }
    const refusal = this.smtpSession.earlyCommand()
    if (refusal === null) this.runHeldCommand = () => super._onCommand(command, callback)
    else this.refuse(refusal)
  }

  override handler_EHLO(command: Buffer, callback: Done): void {
    this.session.disabledCommands = this.smtpSession.hello().auth ? [] : ['AUTH']
    super.handler_EHLO(command, () => undefined)
    this.session.disabledCommands = undefined
    callback()
  }

  override handler_AUTH(command: Buffer, callback: Done): void {
    const refusal = this.smtpSession.checkAuth?.() ?? null
    if (refusal === null) {
      super.handler_AUTH(command, callback)
      return
    }
    this.reply(refusal)
    callback()
  }

  override handler_MAIL(command: Buffer, callback: Done): void {
    const reply = this.smtpSession.mail(command)
    // Outside of a transaction smtp-server does not report a connection that breaks.
    if (reply.code === OK) this.session.envelope.mailFrom = { address: '', args: false }
    this.reply(reply)
    callback()
  }

  override handler_RCPT(command: Buffer, callback: Done): void {
    whenAnswered(this.smtpSession.rcpt(command), (reply) => {
      this.reply(reply)
      callback()
    })
  }

  override handler_DATA(command: Buffer, callback: Done): void {
    whenAnswered(this.smtpSession.data(), (answer) => {
      if (answer === null) return
      if ('code' in answer) {
        this.reply(answer)
        callback()
        return
      }
      if (!this.isOpen) {
        answer.message.destroy()
        this.smtpSession.close()
        return
      }
      this.transfer = answer
      this.session.envelope.rcptTo = [{ address: '', args: false }]
      super.handler_DATA(command, callback)
    })
  }

  handler_EXPN(_command: Buffer, callback: Done): void {
    this.reply(expnNotImplemented)
    callback()
  }

  /** smtp-server creates a parser in its constructor, before our fields exist, and one after STARTTLS. */
  override _createParser(): SMTPStream {
    const parser = super._createParser()
    parser.startDataMode = (maxSize) => {
      if (this.transfer === null) throw new Error('DATA without a transfer')
      return startDataMode(parser, Number(maxSize), this.transfer.message)
    }
    return parser
  }

  /** Calls back with the reply to the message, unless the client left before its end. */
  whenStored(act: (reply: SmtpReply) => void): void {
    void this.transfer?.stored.then((reply) => {
      if (reply !== null) act(reply)
    })
  }

  /** TLS is in place, from the start or after STARTTLS. */
  secured(socket: Socket | TLSSocket): void {
    this.tls = socket instanceof TLSSocket ? tlsFactsOf(socket) : null
    this.smtpSession.secured()
  }

  /** The only place of smtp-server that writes. */
  override send(code: number, data?: string | string[] | null, context?: string | false): void {
    if (typeof data === 'string') {
      const text = withStatus(data)
      super.send(code, text, hasStatus(code, text) ? false : context)
    } else super.send(code, data, context)
    this.smtpSession.replied(code)
  }

  /** smtp-server calls this after each message, at RSET, HELO, EHLO and STARTTLS. */
  override _resetSession(): void {
    super._resetSession()
    this.transfer = null
    this.smtpSession.reset()
  }

  override close(): void {
    super.close()
    this.smtpSession.close()
    if (this._server._closeTimeout) this.destroySoon()
  }

  override _onClose(): void {
    super._onClose()
    this.smtpSession.close()
    this.slot.leave()
  }
}

/**
 * Puts the parser into data mode as its own `startDataMode` does, with a message of ours in the
 * place of the stream. The parser finds the end of the message and takes out the dots that were
 * added on the way (RFC 5321 section 4.5.2).
 */
export function startDataMode(parser: SMTPStream, maxSize: number, message: IncomingMessage): SMTPServerDataStream {
  const stream = message as unknown as SMTPServerDataStream // as much of it as smtp-server uses
  parser._dataMode = true
  parser._maxBytes = maxSize
  parser.dataBytes = 0
  parser._atDataStart = true
  parser._dataStream = stream
  return stream
}

function whenAnswered<Value>(answer: Answer<Value>, act: (value: Value) => void): void {
  if (answer instanceof Promise) void answer.then(act)
  else act(answer)
}

function tlsFactsOf(socket: TLSSocket): TlsFacts {
  const { name, standardName } = socket.getCipher()
  return { protocol: socket.getProtocol() ?? 'unknown', cipher: standardName || name }
}
