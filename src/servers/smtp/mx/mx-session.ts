/**
 * A session at port 25: an external client brings mail for our recipients, RCPT by RCPT.
 *
 * The greeting is delayed; a client that speaks before it is noted or refused. The replies to
 * refused recipients are delayed, each longer than the one before: such a wait holds a timer
 * and no message.
 */
import { type Address, localPartOf } from '../../../base/mail/address.js'
import { scanHeader } from '../../../base/mail/header-fields.js'
import { checkHopCount } from '../../../base/mail/hop-count.js'
import { toRecipientLogFields } from '../../../base/mail/recipient-log-fields.js'
import { Refusal } from '../../../base/mail/refusal.js'
import type { ConnectionState } from '../../../base/platform/connections/connection-limiter.js'
import { MessageBytes } from '../../../base/storage/db/message-bytes.js'
import type { AllowListing } from '../../../base/storage/tables/inbound-tables.js'
import type { ReceivedMessage } from '../../../inbound/receiving/authentication/received-message.js'
import type { CheckedRecipient } from '../../../inbound/receiving/recipients/recipient-checker.js'
import { type Listing, totalWeight } from '../../../inbound/spam/dnsbl.js'
import { checkLines } from '../../../records/messages/message-lines.js'
import { type PlainMailCommand, parsePlainMail } from '../commands/mail-command.js'
import { parsePlainRcpt } from '../commands/rcpt-command.js'
import { isClientFault, noteMailboxLine, refusalFactsOf, sessionFactsOf } from '../session/log-facts.js'
import { MessageReceiver } from '../session/message-receiver.js'
import { SessionEnding } from '../session/session-ending.js'
import type { SessionFacts } from '../session/session-gate.js'
import {
  buildNeedMailFault,
  buildNestedMailFault,
  buildQueuedReply,
  needRcptReply,
  recipientOk,
  senderOk,
} from '../session/session-replies.js'
import { type ProtocolFault, type SmtpReply, toSmtpReply } from '../session/smtp-reply.js'
import type { Answer, MessageTransfer, SessionConnection, SmtpSession } from '../session/smtp-session.js'
import { transmissionTypeOf } from '../session/transmission-type.js'
import { SessionBytes } from './byte-rate.js'
import { requireRoomInEnvelope } from './envelope-room.js'
import { findGreylistReply } from './greylist-recipient.js'
import type { MxGate } from './mx-gate.js'
import { isRefusal, mxReplies, recipientReasonOf, recipientTexts, tarpitDelay, toMxReply } from './mx-refusals.js'

interface Transaction {
  readonly mail: PlainMailCommand
  readonly recipients: Map<Address, CheckedRecipient>
}

export class MxSession implements SmtpSession {
  private readonly receiver: MessageReceiver
  private readonly ending: SessionEnding
  private readonly bytes: SessionBytes
  private transaction: Transaction | null = null
  private listings: Promise<readonly Listing[]> = Promise.resolve([])
  private allowListings: Promise<readonly AllowListing[]> = Promise.resolve([])
  private isEarlyTalker = false
  private refusedRecipients = 0
  private cancelWait: () => void = () => undefined
  /** When the client connected, or last had a recipient or a message accepted. */
  private advancedAt: number
  private hasDelivered = false

  constructor(
    private readonly gate: MxGate,
    private readonly connection: SessionConnection,
  ) {
    this.advancedAt = connection.acceptedAt
    this.bytes = new SessionBytes(gate.bytes, connection)
    this.receiver = new MessageReceiver(gate, connection, {
      buildNoRoomRefusal: buildNoMemoryRefusal,
      replyTo: (error) => this.replyTo(error),
      onTooSlow: () => this.ending.endSlowTransfer(),
      countBytes: (bytes) => (this.bytes.receive(bytes) ? null : buildByteRateRefusal()),
    })
    this.ending = new SessionEnding(gate, connection, this.receiver, (reason) => gate.note(reason, this.buildFacts()))
  }

  connect(): Answer<SmtpReply | null> {
    const { deps, limits } = this.gate
    this.ending.startDeadline()
    this.listings = deps.blockLists.find(this.connection.remoteAddress)
    this.allowListings = deps.allowLists.find(this.connection.remoteAddress)
    return this.delay(limits.greetingDelay, () => this.greet())
  }

