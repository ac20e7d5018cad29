/**
 * What every session of our SMTP doors does alike: DATA and its pace, the counting of faults, giving
 * its place to another client, and the end.
 *
 * Invariants: a message is answered 250 after `receive` has resolved; a session that must end
 * while a message comes in or is being stored ends after its answer.
 *
 * MAIL and RCPT are each door's own (`path-command.ts` says why not smtp-server's); its parser,
 * TLS and DATA framing serve as they are. Its envelope is only filled so far that its DATA
 * sees a transaction.
 */
import type { SMTPStream } from 'smtp-server/lib/smtp-stream.js'
import { addressKeyOf } from '../accounts/client-address.js'
import { type Address, formatForDisplay } from '../mail/address.js'
import { Refusal } from '../mail/refusal.js'
import type { ConnectionState } from '../platform/connections/connection-limiter.js'
import { TransferWatch } from '../platform/connections/transfer-pace.js'
import { RESERVE_FROM_BYTES } from '../platform/memory/reservation.js'
import type { ServerSlot } from './connection-slot.js'
import { DataMemory } from './data-memory.js'
import { startDataMode } from './data-mode.js'
import { EnhancedConnection } from './enhanced-connection.js'
import { buildNoRoomRefusal, IncomingMessage } from './incoming-message.js'
import { ProtocolFault, type SmtpReply } from './protocol-fault.js'
import type { CommonReason, SessionFacts, SessionGate } from './session-gate.js'
import { deadlineReply, idleReply, tooManyFaults, tooSlowReply } from './session-replies.js'
import { replyText, storageFull, toSmtpReply } from './smtp-reply.js'

export type Done = () => void

/** Replies that a client earns by not speaking SMTP. */
const faults: ReadonlySet<number> = new Set([500, 501, 502, 503, 504, 530, 538, 555])
/** How long a client has to close its side once we are stopping, or once its place is another's. */
const STOP_LINGER = 500

type Connection = ConstructorParameters<typeof EnhancedConnection>

interface ProtocolFacts {
  /** MAIL had the parameter. */
  readonly smtputf8: boolean
  readonly authenticated: boolean
}

export interface Envelope {
  readonly from: Address | ''
  /** As declared. */
  readonly size: number
}

export abstract class MailSession extends EnhancedConnection {
  protected incoming: IncomingMessage | null = null
  private readonly dataMemory = new DataMemory()
  private watch: TransferWatch | null = null
  private faultCount = 0
  private closingReply: SmtpReply | null = null
  private deadline: NodeJS.Timeout | undefined
  private graceTimer: NodeJS.Timeout | undefined

  constructor(
    server: Connection[0],
    socket: Connection[1],
    options: Connection[2],
    private readonly base: SessionGate,
    protected readonly place: ServerSlot,
  ) {
    super(server, socket, options)
  }

  /** The message of a DATA command; resolves to the text of the 250. */
  abstract receive(): Promise<string>
  /** Of MAIL; null: no transaction. */
  protected abstract envelopeOf(): Envelope | null
  /** Since when the client has got no further, and whether it has shown that it has a use for its place. */
  protected abstract progress(): { readonly since: number; readonly proved: boolean }
  protected abstract forgetTransaction(): void
  /** Logs what the client is refused. */
  protected abstract onRefused(error: Refusal | ProtocolFault, reply: SmtpReply): void
  /** Of a message for which the memory of all sessions together has no place. */
  protected buildNoRoomRefusal(): Refusal {
    return buildNoRoomRefusal()
  }

  /** What its place is used for; null: for a message, or it waits for us. */
  state(): ConnectionState | null {
    if (this.dataMemory.isWaiting) return null
    const { since, proved } = this.progress()
    if (this._dataStream) return this.watch?.isBehind() === true ? { rank: 'slow', since, isFresh: false } : null
    const { clock, settings } = this.base
    return { rank: proved ? 'idle' : 'unproved', since, isFresh: clock() - since < settings.givesWayAfter }
  }

  /** Ends the session for the sake of another client, which has its place already. */
  evict(): void {
    const late = Boolean(this._dataStream)
    this.note(late ? 'too-slow' : 'idle')
    if (!this._upgrading) this.sendReply(late ? tooSlowReply : idleReply)
    setTimeout(() => this.destroy(), STOP_LINGER).unref()
  }

  /** What a line of the log says of this session. */
  protected sessionFacts(): SessionFacts {
    const helo = this.hostNameAppearsAs || null
    const envelope = this.envelopeOf()
    return {
      client: this.remoteAddress,
      ...(helo === null ? {} : { helo: formatForDisplay(helo) }),
      ...(envelope === null ? {} : { from: envelope.from }),
    }
  }

  /** The `with` of a Received field (RFC 3848, RFC 6531 section 3.7.3). */
  protected protocol({ smtputf8, authenticated }: ProtocolFacts): string {
    if (this.openingCommand !== 'EHLO') return 'SMTP'
    return `${smtputf8 ? 'UTF8' : 'E'}SMTP${this.secure ? 'S' : ''}${authenticated ? 'A' : ''}`
  }

  protected note(reason: CommonReason): void {
    this.base.note(reason, this.sessionFacts())
  }

