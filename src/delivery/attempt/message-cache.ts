/**
 * Messages in memory between their commit and their first attempt.
 *
 * A fresh message goes from the door to the wire without being read back. The shelf is
 * bounded in bytes; when it is full a message is simply not shelved, and is read from
 * the database when its turn comes. It leaves when its last recipient is settled.
 *
 * Those that are read back are bounded in bytes too, not in number: an entry whose message does
 * not fit waits until others have left. Small messages never wait, so that nothing is held up by a
 * few large ones on their way to slow hosts; the number of attempts bounds them.
 *
 * What a small message weighs is its record and its objects: they are counted too.
 */
import { domainOf } from '../../mail/address.js'
import type { Email } from '../../messages/email.js'
import type { DsnRequest } from '../../messages/recipients.js'
import { freeMemory } from '../../platform/memory/free-memory.js'

export interface CachedMessage {
  readonly email: Email
  readonly raw: Buffer
  /** Of its recipients, by the ids of their entries, where it came here from the door and was due at once. */
  readonly dsnRequests?: ReadonlyMap<string, DsnRequest>
  /** The DKIM-Signature field, once made; null where no key signs for the message. */
  signature?: Promise<string | null> | undefined
  /** Is the signature on disk? */
  isSignatureStored: boolean
}

/** Record, addresses, objects and signature of one message, as the heap has them. */
const RECORD_SIZE = 4096
/** Bytes of messages that were read back and are larger than `SMALL`, at a time; one always fits. */
const MAX_READ_BACK = 64 * 1_048_576
const SMALL_MESSAGE_SIZE = 262_144

interface CacheEntry {
  readonly message: CachedMessage
  /** Ids of the entries that have it in hand, or will come for it. */
  readonly holders: Set<string>
  /** It was read back: which other entries will come is not known, so each is added when it does. */
  readonly isReadBack: boolean
  /** One of its sessions may still be writing it, whatever became of that. */
  mayBeInUse: boolean
}

export class MessageCache {
  private readonly messages = new Map<string, CacheEntry>()
  private bytes = 0
  private reservedBytes = 0
  /** Those that wait to read a message back, in their order. */
  private readonly waiters: { readonly bytes: number; readonly enter: () => void }[] = []

  constructor(
    private readonly maxBytes: number,
    private readonly maxReadBack = MAX_READ_BACK,
  ) {}

  /** A fresh message, for which these entries will come. */
  put(message: CachedMessage, entryIds: readonly string[]): void {
    if (entryIds.length === 0 || this.bytes + memorySizeOf(message) > this.maxBytes) return
    this.store({ message, holders: new Set(entryIds), isReadBack: false, mayBeInUse: false })
  }

  /**
   * Resolves when a message of that size may be read back. Followed by `share` where it was, else by
   * `giveRoom`.
   */
  async reserveRoom(bytes: number): Promise<void> {
    const size = reservedSizeOf(bytes)
    if (size === 0) return
    if (this.waiters.length === 0 && this.hasRoomFor(size)) this.reservedBytes += size
    else await new Promise<void>((enter) => this.waiters.push({ bytes: size, enter }))
  }

  releaseRoom(bytes: number): void {
    this.reservedBytes = Math.max(this.reservedBytes - reservedSizeOf(bytes), 0)
    for (let next = this.waiters[0]; next !== undefined && this.hasRoomFor(next.bytes); next = this.waiters[0]) {
      this.waiters.shift()
      this.reservedBytes += next.bytes
      next.enter()
    }
  }

  private hasRoomFor(bytes: number): boolean {
    return this.reservedBytes === 0 || this.reservedBytes + bytes <= this.maxReadBack
  }

  /** A message that an entry has read back. However full the shelf is: that entry has it in memory anyway. */
  addReadBack(message: CachedMessage, entryId: string): void {
    this.store({ message, holders: new Set([entryId]), isReadBack: true, mayBeInUse: false })
  }

  /** For one entry, which releases it. */
  get(emailId: string, entryId: string): CachedMessage | undefined {
    const shelved = this.messages.get(emailId)
    if (shelved?.isReadBack === true) shelved.holders.add(entryId)
    return shelved?.message
  }

  /** Entries of its messages were taken out of the queue: who is gone will never release theirs. */
  dropDomain(workspaceId: string, domain: string): void {
    for (const [id, { message }] of this.messages) {
      const { workspace_id, from_email } = message.email
      if (workspace_id === workspaceId && domainOf(from_email) === domain) this.drop(id)
    }
  }

  /** Somebody else changed the queue: entries that are gone will never release theirs. */
  clear(): void {
    for (const id of [...this.messages.keys()]) this.drop(id)
  }

  /**
   * One of its entries is done with it, for now or for good. `taken`: its host has answered for all of
   * it, so that no socket reads it any more; only then its memory is given back before V8 does so.
   *
   * An entry that does not hold it changes nothing: it never came for it, or had the message that was
   * here before one of `dropFrom` and `clear`, while others have this one in hand.
   */
  release(emailId: string, entryId: string, taken = false): void {
    const shelved = this.messages.get(emailId)
    if (shelved?.holders.delete(entryId) !== true) return
    if (!taken) shelved.mayBeInUse = true
    if (shelved.holders.size > 0) return
    const { raw } = shelved.message
    this.drop(emailId)
    if (shelved.isReadBack && !shelved.mayBeInUse) freeMemory(raw)
  }

  private drop(emailId: string): void {
    const shelved = this.messages.get(emailId)
    if (shelved === undefined) return
    this.messages.delete(emailId)
    this.bytes -= memorySizeOf(shelved.message)
    if (shelved.isReadBack) this.releaseRoom(shelved.message.raw.length)
  }

  private store(shelved: CacheEntry): void {
    const { id } = shelved.message.email
    if (this.messages.has(id)) return
    this.messages.set(id, shelved)
    this.bytes += memorySizeOf(shelved.message)
  }
}

/** What a message that is read back takes of their bytes. */
function reservedSizeOf(bytes: number): number {
  return bytes <= SMALL_MESSAGE_SIZE ? 0 : bytes
}

function memorySizeOf({ raw }: CachedMessage): number {
  return raw.length + RECORD_SIZE
}
