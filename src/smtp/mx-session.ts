/**
 * One session of a stranger who brings mail: the verbs, and the patience that it gets.
 *
 * Nobody is greeted at once, and who speaks meanwhile is noted or refused; what an early
 * talker has said waits in the parser, one command of it here. Refused recipients are
 * answered later and later: such a wait holds a timer and no message. Who is quiet while
 * others find no place loses its own.
 *
 * What holds for every session stands in `mail-session.ts`.
 */
import { TLSSocket } from 'node:tls'
import { type Address, localPartOf } from '../mail/address.js'
import { type Header, scanHeader } from '../mail/header-fields.js'
import { toRecipientLogFields } from '../mail/recipient-log-fields.js'
import { Refusal } from '../mail/refusal.js'
import type { ReceivedMessage, TlsFacts } from '../receiving/received-message.js'
import { type Listing, totalWeight } from '../spam/dnsbl.js'
import type { ServerSlot } from './connection-slot.js'
import { refusalFacts } from './log-facts.js'
import { type PlainMailCommand, parsePlainMail } from './mail-command.js'
import { type Done, type Envelope, MailSession } from './mail-session.js'
import { checkHops, checkLines } from './message-lines.js'
import type { AcceptedRecipient } from './mx-deps.js'
import type { MxGate } from './mx-gate.js'
import { isRefusal, mxReplies, recipientReasonOf, recipientTexts, tarpitDelay } from './mx-refusals.js'
import { ProtocolFault, type SmtpReply } from './protocol-fault.js'
import { parsePlainRcpt } from './rcpt-command.js'
import { recipientOk, senderOk } from './session-replies.js'
import { storageFull } from './smtp-reply.js'

type Connection = ConstructorParameters<typeof MailSession>

interface Transaction {
  readonly mail: PlainMailCommand
  readonly recipients: Map<Address, AcceptedRecipient>
}

export class MxSession extends MailSession {
  private transaction: Transaction | null = null
  private listings: Promise<readonly Listing[]> = Promise.resolve([])
  private earlyTalker = false
  private held: Done = () => undefined
  private refusedRecipients = 0
  private callOff: Done = () => undefined
  /** When the client last got further: connected, had a recipient or a message taken. */
  private advancedAt: number
  private hasDelivered = false

  constructor(
    server: Connection[0],
    socket: Connection[1],
    options: Connection[2],
    private readonly gate: MxGate,
    place: ServerSlot,
  ) {
    super(server, socket, options, gate, place)
    this.advancedAt = place.since
  }

  override init(): void {
    const { deps, settings } = this.gate
    this.startDeadline()
    this.listings = deps.findListings(this.remoteAddress)
    this._setListeners(() => this.wait(settings.greetingDelay, () => this.greet()))
  }

  private greet(): void {
    if (this._closing || this._closed) return
    // A line without its end is speech too.
    if (this._parser !== false && this._parser._remainder !== '') this.earlyTalker = true
    if (this.earlyTalker && this.gate.settings.earlyTalkers === 'refuse') this.refuseEarlyTalker()
    else this.connectionReady(() => this.held())
  }

  protected override progress(): { readonly since: number; readonly proved: boolean } {
    return { since: this.advancedAt, proved: this.hasDelivered }
  }

  override _onCommand(command: Buffer, callback?: Done): void {
    if (this._ready || this._server._closeTimeout) {
      super._onCommand(command, callback)
      return
    }
    this.earlyTalker = true
    if (this.gate.settings.earlyTalkers === 'refuse') this.refuseEarlyTalker()
    else this.held = () => super._onCommand(command, callback)
  }

  private refuseEarlyTalker(): void {
    this.sendReply(this.refusalFor('early-talker'))
    this.close()
  }

  override handler_MAIL(command: Buffer, callback: Done): void {
    this.run(() => this.mail(command), callback)
  }

  override handler_RCPT(command: Buffer, callback: Done): void {
    const say = (reply: SmtpReply): void => {
      this.sendReply(reply)
      callback()
    }
    this.rcpt(command).then(say, (error: unknown) => this.refuseRecipient(error, say))
  }

  private mail(line: Buffer): SmtpReply {
    if (this.transaction !== null) throw new ProtocolFault(503, '5.5.1', 'nested MAIL command')
    const { deps, settings, messages } = this.gate
    const mail = parsePlainMail(line, settings.maxSize)
    const refusal = this.refusalForRoom(mail.size)
    if (refusal !== null) throw refusal
    const { origin } = this.place
    if (origin !== null && !messages.take(origin.address, deps.clock()).allowed) return this.refusalFor('message-rate')
    this.transaction = { mail, recipients: new Map() }
    this.session.envelope.mailFrom = { address: mail.from, args: false }
    return senderOk
  }

  private async rcpt(line: Buffer): Promise<SmtpReply> {
    if (this.transaction === null) throw new ProtocolFault(503, '5.5.1', 'need MAIL command')
    const { mail, recipients } = this.transaction
    const address = parsePlainRcpt(line, { hostname: this.gate.settings.hostname, smtputf8: mail.smtputf8 })
    if (recipients.has(address)) return recipientOk
    const verdict = this.gate.deps.checkRecipient(address, mail.size)
    if (typeof verdict === 'string') {
      if (!isRefusal(verdict)) return this.refusalFor(verdict, { recipient: address })
      throw new Refusal(verdict, recipientTexts[verdict], { recipient: address })
    }
    this.requirePlace(recipients, address, verdict)
    if (await this.isRefusedAsListed(address)) return this.refusalFor('listed', { recipient: address })
    recipients.set(address, verdict)
    this.advancedAt = this.gate.deps.clock()
    this.session.envelope.rcptTo = [{ address, args: false }] // enough for smtp-server's DATA
    return recipientOk
  }