  private greet(): SmtpReply | null {
    const { isOpen, hasUnreadInput } = this.connection
    if (!isOpen) return null
    if (hasUnreadInput) this.isEarlyTalker = true
    return this.isEarlyTalker ? this.refuseEarlyTalker() : null
  }

  onEarlyCommand(): SmtpReply | null {
    this.isEarlyTalker = true
    return this.refuseEarlyTalker()
  }

  private refuseEarlyTalker(): SmtpReply | null {
    return this.gate.settings().early_talkers === 'refuse' ? this.turnAway('early-talker') : null
  }

  onCommand(): void {
    // A line that changes nothing is no progress.
  }

  hello(): { readonly auth: boolean } {
    return { auth: false }
  }

  onSecure(): void {
    // The name in HELO and the transaction are forgotten by the connection and by `reset`.
  }

  mail(line: Buffer): SmtpReply {
    try {
      return this.beginTransaction(line)
    } catch (error) {
      return this.replyTo(error)
    }
  }

  private beginTransaction(line: Buffer): SmtpReply {
    if (this.transaction !== null) throw buildNestedMailFault()
    const { deps, settings, messages } = this.gate
    const mail = parsePlainMail(line, { maxSize: settings().max_size, isEncrypted: this.connection.tls !== null })
    const refusal = this.receiver.findRoomRefusal(mail.size)
    if (refusal !== null) throw refusal
    const { origin } = this.connection
    if (origin !== null && !messages.take(origin.address, deps.clock()).allowed) return this.turnAway('message-rate')
    if (!this.bytes.hasRoom(mail.size)) return this.turnAway('byte-rate')
    this.transaction = { mail, recipients: new Map() }
    return senderOk
  }

  async rcpt(line: Buffer): Promise<SmtpReply> {
    try {
      return await this.addRecipient(line)
    } catch (error) {
      return this.refuseRecipient(error)
    }
  }

  private async addRecipient(line: Buffer): Promise<SmtpReply> {
    if (this.transaction === null) throw buildNeedMailFault()
    const { mail, recipients } = this.transaction
    const address = parsePlainRcpt(line, { hostname: this.gate.hostname, smtputf8: mail.smtputf8 })
    if (recipients.has(address)) return recipientOk
    const verdict = await this.gate.deps.recipients.check(address, mail.size, mail.from)
    if (typeof verdict === 'string') {
      if (!isRefusal(verdict)) return this.turnAway(verdict, { recipient: address })
      throw new Refusal(verdict, recipientTexts[verdict], { recipient: address })
    }
    requireRoomInEnvelope(recipients, address, verdict, this.gate)
    if (await this.isRefusedAsListed(address)) return this.turnAway('listed', { recipient: address })
    const delayed = await this.findDelay(mail, address, verdict)
    if (delayed !== null) return delayed
    recipients.set(address, verdict)
    this.advancedAt = this.gate.deps.clock()
    return recipientOk
  }

  private async findDelay(
    { from: sender }: PlainMailCommand,
    recipient: Address,
    { greylisting }: CheckedRecipient,
  ): Promise<SmtpReply | null> {
    const tuple = { client: this.connection.remoteAddress, sender, recipient }
    const reply = await findGreylistReply(this.gate.deps.greylist, greylisting, tuple, this.allowListings)
    if (reply !== null) this.gate.note('greylisted', { ...this.buildFacts(), recipient })
    return reply
  }

  /** The postmaster takes mail of listed clients too: they may ask to be taken off a list. */
  private async isRefusedAsListed(recipient: Address): Promise<boolean> {
    const { refuse_listed_from: refuseListedFrom } = this.gate.settings()
    if (refuseListedFrom === undefined || localPartOf(recipient).toLowerCase() === 'postmaster') return false
    if (totalWeight(await this.listings) < refuseListedFrom) return false
    return (await this.allowListings).length === 0
  }

  private refuseRecipient(error: unknown): Answer<SmtpReply> {
    const reply = this.replyTo(error)
    if (recipientReasonOf(error) === null) return reply
    this.refusedRecipients += 1
    const { max_refused_recipients: maxRefusedRecipients, tarpit } = this.gate.settings()
    if (this.refusedRecipients > maxRefusedRecipients) return this.turnAway('harvest')
    return this.delay(tarpitDelay(this.refusedRecipients, tarpit, maxRefusedRecipients), () => reply)
  }

