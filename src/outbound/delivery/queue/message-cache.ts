/**
 * Keeps messages in memory between their commit and their first attempt.
 *
 * A fresh message is sent without being read back. The cache is bounded in bytes, which include the record and objects
 * of each message. When it is full, a message is not cached, and is read from the database when its turn comes. A
 * message leaves the cache when its last recipient is settled.
 *
 * Messages that are read back are bounded in bytes too: an entry whose message does not fit waits until others have
 * left. An owner of workspaces may hold three times as many bytes as are free. An owner that holds none may have one
 * message in any case, so that large messages to slow hosts do not delay those of other owners. Messages of up to 256
 * KB never wait; the number of attempts and their bytes bound them (`queue/attempt-slots.ts`).
 */
import { domainOf } from '../../../base/mail/address.js'
import { freeMemory } from '../../../base/platform/memory/free-memory.js'
import type { Email } from '../../../records/messages/email/email.js'
import type { RecipientCopy } from '../../../records/messages/email/recipient-copies.js'
import type { DsnRequest } from '../../../records/messages/email/recipients.js'

export interface SignedBytes {
  /** The DKIM-Signature field, once it is made. Null if no key signs for the message. */
  signature?: Promise<string | null> | undefined
  isSignatureStored: boolean
}

export interface CachedCopy extends SignedBytes, RecipientCopy {}

export interface CachedMessage extends SignedBytes {
  readonly email: Email
  readonly raw: Buffer
  /** The requests by entry id. Absent if the message was read back. */
  readonly dsnRequests?: ReadonlyMap<string, DsnRequest>
  /** Messages of single recipients, by entry id. Others may be read from the database. */
  readonly copies: Map<string, CachedCopy>
  /** Settles when the last of the large copies is signed. */
  lastSigned?: Promise<void>
}

/** Copies by entry id. Others are read back. */
export type FreshCopies = ReadonlyMap<string, RecipientCopy>

/** Builds a message as its commit stored it. */
export function buildFreshMessage(
  message: Required<Pick<CachedMessage, 'email' | 'raw' | 'dsnRequests'>>,
  copies: FreshCopies = new Map(),
): CachedMessage {
  const own = new Map([...copies].map(([id, copy]) => [id, { ...copy, isSignatureStored: false }]))
  return { ...message, copies: own, isSignatureStored: false }
}

/** Heap bytes of the record, addresses, objects and signature of one message. */
const RECORD_SIZE = 4096
/**
 * The most bytes of larger messages that are read back at a time. One message always fits, and owners that hold none
 * share as many bytes again.
 */
const MAX_READ_BACK = 64 * 1_048_576
/** Bytes that an owner may hold for each free byte. */
const OWNER_SHARE = 3
/** The most bytes of a message that never waits to be read back. */
export const SMALL_MESSAGE_SIZE = 262_144

/** The room that is reserved for a message that is read back. */
interface Room {
  readonly ownerId: string
  readonly bytes: number
}

interface CacheEntry {
  readonly message: CachedMessage
  /** Ids of the entries that use the message or will use it. */
  readonly holders: Set<string>
  /** True if other entries of the message are not known yet. They are added when they come. */
  readonly isReadBack: boolean
  /** The bytes that the message counts for in the cache. */
  readonly size: number
  /** The room of a message that was read back. */
  readonly room: Room
  /** True if a socket may still write the bytes. */
  mayBeInUse: boolean
}

export class MessageCache {
  private readonly messages = new Map<string, CacheEntry>()
  private bytes = 0
  private reservedBytes = 0
  private readonly reservedByOwner = new Map<string, number>()
  /** The entries that wait to read a message back. Those of one owner are in order of arrival. */
  private readonly waiters = new Set<{ readonly room: Room; readonly resolve: () => void }>()

  constructor(
    private readonly maxBytes: number,
    private readonly maxReadBack = MAX_READ_BACK,
  ) {}

  /** Caches a fresh message for these entries, if there is room. */
  put(message: CachedMessage, entryIds: readonly string[]): void {
    const size = memorySizeOf(message)
    if (entryIds.length === 0 || this.bytes + size > this.maxBytes) return
    this.store({ message, holders: new Set(entryIds), isReadBack: false, size, room: noRoom, mayBeInUse: false })
  }