  /** What does not go into this message, the client brings with the next (RFC 5321 section 4.5.3.1.10). */
  private requirePlace(recipients: Transaction['recipients'], recipient: Address, to: AcceptedRecipient): void {
    const { party, alone } = to
    const { maxRecipients, maxParties } = this.gate.settings
    if (recipients.size >= maxRecipients) {
      throw new Refusal('too-many-recipients', `at most ${maxRecipients} recipients in one message`, { recipient })
    }
    const taken = [...recipients.values()]
    const parties = new Set([...taken.map((other) => other.party), party])
    const apart = parties.size > 1 && (alone === true || taken.some((other) => other.alone === true))
    if (apart || parties.size > maxParties) {
      const text = 'one message goes to a few organisations, send it to the others again'
      throw new Refusal('too-many-recipients', text, { recipient })
    }
  }

  /** The postmaster hears everybody out: somebody may want to be taken off a list. */
  private async isRefusedAsListed(recipient: Address): Promise<boolean> {
    const { refuseListedFrom } = this.gate.settings
    if (refuseListedFrom === null || localPartOf(recipient).toLowerCase() === 'postmaster') return false
    return totalWeight(await this.listings) >= refuseListedFrom
  }

  private refuseRecipient(error: unknown, say: (reply: SmtpReply) => void): void {
    const reply = this.replyTo(error)
    if (recipientReasonOf(error) === null) {
      say(reply)
      return
    }
    this.refusedRecipients += 1
    const { maxRefusedRecipients, tarpit } = this.gate.settings
    if (this.refusedRecipients > maxRefusedRecipients) say(this.refusalFor('harvest'))
    else this.wait(tarpitDelay(this.refusedRecipients, tarpit, maxRefusedRecipients), () => say(reply))
  }

  override async receive(): Promise<string> {
    const { transaction, incoming } = this
    const [first, ...others] = transaction?.recipients.keys() ?? []
    if (transaction === null || incoming === null || first === undefined) throw new Error('DATA without a transaction')
    const { raw, release } = await incoming.collected
    try {
      await checkLines(raw, this.gate.settings.maxLineLength)
      const header = scanHeader(raw)
      checkHops(header)
      const message = await this.message(transaction.mail, [first, ...others], raw, header)
      const { id } = await this.gate.deps.accept(message)
      this.forgiveFaults()
      this.advancedAt = this.gate.deps.clock()
      this.hasDelivered = true
      return `2.0.0 Ok: queued as ${id}`
    } finally {
      release()
    }
  }

  private async message(
    { from, smtputf8 }: PlainMailCommand,
    recipients: ReceivedMessage['recipients'],
    raw: Buffer,
    header: Header,
  ): Promise<ReceivedMessage> {
    const { remoteAddress, remotePort, hostNameAppearsAs, earlyTalker } = this
    const tls = this.tlsFacts()
    const protocol = this.protocol({ smtputf8, authenticated: false })
    const listings = await this.listings
    const client = { address: remoteAddress, port: remotePort, helo: hostNameAppearsAs || '', earlyTalker, listings }
    return { envelopeFrom: from, recipients, raw, header, client, tls, protocol, smtputf8 }
  }

  private tlsFacts(): TlsFacts | null {
    if (!(this._socket instanceof TLSSocket)) return null
    const { name, standardName } = this._socket.getCipher()
    return { protocol: this._socket.getProtocol() ?? 'unknown', cipher: standardName || name }
  }

  protected override envelopeOf(): Envelope | null {
    return this.transaction?.mail ?? null
  }

  protected override forgetTransaction(): void {
    this.transaction = null
  }

  /** Load is shed by ending the session, so that its memory and its place are free. */
  protected override buildNoRoomRefusal(): Refusal {
    return new Refusal('unavailable', mxReplies.memory.text, { reason: 'memory' })
  }

  /** A full disk is a fault of ours like any other: 451. */
  protected override adaptReply(reply: SmtpReply): SmtpReply {
    return reply.status === storageFull.status ? { ...reply, code: 451 } : reply
  }

  protected override onRefused(error: Refusal | ProtocolFault, reply: SmtpReply): void {
    const about = refusalFacts(error, reply)
    const reason = about.reason === 'memory' ? about.reason : recipientReasonOf(error)
    if (reason !== null) this.gate.note(reason, { ...this.sessionFacts(), ...about })
    else {
      const to = toRecipientLogFields(this.transaction?.recipients.keys() ?? [])
      this.gate.lines.info({ ...this.sessionFacts(), ...to, ...about }, 'a message was refused')
    }
  }

  override _onClose(): void {
    super._onClose()
    this.callOff()
  }

  private refusalFor(reason: keyof typeof mxReplies, more: { readonly recipient?: Address } = {}): SmtpReply {
    this.gate.note(reason, { ...this.sessionFacts(), ...more })
    return mxReplies[reason]
  }

  /** One thing at a time is waited for: the parser gives out no command meanwhile. */
  private wait(milliseconds: number, act: Done): void {
    if (milliseconds === 0) act()
    else this.callOff = this.gate.deps.schedule(milliseconds, act)
  }
}