  data(): Answer<MessageTransfer | SmtpReply | null> {
    const { transaction } = this
    const [first, ...others] = transaction?.recipients.keys() ?? []
    if (transaction === null || first === undefined) return needRcptReply
    const { mail } = transaction
    if (!this.bytes.begin(mail.size)) return this.turnAway('byte-rate')
    return this.receiver.receive(mail.size, (raw) => this.accept(mail, [first, ...others], raw))
  }

  private async accept(
    mail: PlainMailCommand,
    recipients: ReceivedMessage['recipients'],
    received: Buffer,
  ): Promise<SmtpReply> {
    const onMailboxLine = (): void => noteMailboxLine(this.gate.lines, this.buildFacts())
    const raw = await checkLines(received, { maxLineOctets: this.gate.limits.maxLineLength, onMailboxLine })
    const header = scanHeader(raw)
    checkHopCount(header)
    const bytes = MessageBytes.lent(raw)
    const { id } = await this.gate.deps.acceptor.accept(await this.buildReceived(mail, recipients, { bytes, header }))
    this.ending.forgiveFaults()
    this.advancedAt = this.gate.deps.clock()
    this.hasDelivered = true
    return buildQueuedReply(id)
  }

  private async buildReceived(
    { from, smtputf8, requiresTls }: PlainMailCommand,
    recipients: ReceivedMessage['recipients'],
    { bytes, header }: Pick<ReceivedMessage, 'bytes' | 'header'>,
  ): Promise<ReceivedMessage> {
    const { id: session, remoteAddress: address, remotePort: port, helo, tls } = this.connection
    const protocol = transmissionTypeOf(this.connection, { smtputf8, authenticated: false })
    const [listings, allowListings] = await Promise.all([this.listings, this.allowListings])
    const client = { session, address, port, helo, earlyTalker: this.isEarlyTalker, listings, allowListings }
    return { envelopeFrom: from, recipients, bytes, header, client, tls, protocol, smtputf8, requiresTls }
  }

  reset(): void {
    this.transaction = null
    this.bytes.end()
    this.receiver.reset()
    this.ending.reset()
  }

  onReply(code: number): void {
    this.ending.countReply(code)
  }

  finish(reply: SmtpReply, within: number): void {
    this.ending.finish(reply, within)
  }

  state(): ConnectionState | null {
    return this.ending.stateOf({ since: this.advancedAt, isProved: this.hasDelivered })
  }

  evict(): void {
    this.ending.evict()
  }

  close(): void {
    this.ending.close()
    this.bytes.end()
    this.receiver.release()
    this.cancelWait()
  }

  private buildFacts(): SessionFacts {
    return sessionFactsOf(this.connection, this.transaction?.mail.from)
  }

  private replyTo(error: unknown): SmtpReply {
    if (error instanceof Refusal && error.details['reason'] === 'byte-rate') return this.turnAway('byte-rate')
    const reply = toMxReply(toSmtpReply(error, (fault) => this.gate.report(fault, this.connection.id)))
    if (isClientFault(error)) this.logRefusal(error, reply)
    return reply
  }

  private logRefusal(error: Refusal | ProtocolFault, reply: SmtpReply): void {
    const about = refusalFactsOf(error, reply)
    const reason = about.reason === 'memory' ? about.reason : recipientReasonOf(error)
    if (reason !== null) this.gate.note(reason, { ...this.buildFacts(), ...about })
    else {
      const to = toRecipientLogFields(this.transaction?.recipients.keys() ?? [])
      this.gate.lines.info({ ...this.buildFacts(), ...to, ...about }, 'a message was refused')
    }
  }

  private turnAway(reason: keyof typeof mxReplies, more: { readonly recipient?: Address } = {}): SmtpReply {
    this.gate.note(reason, { ...this.buildFacts(), ...more })
    return mxReplies[reason]
  }

  /** Only one reply is delayed at a time: no further command is read before it. */
  private delay<Value>(milliseconds: number, getValue: () => Value): Answer<Value> {
    if (milliseconds === 0) return getValue()
    return new Promise((resolve) => {
      this.cancelWait = this.gate.schedule(milliseconds, () => resolve(getValue()))
    })
  }
}

/** The network has run over its rate while the message came. */
function buildByteRateRefusal(): Refusal {
  return new Refusal('rate-limited', mxReplies['byte-rate'].text, { reason: 'byte-rate' })
}

/** Load is shed by ending the session, so that its memory and its slot are free. */
function buildNoMemoryRefusal(): Refusal {
  return new Refusal('unavailable', mxReplies.memory.text, { reason: 'memory' })
}
