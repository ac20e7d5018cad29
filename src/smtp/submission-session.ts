/**
 * One submission session: the verbs, each a short method, and how a session ends.
 *
 * Invariants: MAIL has a principal; a message is answered 250 after `accept` has resolved;
 * a session that must end while a message comes in or is being stored ends after its answer.
 *
 * MAIL and RCPT replace those of smtp-server (`path-command.ts` says why); its parser, TLS,
 * AUTH exchanges and DATA framing serve as they are. Its envelope is only filled so far
 * that its DATA sees a transaction.
 */
import type { SMTPStream } from 'smtp-server/lib/smtp-stream.js'
import { isLoopback, limitKey } from '../accounts/client-address.js'
import type { Principal } from '../accounts/principal.js'
import { Refusal } from '../mail/refusal.js'
import { answer, asError, replyText, storageFull } from './answer.js'
import { IncomingMessage, noRoom } from './collect.js'
import { startDataMode } from './data-mode.js'
import { EnhancedConnection } from './enhanced-connection.js'
import { greetAtOnce } from './greeting.js'
import { type MailCommand, parseMail } from './mail-command.js'
import { checkLines } from './message-lines.js'
import { ProtocolFault, type SmtpReply } from './protocol-fault.js'
import { parseRcpt } from './rcpt-command.js'
import { banned, cannotAuthenticate, deadlineOver, recipientOk, senderOk, tooManyFaults } from './session-replies.js'
import type { SubmissionGate } from './submission-gate.js'
import { submittedMessage, type Transaction } from './transaction.js'

type Done = () => void

/** Replies that a client earns by not speaking SMTP. */
const faults: ReadonlySet<number> = new Set([500, 501, 502, 503, 504, 530, 538, 555])
const WRONG_KEY = 535
/** How long a client has to close its side once we are stopping. */
const STOP_LINGER = 500

export class SubmissionSession extends EnhancedConnection {
  private transaction: Transaction | null = null
  private incoming: IncomingMessage | null = null
  private trustedAs: Principal | null = null
  private faultCount = 0
  private authFailureCount = 0
  private farewell: SmtpReply | null = null
  private deadline: NodeJS.Timeout | undefined
  private grace: NodeJS.Timeout | undefined

  constructor(
    server: ConstructorParameters<typeof EnhancedConnection>[0],
    socket: ConstructorParameters<typeof EnhancedConnection>[1],
    options: ConstructorParameters<typeof EnhancedConnection>[2],
    private readonly gate: SubmissionGate,
    private readonly onGone: () => void,
  ) {
    super(server, socket, options)
  }

  /** Who is acting: by a key of this session, else by the network; null: nobody yet. */
  get principal(): Principal | null {
    const user: Principal | false | undefined = this.session.user
    return user || this.trustedAs
  }

  override init(): void {
    const { sessionDeadline, finishWithin } = this.gate.settings
    this.deadline = setTimeout(() => this.finish(deadlineOver, finishWithin), sessionDeadline).unref()
    greetAtOnce(this, () => this.refusalAtConnect())
  }

  private refusalAtConnect(): SmtpReply | null {
    const { deps, authLimit, report } = this.gate
    try {
      this.trustedAs = deps.trusted(this.remoteAddress)
      if (this.trustedAs !== null) return null
      return authLimit.banned(limitKey(this.remoteAddress), deps.clock()) ? banned : null
    } catch (error) {
      return { ...answer(error, report), code: 421 }
    }
  }

  override handler_EHLO(command: Buffer, callback: Done): void {
    this.session.disabledCommands = this.mayAuthenticate() ? [] : ['AUTH'] // not offered where it is refused
    super.handler_EHLO(command, () => undefined)
    this.session.disabledCommands = undefined
    callback()
  }

  override handler_AUTH(command: Buffer, callback: Done): void {
    if (!this.mayAuthenticate()) {
      this.say({ code: 538, status: '5.7.11', text: 'Must issue a STARTTLS command first' })
    } else if (this.transaction !== null) {
      this.say({ code: 503, status: '5.5.1', text: 'AUTH is not allowed during a mail transaction' })
    } else {
      super.handler_AUTH(command, callback)
      return
    }
    callback()
  }

  override handler_MAIL(command: Buffer, callback: Done): void {
    this.run(() => this.mail(command), callback)
  }

  override handler_RCPT(command: Buffer, callback: Done): void {
    this.run(() => this.rcpt(command), callback)
  }

  override handler_DATA(command: Buffer, callback: Done): void {
    const refusal = this.transaction === null ? null : this.refusalForRoom(this.transaction.mail)
    if (refusal === null) {
      super.handler_DATA(command, callback)
      return
    }
    this.say(answer(refusal, this.gate.report))
    callback()
  }

  handler_EXPN(_command: Buffer, callback: Done): void {
    this.say({ code: 502, status: '5.5.1', text: 'EXPN is not implemented' })
    callback()
  }

  private mail(line: Buffer): SmtpReply {
    if (this.transaction !== null) throw new ProtocolFault(503, '5.5.1', 'nested MAIL command')
    const { deps, settings } = this.gate
    const { principal } = this
    if (principal === null) throw this.authenticationRequired()
    const mail = parseMail(line, settings.maxSize)
    const refusal = this.refusalForRoom(mail)
    if (refusal !== null) throw refusal
    deps.checkSender(principal, mail.from)
    this.transaction = { principal, mail, recipients: new Map() }
    this.session.envelope.mailFrom = { address: mail.from, args: false }
    return senderOk
  }

