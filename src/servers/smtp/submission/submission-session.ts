/**
 * A session of a client that submits messages: AUTH, the sender, the limit of recipients, the message.
 *
 * Invariant: a transaction has a principal. Its sender is checked at MAIL; `accept` checks it again.
 */

import type { Address } from '../../../base/mail/address.js'
import { toRecipientLogFields } from '../../../base/mail/recipient-log-fields.js'
import { Refusal } from '../../../base/mail/refusal.js'
import type { ConnectionState } from '../../../base/platform/connections/connection-limiter.js'
import type { SubmittedMessage, SubmittedRecipient } from '../../../outbound/sending/submitted-message.js'
import { checkLines } from '../../../records/messages/message-lines.js'
import type { Principal } from '../../../workspaces/accounts/access/principal.js'
import { type MailCommand, parseMail } from '../commands/mail-command.js'
import { parseRcpt } from '../commands/rcpt-command.js'
import { buildNoRoomRefusal } from '../session/incoming-message.js'
import { isClientFault, noteMailboxLine, refusalFactsOf, sessionFactsOf } from '../session/log-facts.js'
import { MessageReceiver } from '../session/message-receiver.js'
import { SessionEnding } from '../session/session-ending.js'
import type { SessionFacts } from '../session/session-gate.js'
import {
  authInTransactionReply,
  authNeedsTlsReply,
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
import { KeyLogin } from './key-login.js'
import type { SubmissionGate } from './submission-gate.js'

interface Transaction {
  readonly principal: Principal
  readonly mail: MailCommand
  /** A recipient that is named twice is one; the last RCPT counts. */
  readonly recipients: Map<Address, SubmittedRecipient>
}

export class SubmissionSession implements SmtpSession {
  private readonly receiver: MessageReceiver
  private readonly ending: SessionEnding
  private readonly login: KeyLogin
  private transaction: Transaction | null = null
  private lastCommandAt: number

  constructor(
    private readonly gate: SubmissionGate,
    private readonly connection: SessionConnection,
  ) {
    this.lastCommandAt = connection.acceptedAt
    this.login = new KeyLogin(gate, connection, () => this.buildFacts())
    this.receiver = new MessageReceiver(gate, connection, {
      buildNoRoomRefusal,
      replyTo: (error) => this.replyTo(error),
      onTooSlow: () => this.ending.endSlowTransfer(),
    })
    this.ending = new SessionEnding(gate, connection, this.receiver, (reason) => gate.note(reason, this.buildFacts()))
  }

  /** Null if the client has not logged in and is in no trusted network. */
  get principal(): Principal | null {
    return this.login.principal
  }

  connect(): SmtpReply | null {
    this.ending.startDeadline()
    return this.login.connect()
  }

  onEarlyCommand(): SmtpReply | null {
    return null
  }

  onCommand(): void {
    this.lastCommandAt = this.gate.clock()
  }

  hello(): { readonly auth: boolean } {
    return { auth: this.login.isOffered }
  }

  onSecure(): void {
    this.login.forgetKey()
  }

  checkAuth(): SmtpReply | null {
    if (!this.login.isOffered) return authNeedsTlsReply
    return this.transaction === null ? null : authInTransactionReply
  }

  auth(password: string): Promise<SmtpReply> {
    return this.login.auth(password)
  }

  async mail(line: Buffer): Promise<SmtpReply> {
    try {
      return await this.beginTransaction(line)
    } catch (error) {
      return this.replyTo(error)
    }
  }

  private async beginTransaction(line: Buffer): Promise<SmtpReply> {
    if (this.transaction !== null) throw buildNestedMailFault()
    const { deps, settings } = this.gate
    const { principal } = this
    if (principal === null) throw this.authenticationRequired()
    const isEncrypted = this.connection.tls !== null
    const mail = parseMail(line, { maxSize: settings().max_size, isEncrypted, substitute: principal.sender })
    const refusal = this.receiver.findRoomRefusal(mail.size)
    if (refusal !== null) throw refusal
    await deps.access.checkSender(principal, mail.from)
    this.transaction = { principal, mail, recipients: new Map() }
    return senderOk
  }

  private authenticationRequired(): Refusal {
    const text = this.login.isOffered ? 'Authentication required' : authNeedsTlsReply.text
    return new Refusal('authentication-required', text)
  }

  rcpt(line: Buffer): SmtpReply {
    try {
      return this.addRecipient(line)
    } catch (error) {
      return this.replyTo(error)
    }
  }

  private addRecipient(line: Buffer): SmtpReply {
    if (this.transaction === null) throw buildNeedMailFault()
    const { hostname, settings } = this.gate
    const { max_recipients: maxRecipients } = settings()
    const { mail, recipients } = this.transaction
    const recipient = parseRcpt(line, { hostname, smtputf8: mail.smtputf8 })
    if (recipients.size >= maxRecipients && !recipients.has(recipient.address)) {
      const text = `at most ${maxRecipients} recipients in one message`
      throw new Refusal('too-many-recipients', text, { recipient: recipient.address })
    }
    recipients.set(recipient.address, recipient)
    return recipientOk
  }

  data(): Answer<MessageTransfer | SmtpReply | null> {
    const { transaction } = this
    if (transaction === null || transaction.recipients.size === 0) return needRcptReply
    return this.receiver.receive(transaction.mail.size, (raw) => this.accept(transaction, raw))
  }

  private async accept(transaction: Transaction, received: Buffer): Promise<SmtpReply> {
    const { deps, settings } = this.gate
    const onMailboxLine = (): void => noteMailboxLine(deps.log, this.buildFacts())
    const maxLineOctets = settings().max_line_length
    const { sender, workspaceId } = transaction.principal
    const wrapper = sender === null ? undefined : deps.lineWrapper
    const wrapping = wrapper === undefined ? null : { wrapper, workspaceId }
    const raw = await checkLines(received, { maxLineOctets, onMailboxLine, wrapping })
    const { smtputf8 } = transaction.mail
    const protocol = transmissionTypeOf(this.connection, { smtputf8, authenticated: this.login.isByKey })
    const bytes = raw.length // `accept` may move the memory to another thread
    const { emailId, repeated } = await deps.acceptor.accept(
      transaction.principal,
      toSubmittedMessage(transaction, raw, protocol),
    )
    this.ending.forgiveFaults()
    const to = toRecipientLogFields(transaction.recipients.keys())
    deps.log.info({ ...this.buildFacts(), email: emailId, ...to, bytes, repeated }, 'a submission was accepted')
    return buildQueuedReply(emailId)
  }

  reset(): void {
    this.transaction = null
    this.receiver.reset()
    this.ending.reset()
  }

  onReply(code: number): void {
    this.login.onReply(code)
    this.ending.countReply(code)
  }

  finish(reply: SmtpReply, within: number): void {
    this.ending.finish(reply, within)
  }

  /** A client without a login makes no progress by what it says. */
  state(): ConnectionState | null {
    const isProved = this.principal !== null
    return this.ending.stateOf({ since: isProved ? this.lastCommandAt : this.connection.acceptedAt, isProved })
  }

  evict(): void {
    this.ending.evict()
  }

  close(): void {
    this.ending.close()
    this.receiver.release()
    this.login.close()
  }

  private buildFacts(): SessionFacts {
    return { ...sessionFactsOf(this.connection, this.transaction?.mail.from), ...this.login.facts }
  }

  private replyTo(error: unknown): SmtpReply {
    const reply = toSmtpReply(error, (fault) => this.gate.report(fault, this.connection.id))
    if (isClientFault(error)) this.logRefusal(error, reply)
    return reply
  }

  private logRefusal(error: Refusal | ProtocolFault, reply: SmtpReply): void {
    const to = toRecipientLogFields(this.transaction?.recipients.keys() ?? [])
    this.gate.lines.info({ ...this.buildFacts(), ...to, ...refusalFactsOf(error, reply) }, 'a submission was refused')
  }
}

function toSubmittedMessage({ mail, recipients }: Transaction, raw: Buffer, protocol: string): SubmittedMessage {
  const { from, envid, ret, smtputf8, requiresTls } = mail
  return { envelopeFrom: from, envid, ret, smtputf8, requiresTls, recipients: [...recipients.values()], raw, protocol }
}