  /** Resolves when a message of this size may be read back. Then call `addReadBack`, or `releaseRoom`. */
  async reserveRoom(ownerId: string, bytes: number): Promise<Room> {
    const room = { ownerId, bytes: bytes <= SMALL_MESSAGE_SIZE ? 0 : bytes }
    if (room.bytes === 0) return room
    const isBehind = [...this.waiters].some((waiter) => waiter.room.ownerId === ownerId)
    if (!isBehind && this.hasRoomFor(room)) this.countRoom(room, room.bytes)
    else await new Promise<void>((resolve) => this.waiters.add({ room, resolve }))
    return room
  }

  releaseRoom(room: Room): void {
    if (room.bytes === 0) return
    this.countRoom(room, -room.bytes)
    const waiting = new Set<string>()
    for (const waiter of this.waiters) {
      const { ownerId } = waiter.room
      if (waiting.has(ownerId) || !this.hasRoomFor(waiter.room)) {
        waiting.add(ownerId)
        continue
      }
      this.waiters.delete(waiter)
      this.countRoom(waiter.room, waiter.room.bytes)
      waiter.resolve()
    }
  }

  /** Adds a message that was read back, even if the cache is full: it is in memory. `room` was reserved for it. */
  addReadBack(message: CachedMessage, entryId: string, room: Room): void {
    const size = memorySizeOf(message)
    this.store({ message, holders: new Set([entryId]), isReadBack: true, size, room, mayBeInUse: false })
  }

  /** Returns the message of an entry, which must call `release` afterwards. */
  get(emailId: string, entryId: string): CachedMessage | undefined {
    const cached = this.messages.get(emailId)
    if (cached?.isReadBack === true) cached.holders.add(entryId)
    return cached?.message
  }

  /** Drops the messages of a domain, because their entries were removed from the queue and will never release them. */
  dropDomain(workspaceId: string, domain: string): void {
    for (const [id, { message }] of this.messages) {
      const { workspace_id, from_email } = message.email
      if (workspace_id === workspaceId && domainOf(from_email) === domain) this.drop(id)
    }
  }

  /** Drops all messages: another process changed the queue, and entries that it removed never release theirs. */
  clear(): void {
    for (const id of [...this.messages.keys()]) this.drop(id)
  }

  /**
   * Ends the entry's use of the message. `isTaken` says that the host has accepted the message, so that no socket reads
   * the bytes. Only then is the memory freed before garbage collection.
   *
   * An entry that is no holder changes nothing: it never called `get`, or it had the message that was here before
   * `dropDomain` or `clear`, while others use this one.
   */
  release(emailId: string, entryId: string, isTaken = false): void {
    const cached = this.messages.get(emailId)
    if (cached?.holders.delete(entryId) !== true) return
    if (!isTaken) cached.mayBeInUse = true
    cached.message.copies.delete(entryId)
    if (cached.holders.size > 0) return
    const { raw } = cached.message
    this.drop(emailId)
    if (cached.isReadBack && !cached.mayBeInUse) freeMemory(raw)
  }

  private hasRoomFor({ ownerId, bytes }: Room): boolean {
    const held = this.reservedByOwner.get(ownerId) ?? 0
    const free = this.maxReadBack - this.reservedBytes
    if (held === 0) return this.reservedBytes === 0 || bytes <= free + this.maxReadBack
    return held + bytes <= OWNER_SHARE * free
  }

  private countRoom({ ownerId }: Room, change: number): void {
    this.reservedBytes += change
    const held = (this.reservedByOwner.get(ownerId) ?? 0) + change
    if (held > 0) this.reservedByOwner.set(ownerId, held)
    else this.reservedByOwner.delete(ownerId)
  }

  private drop(emailId: string): void {
    const cached = this.messages.get(emailId)
    if (cached === undefined) return
    this.messages.delete(emailId)
    this.bytes -= cached.size
    if (cached.isReadBack) this.releaseRoom(cached.room)
  }

  private store(entry: CacheEntry): void {
    const { id } = entry.message.email
    if (this.messages.has(id)) return
    this.messages.set(id, entry)
    this.bytes += entry.size
  }
}

const noRoom: Room = { ownerId: '', bytes: 0 }

function memorySizeOf({ raw, copies }: CachedMessage): number {
  let size = raw.length + RECORD_SIZE
  for (const { bytes } of copies.values()) size += bytes.length + RECORD_SIZE
  return size
}
