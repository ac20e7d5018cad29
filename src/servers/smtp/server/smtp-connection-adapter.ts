/**
 * Adapts a connection of smtp-server to one of our sessions.
 *
 * This file and `smtp-server-adapter.ts` are the only ones that know the internals of smtp-server (underscore
 * members, handlers, parser); `test/servers/smtp/server/smtp-server-adapter.test.ts` names each member that they use.
 * smtp-server frames commands and DATA, runs TLS and SASL, and answers HELO, RSET, NOOP, HELP, VRFY and QUIT.
 * The session decides MAIL, RCPT, DATA, AUTH, and what EHLO offers. smtp-server's envelope holds placeholders,
 * so that its DATA sees a transaction.
 *
 * Its modules are imported without `.js`, so that one pattern of its exports matches (docs/decisions/node-versions.md).
 */
import type { Socket } from 'node:net'
import { TLSSocket } from 'node:tls'
import type { SMTPServer, SMTPServerDataStream } from 'smtp-server'
import { SMTPConnection, type SMTPConnectionOptions } from 'smtp-server/lib/smtp-connection'
import type { SMTPStream } from 'smtp-server/lib/smtp-stream'
import type { ConnectionOrigin } from '../../../base/platform/connections/connection-limiter.js'
import { sharedTurns } from '../../../base/platform/shared-turns.js'
import type { TlsFacts } from '../../../inbound/receiving/authentication/received-message.js'
import type { IncomingMessage } from '../session/incoming-message.js'
import { expnReply } from '../session/session-replies.js'
import { formatReplyText, type SmtpReply } from '../session/smtp-reply.js'
import type { MessageTransfer, SessionConnection, SmtpSession } from '../session/smtp-session.js'
import type { ListenerSlot } from './admission.js'
import { handleAnswer } from './answers.js'
import { replaceUser, replaceUserAfter } from './any-user.js'
import { DataReader } from './data-reader.js'
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
    this.send(reply.code, formatReplyText(reply))
  }

  destroy(): void {
    this._socket.destroy()
  }

  destroySoon(): void {
    setTimeout(() => this.destroy(), CLOSE_LINGER).unref()
  }

  /** Replaces smtp-server's delay of 100 ms and its limit of clients. A client that opens a connection for each message must not wait. */
  override init(): void {
    this._setListeners(() => handleAnswer(this.smtpSession.connect(), (refusal) => this.greet(refusal)))
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

  /** A command before the greeting waits here; the parser emits no other one while it waits. */
  override _onCommand(command: Buffer, callback?: Done): void {
    this.smtpSession.onCommand()
    if (this._ready || this._server._closeTimeout) {
      super._onCommand(command, callback)
      return
    }
    const refusal = this.smtpSession.onEarlyCommand()
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
      super.handler_AUTH(replaceUser(command), callback)
      if (this._nextHandler !== false) this._nextHandler = replaceUserAfter(command, this._nextHandler.bind(this))
      return
    }
    this.reply(refusal)
    callback()
  }

  override handler_MAIL(command: Buffer, callback: Done): void {
    handleAnswer(this.smtpSession.mail(command), (reply) => {
      // smtp-server reports a broken connection only within a transaction.
      if (reply.code === OK) this.session.envelope.mailFrom = { address: '', args: false }
      this.reply(reply)
      callback()
    })
  }

  override handler_RCPT(command: Buffer, callback: Done): void {
    handleAnswer(this.smtpSession.rcpt(command), (reply) => {
      this.reply(reply)
      callback()
    })
  }

  /** When smtp-server has begun to read the data, it calls `onData` of the adapter, whose `handleStored` sends the last reply. */
  override handler_DATA(command: Buffer, callback: Done): void {
    handleAnswer(this.smtpSession.data(), (answer) => {
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
    this.reply(expnReply)
    callback()
  }

  /** Called by smtp-server's constructor, before our fields exist, and after STARTTLS. */
  override _createParser(): SMTPStream {
    const parser = super._createParser()
    const parseChunk = parser._write.bind(parser)
    parser._write = (chunk, encoding, next) => {
      if (parser._dataMode || !hasSeveralLines(chunk)) return parseChunk(chunk, encoding, next)
      const release = holdWrites(this._socket)
      parseChunk(chunk, encoding, (error) => {
        release()
        next(error)
      })
    }
    parser.startDataMode = (maxSize) => {
      if (this.transfer === null) throw new Error('DATA began without a transfer')
      return startDataMode(parser, Number(maxSize), this.transfer.message)
    }
    return parser
  }

  /** Calls back with the reply to the message, unless the client left before its end. */
  handleStored(act: (reply: SmtpReply) => void): void {
    void this.transfer?.stored.then((reply) => {
      if (reply !== null) act(reply)
    })
  }

  /** TLS is in place, from the start or after STARTTLS. */
  setTls(socket: Socket | TLSSocket): void {
    this.tls = socket instanceof TLSSocket ? tlsFactsOf(socket) : null
    this.smtpSession.onSecure()
  }

  /** All replies pass here: nothing else in smtp-server writes to the socket. */
  override send(code: number, data?: string | string[] | null, context?: string | false): void {
    if (typeof data === 'string') {
      const text = withStatus(data)
      super.send(code, text, hasStatus(code, text) ? false : context)
    } else super.send(code, data, context)
    this.smtpSession.onReply(code)
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
 * Puts the parser into data mode as its own `startDataMode` does, but with a message of ours instead of a
 * stream, and with our reader of its bytes instead of `_feedDataStream`.
 */
export function startDataMode(parser: SMTPStream, maxSize: number, message: IncomingMessage): SMTPServerDataStream {
  const stream = message as unknown as SMTPServerDataStream // it has the members that smtp-server uses
  parser._dataMode = true
  parser._maxBytes = maxSize
  parser.dataBytes = 0
  parser._atDataStart = true
  parser._dataStream = stream
  const reader = new DataReader()
  const feed = (chunk: Buffer, done: () => void): void => {
    const { content, rest } = reader.read(chunk)
    parser._countDataBytes(content.length)
    if (rest !== null) {
      parser._endDataMode(content, rest, done)
      return
    }
    if (content.length > 0) message.write(content)
    done()
  }
  // A chunk that waits for its turn pauses the socket.
  parser._feedDataStream = (chunk, done) => sharedTurns.run(() => (parser.isClosed ? done() : feed(chunk, done)))
  return stream
}

const LF = 0x0a

/** Whether a client pipelines its commands (RFC 2920). */
function hasSeveralLines(chunk: Buffer): boolean {
  const end = chunk.indexOf(LF)
  return end !== -1 && end < chunk.length - 1
}

/**
 * The replies to commands that came in one piece go out in one piece, unless a command takes longer than this turn of the
 * event loop. Returns a function that ends it earlier.
 */
function holdWrites(socket: Socket | TLSSocket): () => void {
  let isHeld = true
  const release = (): void => {
    if (!isHeld) return
    isHeld = false
    clearImmediate(turnEnd)
    socket.uncork()
  }
  socket.cork()
  const turnEnd = setImmediate(release)
  return release
}

function tlsFactsOf(socket: TLSSocket): TlsFacts {
  const { name, standardName } = socket.getCipher()
  return { protocol: socket.getProtocol() ?? 'unknown', cipher: standardName || name }
}
