/**
 * Messages in memory between their commit and their first attempt.
 *
 * A fresh message goes from the door to the wire without being read back. The shelf is
 * bounded in bytes; when it is full a message is simply not shelved, and is read from
 * the database when its turn comes. It leaves when its last recipient is settled.
 *
 * What a small message weighs is its record and its objects: they are counted too.
 */
import { type Address, domainOf } from '../mail/address.js'
import type { Email } from '../messages/email.js'
import type { RecipientWishes } from '../messages/recipients.js'

export interface ShelvedMessage {
  readonly email: Email
  readonly raw: Buffer
  /** Of its recipients, by the ids of their entries, where it came here from the door and was due at once. */
  readonly wishes?: ReadonlyMap<string, RecipientWishes>
  /** The DKIM-Signature field, once made; null where no key signs for the message. */
  signature?: Promise<string | null> | undefined
  /** Is the signature on disk? */
  signatureKept: boolean
}

/** Record, addresses, objects and signature of one message, as the heap has them. */
const RECORD = 4096

interface Shelved {
  readonly message: ShelvedMessage
  /** Entries that have it in hand, or will come for it. */
  uses: number
  /** It was read back: nobody knows who else will come, so each is counted when they do. */
  readonly readBack: boolean
}

export class MessageShelf {
  private readonly messages = new Map<string, Shelved>()
  private bytes = 0

  constructor(private readonly maxBytes: number) {}

  /** A fresh message, for which `uses` entries will come. */
  put(message: ShelvedMessage, uses: number): void {
    if (uses === 0 || this.bytes + weight(message) > this.maxBytes) return
    this.keep({ message, uses, readBack: false })
  }

  /** A message that an entry has read back. However full the shelf is: that entry has it in memory anyway. */
  share(message: ShelvedMessage): void {
    this.keep({ message, uses: 1, readBack: true })
  }

  /** For one entry, which releases it. */
  get(emailId: string): ShelvedMessage | undefined {
    const shelved = this.messages.get(emailId)
    if (shelved?.readBack === true) shelved.uses += 1
    return shelved?.message
  }

  /** Entries of its messages were taken out of the queue: who is gone will never release theirs. */
  dropFrom(workspaceId: string, domain: string): void {
    for (const [id, { message }] of this.messages) {
      const { workspace_id, from_email } = message.email
      if (workspace_id === workspaceId && domainOf(from_email as Address) === domain) this.drop(id)
    }
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
    if (shelved.uses <= 0) this.drop(emailId)
  }

  private drop(emailId: string): void {
    const shelved = this.messages.get(emailId)
    if (shelved !== undefined) this.bytes -= weight(shelved.message)
    this.messages.delete(emailId)
  }

  private keep(shelved: Shelved): void {
    const { id } = shelved.message.email
    if (this.messages.has(id)) return
    this.messages.set(id, shelved)
    this.bytes += weight(shelved.message)
  }
}

function weight({ raw }: ShelvedMessage): number {
  return raw.length + RECORD
}