  private rcpt(line: Buffer): SmtpReply {
    if (this.transaction === null) throw new ProtocolFault(503, '5.5.1', 'need MAIL command')
    const { hostname, maxRecipients } = this.gate.settings
    const { mail, recipients } = this.transaction
    const recipient = parseRcpt(line, { hostname, smtputf8: mail.smtputf8 })
    if (recipients.size >= maxRecipients && !recipients.has(recipient.address)) {
      throw new Refusal('too-many-recipients', `at most ${maxRecipients} recipients in one message`)
    }
    recipients.set(recipient.address, recipient)
    // One is enough for smtp-server's DATA; a recipient repeated for ever must not fill its list.
    if (recipients.size === 1) this.session.envelope.rcptTo = [{ address: recipient.address, args: false }]
    return recipientOk
  }

  /** smtp-server makes a parser when the session begins, before our own fields are there, and after STARTTLS. */
  override _createParser(): SMTPStream {
    const parser = super._createParser()
    parser.startDataMode = () => {
      const { settings, memory } = this.gate
      this.incoming = new IncomingMessage(settings.maxSize, memory)
      return startDataMode(parser, settings.maxSize, this.incoming)
    }
    return parser
  }

  /** The message of a DATA command; resolves to the text of the 250. */
  async receive(): Promise<string> {
    const { transaction, incoming } = this
    if (transaction === null || incoming === null) throw new Error('DATA without a transaction')
    const { deps, settings } = this.gate
    const { raw, release } = await incoming.collected
    try {
      checkLines(raw, settings.maxLineLength)
      const submitted = submittedMessage(transaction, raw, this.protocol())
      const { emailId } = await deps.accept(transaction.principal, submitted)
      this.faultCount = 0
      return `2.0.0 Ok: queued as ${emailId}`
    } finally {
      release()
    }
  }

  /** The key of an AUTH exchange; too many wrong ones end the session. */
  authenticate(key: string, done: (error?: Error | null, result?: { readonly user: Principal }) => void): void {
    const { authLimit, deps } = this.gate
    const client = limitKey(this.remoteAddress)
    const result = authLimit.banned(client, deps.clock()) ? banned : this.principalOf(key)
    if ('workspaceId' in result) {
      done(null, { user: result })
      return
    }
    done(asError(result))
    if (result.code === WRONG_KEY) this.countWrongKey(client)
  }

  private countWrongKey(client: string): void {
    const { authLimit, deps, settings } = this.gate
    this.authFailureCount += 1
    const nowBanned = authLimit.failed(client, deps.clock())
    if (nowBanned || this.authFailureCount >= settings.maxAuthFailures) this.say(banned)
  }

  private principalOf(key: string): Principal | SmtpReply {
    try {
      return this.gate.deps.authenticate(key, this.remoteAddress)
    } catch (error) {
      const reply = answer(error, this.gate.report)
      return error instanceof Refusal ? reply : cannotAuthenticate
    }
  }

  /** Ends the session with this 421: now, or after the message that is coming in. */
  finish(reply: SmtpReply, within: number): void {
    if (!this._dataStream) {
      this.say(reply)
      return
    }
    this.farewell = reply
    clearTimeout(this.grace)
    this.grace = setTimeout(() => this.giveUpReceiving(reply), within).unref()
  }

  private giveUpReceiving(reply: SmtpReply): void {
    // A message that is complete is being stored, and will be answered.
    if (this._parser !== false && this._parser._dataMode) this.say(reply)
  }

  /** Closes the socket without a word. */
  destroy(): void {
    this._socket.destroy()
  }

  override send(code: number, data?: string | string[] | null, context?: string | false): void {
    super.send(code, data, context)
    if (!faults.has(code)) return
    this.faultCount += 1
    if (this.faultCount >= this.gate.settings.maxFaults) this.say(tooManyFaults)
  }

  override close(): void {
    super.close()
    if (this._server._closeTimeout) setTimeout(() => this.destroy(), STOP_LINGER).unref()
  }

  /** smtp-server does this after each message, at RSET, EHLO and STARTTLS. */
  override _resetSession(): void {
    super._resetSession()
    this.transaction = null
    this.incoming = null
    if (this.farewell !== null) this.say(this.farewell)
  }

  override _onClose(): void {
    super._onClose()
    clearTimeout(this.deadline)
    clearTimeout(this.grace)
    this.onGone()
  }

  private say(reply: SmtpReply): void {
    this.send(reply.code, replyText(reply))
  }

  private run(verb: () => SmtpReply, callback: Done): void {
    let reply: SmtpReply
    try {
      reply = verb()
    } catch (error) {
      reply = answer(error, this.gate.report)
    }
    this.say(reply)
    callback()
  }

  private refusalForRoom({ size }: MailCommand): Refusal | null {
    const { deps, memory } = this.gate
    if (!deps.mayTake()) return new Refusal('storage-full', storageFull.text)
    return memory.hasRoomFor(size) ? null : noRoom()
  }

  private mayAuthenticate(): boolean {
    return this.secure || (this.gate.settings.allowPlaintextLoopback && isLoopback(this.remoteAddress))
  }

  private authenticationRequired(): Refusal {
    const text = this.mayAuthenticate() ? 'Authentication required' : 'Must issue a STARTTLS command first'
    return new Refusal('authentication-required', text)
  }

  /** The `with` of a Received field (RFC 3848). */
  private protocol(): string {
    if (this.openingCommand !== 'EHLO') return 'SMTP'
    return `ESMTP${this.secure ? 'S' : ''}${this.session.user ? 'A' : ''}`
  }
}
