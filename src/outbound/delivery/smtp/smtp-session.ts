/**
 * An SMTP session that is ready for mail: greeted, encrypted and logged in.
 *
 * It runs one transaction at a time. After a failure, a 421 or an unsolicited reply it ends and is
 * never used again.
 */
import type { Capabilities } from './capabilities.js'
import { sendCommand, toSmtpFailure } from './command.js'
import { type SmtpConnection, toConnectionFailure } from './connection.js'
import { checkSendable } from './envelope.js'
import type { OutboundMessage } from './outbound-message.js'
import type { SendResult } from './send-result.js'
import type { Timeouts } from './timeouts.js'
import { isServiceClosing, runTransaction, unsolicitedReply } from './transaction.js'

export class SmtpClientSession {
  /** The number of messages that were sent, accepted or not. */
  private messages = 0
  private needsReset = false

  constructor(
    readonly connection: SmtpConnection,
    readonly capabilities: Capabilities,
    readonly timeouts: Timeouts,
  ) {}

  /** A text such as `TLSv1.3` or `TLSv1.3, verified by DANE`. Null for plain text. */
  get tls(): string | null {
    return this.connection.tls
  }

  get sentCount(): number {
    return this.messages
  }

  get isUsable(): boolean {
    return this.connection.failure === null
  }

  /** The opening of the session and its last transaction. */
  get transcript(): string {
    return this.connection.transcript.toString()
  }

  /** Rejects only when the signal aborts, with its reason; the session then ends. */
  async send(message: OutboundMessage, signal: AbortSignal): Promise<SendResult> {
    signal.throwIfAborted()
    this.connection.watch(null)
    this.connection.transcript.beginTransaction()
    const onAbort = (): void => this.connection.fail(toConnectionFailure(signal.reason))
    signal.addEventListener('abort', onAbort, { once: true })
    try {
      const sent = await this.transact(message)
      signal.throwIfAborted()
      return sent
    } finally {
      signal.removeEventListener('abort', onAbort)
    }
  }

  private async transact(message: OutboundMessage): Promise<SendResult> {
    if (this.connection.failure !== null) return toSmtpFailure('mail', this.connection.failure)
    const reply = checkSendable(message, this.capabilities)
    if (reply !== null) return { kind: 'unsendable', reply }
    this.failIfUnsolicited()
    this.messages++
    const { sent, needsReset } = await runTransaction(
      this.connection,
      message,
      this.capabilities,
      this.timeouts,
      this.needsReset,
    )
    this.needsReset = needsReset
    this.failIfUnsolicited()
    if (sent.kind === 'refused' && isServiceClosing(sent)) {
      this.connection.fail({ failure: 'closed', detail: 'session closed with 421' })
    }
    return sent
  }

  private failIfUnsolicited(): void {
    if (this.connection.hasUnread) this.connection.fail(unsolicitedReply)
  }

  /** Calls `onEnd` when the server closes the idle session or sends something, which makes it unusable. */
  watch(onEnd: () => void): void {
    this.connection.watch(onEnd)
  }

  /** Sends QUIT and waits a short time for the reply. */
  async quit(): Promise<void> {
    this.connection.watch(null)
    if (this.isUsable)
      await sendCommand(this.connection, 'QUIT', { stage: 'message', yes: 2, timeout: this.timeouts.quit })
    this.connection.fail({ failure: 'closed', detail: 'session ended' })
  }

  /** Ends the session without QUIT. */
  destroy(): void {
    this.connection.watch(null)
    this.connection.fail({ failure: 'closed', detail: 'session ended' })
  }
}
