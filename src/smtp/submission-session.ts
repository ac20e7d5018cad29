/**
 * One submission session: the verbs, each a short method.
 *
 * Invariant: MAIL has a principal. What holds for every session stands in `mail-session.ts`.
 */

import { addressKeyOf } from '../accounts/client-address.js'
import { keyPrefixOf } from '../accounts/keys/api-keys.js'
import type { Principal } from '../accounts/principal.js'
import { toRecipientLogFields } from '../mail/recipient-log-fields.js'
import { Refusal } from '../mail/refusal.js'
import { isLoopback } from '../platform/ip-address.js'
import type { ServerSlot } from './connection-slot.js'
import { greetAtOnce } from './greeting.js'
import { refusalFacts } from './log-facts.js'
import { parseMail } from './mail-command.js'
import { type Done, type Envelope, MailSession } from './mail-session.js'
import { checkLines } from './message-lines.js'
import { ProtocolFault, type SmtpReply } from './protocol-fault.js'
import { parseRcpt } from './rcpt-command.js'
import type { SessionFacts } from './session-gate.js'
import { bannedReply, cannotAuthenticate, loginTimeoutReply, recipientOk, senderOk } from './session-replies.js'
import { asError, toSmtpReply } from './smtp-reply.js'
import type { SubmissionGate } from './submission-gate.js'
import { type Transaction, toSubmittedMessage } from './transaction.js'

const WRONG_KEY = 535

export class SubmissionSession extends MailSession {
  private transaction: Transaction | null = null
  private trustedAs: Principal | null = null
  private authFailureCount = 0
  private keyPrefix: string | null = null
  private loginTimer: NodeJS.Timeout | undefined
  private lastSaid: number

  constructor(
    server: ConstructorParameters<typeof MailSession>[0],
    socket: ConstructorParameters<typeof MailSession>[1],
    options: ConstructorParameters<typeof MailSession>[2],
    private readonly gate: SubmissionGate,
    place: ServerSlot,
  ) {
    super(server, socket, options, gate, place)
    this.lastSaid = place.since
  }

  /** Who is acting: by a key of this session, else by the network; null: nobody yet. */
  get principal(): Principal | null {
    const user: Principal | false | undefined = this.session.user
    return user || this.trustedAs
  }

  override init(): void {
    this.startDeadline()
    greetAtOnce(this, () => this.refusalAtConnect())
    if (this.trustedAs === null) this.awaitLogin()
  }

  /** Nothing that the client says without a key prolongs it. */
  private awaitLogin(): void {
    const { settings, clock } = this.gate
    const passed = clock() - this.place.since
    const late = (): void => {
      this.gate.note('login-timeout', this.sessionFacts())
      if (this._upgrading) this.destroy()
      else this.sendReply(loginTimeoutReply)
    }
    this.loginTimer = setTimeout(late, Math.max(0, settings.loginTimeout - passed)).unref()
  }

  override _onCommand(command: Buffer, callback?: Done): void {
    this.lastSaid = this.gate.clock()
    super._onCommand(command, callback)
  }

  override _onClose(): void {
    super._onClose()
    clearTimeout(this.loginTimer)
  }

  /** Only a client with a key is known to have a use for its place, and gets no further without one. */
  protected override progress(): { readonly since: number; readonly proved: boolean } {
    const proved = this.principal !== null
    return { since: proved ? this.lastSaid : this.place.since, proved }
  }

  protected override sessionFacts(): SessionFacts {
    const { principal, keyPrefix } = this
    return {
      ...super.sessionFacts(),
      ...(principal === null ? {} : { workspace: principal.workspaceId }),
      ...(keyPrefix === null ? {} : { key: keyPrefix }),
    }
  }

  protected override onRefused(error: Refusal | ProtocolFault, reply: SmtpReply): void {
    const to = toRecipientLogFields(this.transaction?.recipients.keys() ?? [])
    this.gate.lines.info({ ...this.sessionFacts(), ...to, ...refusalFacts(error, reply) }, 'a submission was refused')
  }

