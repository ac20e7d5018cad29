/**
 * An open SMTP session: from a greeted, encrypted, authenticated connection to QUIT.
 *
 * One transaction at a time. A session that has failed, was told 421 or holds a reply that
 * nobody asked for is over and is never used again.
 */

import type { Capabilities } from './capabilities.js'
import { sendCommand, toSmtpFailure } from './command.js'
import { type SmtpConnection, toConnectionFailure } from './connection.js'
import { checkSendable } from './envelope.js'
import type { OutboundMessage } from './outbound-message.js'
import type { SendResult } from './send-result.js'
import type { Timeouts } from './timeouts.js'
import { isServiceClosing, runTransaction } from './transaction.js'

export class SmtpSession {
  /** Messages that were sent, whatever came of them. */
  private messages = 0
  private needsReset = false

  constructor(
    readonly connection: SmtpConnection,
    readonly capabilities: Capabilities,
    readonly timeouts: Timeouts,
  ) {}

  /** As `TLSv1.3`; null: plain text. */
  get tls(): string | null {
    return this.connection.tls
  }

  get sentCount(): number {
    return this.messages
  }

  get isUsable(): boolean {
    return this.connection.failure === null
  }

  /** How it was opened, and its last transaction. */
  get transcript(): string {
    return this.connection.transcript.toString()
  }

  /** Rejects with the signal's reason when that strikes, and only then; the session is over with it. */
  async send(message: OutboundMessage, signal: AbortSignal): Promise<SendResult> {
    signal.throwIfAborted()
    this.connection.watch(null)
    this.connection.transcript.beginTransaction()
    const aborted = (): void => this.connection.fail(toConnectionFailure(signal.reason))
    signal.addEventListener('abort', aborted, { once: true })
    try {
      const sent = await this.transact(message)
      signal.throwIfAborted()
      return sent
    } finally {
      signal.removeEventListener('abort', aborted)
    }
  }

  private async transact(message: OutboundMessage): Promise<SendResult> {
    if (this.connection.failure !== null) return toSmtpFailure('mail', this.connection.failure)
    const reply = checkSendable(message, this.capabilities)
    if (reply !== null) return { kind: 'unsendable', reply }
    if (this.connection.hasUnread) {
      this.connection.fail({ failure: 'protocol', detail: 'a reply that nobody asked for' })
    }
    this.messages++
    const { sent, needsReset } = await runTransaction(
      this.connection,
      message,
      this.capabilities,
      this.timeouts,
      this.needsReset,
    )
    this.needsReset = needsReset
    if (this.connection.hasUnread)
      this.connection.fail({ failure: 'protocol', detail: 'a reply that nobody asked for' })
    if (sent.kind === 'refused' && isServiceClosing(sent))
      this.connection.fail({ failure: 'closed', detail: 'sent away with 421' })
    return sent
  }

  /** Calls `ended` when the idle session closes or the server speaks: it is then of no more use. */
  watch(ended: () => void): void {
    this.connection.watch(ended)
  }

  /** QUIT, and a short wait for the answer. */
  async quit(): Promise<void> {
    this.connection.watch(null)
    if (this.isUsable)
      await sendCommand(this.connection, 'QUIT', { stage: 'message', yes: 2, timeout: this.timeouts.quit })
    this.connection.fail({ failure: 'closed', detail: 'session ended' })
  }

  /** Without a word. */
  destroy(): void {
    this.connection.watch(null)
    this.connection.fail({ failure: 'closed', detail: 'session ended' })
  }
}