  protected startDeadline(): void {
    const { sessionDeadline, finishWithin } = this.base.settings
    const over = (): void => {
      this.note('deadline')
      this.finish(deadlineReply, finishWithin)
    }
    this.deadline = setTimeout(over, sessionDeadline).unref()
  }

  /** A message that is declared as large is asked for when there is memory for all of it. */
  override handler_DATA(command: Buffer, callback: Done): void {
    const envelope = this.envelopeOf()
    const go = (refusal: Error | null): void => {
      if (refusal === null) super.handler_DATA(command, callback)
      else {
        this.sendReply(this.replyTo(refusal))
        callback()
      }
    }
    const goOn = (refusal: Refusal | null): void => {
      if (!this._closing && !this._closed) go(refusal)
    }
    const refusal = envelope === null ? null : this.refusalForRoom(envelope.size)
    const large = envelope !== null && envelope.size > RESERVE_FROM_BYTES && this.session.envelope.rcptTo.length > 0
    if (large && refusal === null) this.waitForMemory(envelope.size).then(goOn).catch(go)
    else go(refusal)
  }

  private async waitForMemory(size: number): Promise<Refusal | null> {
    const { memoryByClient, settings } = this.base
    const memory = memoryByClient.forOwner(addressKeyOf(this.remoteAddress))
    const reserved = await this.dataMemory.reserve(memory, size, settings.memoryWait)
    const refusal = reserved ? this.refusalForRoom(size) : this.buildNoRoomRefusal()
    if (refusal !== null) this.dataMemory.release()
    return refusal
  }

  handler_EXPN(_command: Buffer, callback: Done): void {
    this.sendReply({ code: 502, status: '5.5.1', text: 'EXPN is not implemented' })
    callback()
  }

  /** smtp-server makes a parser when the session begins, before our own fields are there, and after STARTTLS. */
  override _createParser(): SMTPStream {
    const parser = super._createParser()
    parser.startDataMode = () => {
      const { settings, memory } = this.base
      const message = new IncomingMessage(settings.maxSize, this.dataMemory.budgetFor(memory), () =>
        this.buildNoRoomRefusal(),
      )
      message.once('end', () => this.dataMemory.release())
      this.incoming = message
      this.watchPace(parser, message)
      return startDataMode(parser, settings.maxSize, message)
    }
    return parser
  }

  /** What is over a limit counts too: it is read to its end. */
  private watchPace(parser: SMTPStream, message: IncomingMessage): void {
    const late = (): void => {
      this.note('too-slow')
      this.sendReply(tooSlowReply)
    }
    const come = {
      get bytes() {
        return parser.dataBytes
      },
    }
    this.watch = new TransferWatch(come, this.base.settings.dataPace, late)
    message.once('end', () => this.endWatch())
  }

  private endWatch(): void {
    this.watch?.end()
    this.watch = null
  }

  /** Ends the session with this 421: now, or after the message that is coming in. */
  finish(reply: SmtpReply, within: number): void {
    if (!this._dataStream) {
      this.sendReply(reply)
      return
    }
    this.closingReply = reply
    clearTimeout(this.graceTimer)
    this.graceTimer = setTimeout(() => this.giveUpReceiving(reply), within).unref()
  }

  private giveUpReceiving(reply: SmtpReply): void {
    // A message that is complete is being stored, and will be answered.
    if (this._parser !== false && this._parser._dataMode) this.sendReply(reply)
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
    this.note('faults')
    this.sendReply(tooManyFaults)
  }

  override close(): void {
    super.close()
    this.dataMemory.release()
    if (this._server._closeTimeout) setTimeout(() => this.destroy(), STOP_LINGER).unref()
  }

  /** smtp-server does this after each message, at RSET, EHLO and STARTTLS. */
  override _resetSession(): void {
    super._resetSession()
    this.forgetTransaction()
    this.incoming = null
    if (this.closingReply !== null) this.sendReply(this.closingReply)
  }

  override _onClose(): void {
    super._onClose()
    clearTimeout(this.deadline)
    clearTimeout(this.graceTimer)
    this.endWatch()
    this.dataMemory.release()
    this.place.leave()
  }

  /** The reply to whatever was thrown, which is logged. */
  replyTo(error: unknown): SmtpReply {
    const reply = this.adaptReply(toSmtpReply(error, this.base.report))
    if (error instanceof Refusal || error instanceof ProtocolFault) this.onRefused(error, reply)
    return reply
  }

  /** Where a listener has another code for it. */
  protected adaptReply(reply: SmtpReply): SmtpReply {
    return reply
  }

  protected sendReply(reply: SmtpReply): void {
    this.send(reply.code, replyText(reply))
  }

  protected run(verb: () => SmtpReply, callback: Done): void {
    let reply: SmtpReply
    try {
      reply = verb()
    } catch (error) {
      reply = this.replyTo(error)
    }
    this.sendReply(reply)
    callback()
  }

  /** A whole message was taken: the client does speak SMTP. */
  protected forgiveFaults(): void {
    this.faultCount = 0
  }

  protected refusalForRoom(size: number): Refusal | null {
    if (!this.base.hasDiskSpace()) return new Refusal('storage-full', storageFull.text)
    // What is larger waits for its turn.
    return size > RESERVE_FROM_BYTES || this.base.memory.hasRoomFor(size) ? null : this.buildNoRoomRefusal()
  }
}
