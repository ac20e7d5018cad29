/**
 * What every session of our SMTP doors does alike: DATA, the counting of faults, and the end.
 *
 * Invariants: a message is answered 250 after `receive` has resolved; a session that must end
 * while a message comes in or is being stored ends after its answer.
 *
 * MAIL and RCPT are each door's own (`path-command.ts` says why not smtp-server's); its parser,
 * TLS and DATA framing serve as they are. Its envelope is only filled so far that its DATA
 * sees a transaction.
 */
import type { SMTPStream } from 'smtp-server/lib/smtp-stream.js'
import { Refusal } from '../mail/refusal.js'
import { answer, replyText, storageFull } from './answer.js'
import { IncomingMessage, noRoom } from './collect.js'
import { startDataMode } from './data-mode.js'
import { EnhancedConnection } from './enhanced-connection.js'
import type { SmtpReply } from './protocol-fault.js'
import type { SessionGate } from './session-gate.js'
import { deadlineOver, tooManyFaults } from './session-replies.js'

export type Done = () => void

/** Replies that a client earns by not speaking SMTP. */
const faults: ReadonlySet<number> = new Set([500, 501, 502, 503, 504, 530, 538, 555])
/** How long a client has to close its side once we are stopping. */
const STOP_LINGER = 500

/** Why we end a session that its client would go on with. */
export type Ending = 'faults' | 'deadline'

type Connection = ConstructorParameters<typeof EnhancedConnection>

export abstract class MailSession extends EnhancedConnection {
  protected incoming: IncomingMessage | null = null
  private faultCount = 0
  private farewell: SmtpReply | null = null
  private deadline: NodeJS.Timeout | undefined
  private grace: NodeJS.Timeout | undefined

  constructor(
    server: Connection[0],
    socket: Connection[1],
    options: Connection[2],
    private readonly base: SessionGate,
    private readonly onGone: () => void,
  ) {
    super(server, socket, options)
  }

  /** The message of a DATA command; resolves to the text of the 250. */
  abstract receive(): Promise<string>
  /** Size that MAIL declared; null: no transaction. */
  protected abstract declaredSize(): number | null
  protected abstract forgetTransaction(): void
  /** Of a message for which the memory of all sessions together has no place. */
  protected noRoom(): Refusal {
    return noRoom()
  }
  /** Called before the reply that ends the session. */
  protected onEnding(_why: Ending): void {}

  protected startDeadline(): void {
    const { sessionDeadline, finishWithin } = this.base.settings
    const over = (): void => {
      this.onEnding('deadline')
      this.finish(deadlineOver, finishWithin)
    }
    this.deadline = setTimeout(over, sessionDeadline).unref()
  }

  override handler_DATA(command: Buffer, callback: Done): void {
    const size = this.declaredSize()
    const refusal = size === null ? null : this.refusalForRoom(size)
    if (refusal === null) {
      super.handler_DATA(command, callback)
      return
    }
    this.say(this.replyTo(refusal))
    callback()
  }

  handler_EXPN(_command: Buffer, callback: Done): void {
    this.say({ code: 502, status: '5.5.1', text: 'EXPN is not implemented' })
    callback()
  }

  /** smtp-server makes a parser when the session begins, before our own fields are there, and after STARTTLS. */
  override _createParser(): SMTPStream {
    const parser = super._createParser()
    parser.startDataMode = () => {
      const { settings, memory } = this.base
      this.incoming = new IncomingMessage(settings.maxSize, memory, () => this.noRoom())
      return startDataMode(parser, settings.maxSize, this.incoming)
    }
    return parser
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
    if (this.faultCount < this.base.settings.maxFaults) return
    this.onEnding('faults')
    this.say(tooManyFaults)
  }

  override close(): void {
    super.close()
    if (this._server._closeTimeout) setTimeout(() => this.destroy(), STOP_LINGER).unref()
  }

  /** smtp-server does this after each message, at RSET, EHLO and STARTTLS. */
  override _resetSession(): void {
    super._resetSession()
    this.forgetTransaction()
    this.incoming = null
    if (this.farewell !== null) this.say(this.farewell)
  }

  override _onClose(): void {
    super._onClose()
    clearTimeout(this.deadline)
    clearTimeout(this.grace)
    this.onGone()
  }

  /** The reply to whatever was thrown. */
  replyTo(error: unknown): SmtpReply {
    return answer(error, this.base.report)
  }

  protected say(reply: SmtpReply): void {
    this.send(reply.code, replyText(reply))
  }

  protected run(verb: () => SmtpReply, callback: Done): void {
    let reply: SmtpReply
    try {
      reply = verb()
    } catch (error) {
      reply = this.replyTo(error)
    }
    this.say(reply)
    callback()
  }

  /** A whole message was taken: the client does speak SMTP. */
  protected forgiveFaults(): void {
    this.faultCount = 0
  }

  protected refusalForRoom(size: number): Refusal | null {
    if (!this.base.mayTake()) return new Refusal('storage-full', storageFull.text)
    return this.base.memory.hasRoomFor(size) ? null : this.noRoom()
  }
}