  private refusalAtConnect(): SmtpReply | null {
    const { deps, authLimit, report } = this.gate
    try {
      this.trustedAs = deps.trusted(this.remoteAddress)
      if (this.trustedAs !== null) return null
      if (!authLimit.isBanned(addressKeyOf(this.remoteAddress), deps.clock())) return null
      this.gate.note('banned', this.sessionFacts())
      return bannedReply
    } catch (error) {
      return { ...toSmtpReply(error, report), code: 421 }
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
      this.sendReply({ code: 538, status: '5.7.11', text: 'Must issue a STARTTLS command first' })
    } else if (this.transaction !== null) {
      this.sendReply({ code: 503, status: '5.5.1', text: 'AUTH is not allowed during a mail transaction' })
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

  private mail(line: Buffer): SmtpReply {
    if (this.transaction !== null) throw new ProtocolFault(503, '5.5.1', 'nested MAIL command')
    const { deps, settings } = this.gate
    const { principal } = this
    if (principal === null) throw this.authenticationRequired()
    const mail = parseMail(line, settings.maxSize)
    const refusal = this.refusalForRoom(mail.size)
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
      const text = `at most ${maxRecipients} recipients in one message`
      throw new Refusal('too-many-recipients', text, { recipient: recipient.address })
    }
    recipients.set(recipient.address, recipient)
    // One is enough for smtp-server's DATA; a recipient repeated for ever must not fill its list.
    if (recipients.size === 1) this.session.envelope.rcptTo = [{ address: recipient.address, args: false }]
    return recipientOk
  }

  protected override envelopeOf(): Envelope | null {
    return this.transaction?.mail ?? null
  }

  protected override forgetTransaction(): void {
    this.transaction = null
  }

  override async receive(): Promise<string> {
    const { transaction, incoming } = this
    if (transaction === null || incoming === null) throw new Error('DATA without a transaction')
    const { deps, settings } = this.gate
    const { raw, release } = await incoming.collected
    try {
      await checkLines(raw, settings.maxLineLength)
      const { smtputf8 } = transaction.mail
      const protocol = this.protocol({ smtputf8, authenticated: Boolean(this.session.user) })
      const { emailId } = await deps.accept(transaction.principal, toSubmittedMessage(transaction, raw, protocol))
      this.forgiveFaults()
      const to = toRecipientLogFields(transaction.recipients.keys())
      deps.log.info({ ...this.sessionFacts(), email: emailId, ...to, bytes: raw.length }, 'a submission was accepted')
      return `2.0.0 Ok: queued as ${emailId}`
    } finally {
      release()
    }
  }

  /** The key of an AUTH exchange; too many wrong ones end the session. */
  authenticate(key: string, done: (error?: Error | null, result?: { readonly user: Principal }) => void): void {
    const { authLimit, deps } = this.gate
    const client = addressKeyOf(this.remoteAddress)
    const result = authLimit.isBanned(client, deps.clock()) ? bannedReply : this.principalOf(key)
    if ('workspaceId' in result) {
      clearTimeout(this.loginTimer)
      this.keyPrefix = keyPrefixOf(key)
      done(null, { user: result })
      return
    }
    done(asError(result))
    if (result === cannotAuthenticate) return
    this.noteWrongKey(key, result)
    if (result.code === WRONG_KEY) this.countWrongKey(client)
  }

  private noteWrongKey(key: string, { text }: SmtpReply): void {
    const prefix = keyPrefixOf(key)
    const about = { ...this.sessionFacts(), ...(prefix === null ? {} : { key: prefix }) }
    this.gate.lines.warn({ ...about, listener: 'submission', reason: text }, 'a login failed')
  }

  private countWrongKey(client: string): void {
    const { authLimit, deps, settings } = this.gate
    this.authFailureCount += 1
    const nowBanned = authLimit.recordFailure(client, deps.clock())
    if (nowBanned || this.authFailureCount >= settings.maxAuthFailures) this.sendReply(bannedReply)
  }

  private principalOf(key: string): Principal | SmtpReply {
    try {
      return this.gate.deps.authenticate(key, this.remoteAddress)
    } catch (error) {
      const reply = toSmtpReply(error, this.gate.report)
      return error instanceof Refusal ? reply : cannotAuthenticate
    }
  }

  private mayAuthenticate(): boolean {
    return this.secure || (this.gate.settings.allowPlaintextLoopback && isLoopback(this.remoteAddress))
  }

  private authenticationRequired(): Refusal {
    const text = this.mayAuthenticate() ? 'Authentication required' : 'Must issue a STARTTLS command first'
    return new Refusal('authentication-required', text)
  }
}
