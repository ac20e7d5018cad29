/**
 * Messages in memory between their commit and their first attempt.
 *
 * A fresh message goes from the door to the wire without being read back. The shelf is
 * bounded in bytes; when it is full a message is simply not shelved, and is read from
 * the database when its turn comes. It leaves when its last recipient is settled.
 */
import type { Email } from '../messages/email.js'

export interface ShelvedMessage {
  readonly email: Email
  readonly raw: Buffer
  /** The DKIM-Signature field, once made; null where no key signs for the message. */
  signature?: Promise<string | null>
  /** Is the signature on disk? */
  signatureKept: boolean
}

export class MessageShelf {
  private readonly messages = new Map<string, { readonly message: ShelvedMessage; uses: number }>()
  private bytes = 0

  constructor(private readonly maxBytes: number) {}

  /** `uses`: how many entries will come for it. */
  put(message: ShelvedMessage, uses: number): void {
    const size = message.raw.length
    if (uses === 0 || this.bytes + size > this.maxBytes || this.messages.has(message.email.id)) return
    this.messages.set(message.email.id, { message, uses })
    this.bytes += size
  }

  get(emailId: string): ShelvedMessage | undefined {
    return this.messages.get(emailId)?.message
  }

  /** Somebody else changed the queue: entries that are gone will never release theirs. */
  clear(): void {
    this.messages.clear()
    this.bytes = 0
  }

  /** One of its entries is done with it, for now or for good. */
  release(emailId: string): void {
    const shelved = this.messages.get(emailId)
    if (shelved === undefined) return
    shelved.uses -= 1
    if (shelved.uses > 0) return
    this.messages.delete(emailId)
    this.bytes -= shelved.message.raw.length
  }
}
