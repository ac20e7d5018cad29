/**
 * An open SMTP session: from a greeted, encrypted, authenticated connection to QUIT.
 *
 * One transaction at a time. A session that has failed, was told 421 or holds a reply that
 * nobody asked for is over and is never used again.
 */
import type { OutboundMessage } from '../attempt/outbound-message.js'
import type { Capabilities } from '../smtp/capabilities.js'
import { insteadOfSending } from '../smtp/commands.js'
import type { Sent } from '../smtp/outcome.js'
import { ask, failed } from '../smtp/question.js'
import type { Timeouts } from '../smtp/timeouts.js'
import { isFarewell, transact } from '../smtp/transaction.js'
import { failureOf, type Wire } from '../smtp/wire.js'

export class SmtpSession {
  /** Messages that were sent, whatever came of them. */
  private messages = 0
  private dirty = false

  constructor(
    readonly wire: Wire,
    readonly capabilities: Capabilities,
    readonly timeouts: Timeouts,
  ) {}

  /** As `TLSv1.3`; null: plain text. */
  get tls(): string | null {
    return this.wire.tls
  }

  get count(): number {
    return this.messages
  }

  get usable(): boolean {
    return this.wire.failed === null
  }

  /** How it was opened, and its last transaction. */
  get transcript(): string {
    return this.wire.transcript.toString()
  }

  /** Rejects with the signal's reason when that strikes, and only then; the session is over with it. */
  async send(message: OutboundMessage, signal: AbortSignal): Promise<Sent> {
    signal.throwIfAborted()
    this.wire.watch(null)
    this.wire.transcript.begin()
    const aborted = (): void => this.wire.fail(failureOf(signal.reason))
    signal.addEventListener('abort', aborted, { once: true })
    try {
      const sent = await this.transact(message)
      signal.throwIfAborted()
      return sent
    } finally {
      signal.removeEventListener('abort', aborted)
    }
  }

  private async transact(message: OutboundMessage): Promise<Sent> {
    if (this.wire.failed !== null) return failed('mail', this.wire.failed)
    const reply = insteadOfSending(message, this.capabilities)
    if (reply !== null) return { kind: 'unsendable', reply }
    if (this.wire.unread) {
      this.wire.fail({ failure: 'protocol', detail: 'a reply that nobody asked for' })
    }
    this.messages++
    const { sent, dirty } = await transact(this.wire, message, this.capabilities, this.timeouts, this.dirty)
    this.dirty = dirty
    if (this.wire.unread) this.wire.fail({ failure: 'protocol', detail: 'a reply that nobody asked for' })
    if (sent.kind === 'refused' && isFarewell(sent)) this.wire.fail({ failure: 'closed', detail: 'sent away with 421' })
    return sent
  }

  /** Calls `ended` when the idle session closes or the server speaks: it is then of no more use. */
  watch(ended: () => void): void {
    this.wire.watch(ended)
  }

  /** QUIT, and a short wait for the answer. */
  async quit(): Promise<void> {
    this.wire.watch(null)
    if (this.usable) await ask(this.wire, 'QUIT', { stage: 'message', yes: 2, timeout: this.timeouts.quit })
    this.wire.fail({ failure: 'closed', detail: 'session ended' })
  }

  /** Without a word. */
  destroy(): void {
    this.wire.watch(null)
    this.wire.fail({ failure: 'closed', detail: 'session ended' })
  }
}
