/**
 * Messages in memory between their commit and their first attempt.
 *
 * A fresh message is sent without being read back. The cache is bounded in bytes, counted with the
 * record and objects of each message; when it is full, a message is not cached and is read from the
 * database when its turn comes. It leaves when its last recipient is settled.
 *
 * Messages that are read back are bounded in bytes too: an entry whose message does not fit waits until
 * others have left. Messages of up to 256 KB never wait, so that a few large ones on their way to slow
 * hosts hold nothing up; the number of attempts bounds them.
 */
import { domainOf } from '../../mail/address.js'
import type { Email } from '../../messages/email.js'
import type { RecipientCopy } from '../../messages/recipient-copies.js'
import type { DsnRequest } from '../../messages/recipients.js'
import { freeMemory } from '../../platform/memory/free-memory.js'

export interface SignedBytes {
  /** The DKIM-Signature field, when made; null: no key signs for the message. */
  signature?: Promise<string | null> | undefined
  isSignatureStored: boolean
}

export interface CachedCopy extends SignedBytes, RecipientCopy {}

export interface CachedMessage extends SignedBytes {
  readonly email: Email
  readonly raw: Buffer
  /** By entry id; absent if the message was read back. */
  readonly dsnRequests?: ReadonlyMap<string, DsnRequest>
  /** Messages of single recipients, by entry id; others may be read from the database. */
  readonly copies: Map<string, CachedCopy>
  /** Settles when the last of its large copies is signed. */
  lastSigned?: Promise<void>
}

/** By entry id; others are read back. */
export type FreshCopies = ReadonlyMap<string, RecipientCopy>

/** A message as its commit stored it. */
export function buildFreshMessage(
  message: Required<Pick<CachedMessage, 'email' | 'raw' | 'dsnRequests'>>,
  copies: FreshCopies = new Map(),
): CachedMessage {
  const own = new Map([...copies].map(([id, copy]) => [id, { ...copy, isSignatureStored: false }]))
  return { ...message, copies: own, isSignatureStored: false }
}

/** Heap bytes of the record, addresses, objects and signature of one message. */
const RECORD_SIZE = 4096
/** Bytes of larger messages that are read back at a time; one always fits. */
const MAX_READ_BACK = 64 * 1_048_576
const SMALL_MESSAGE_SIZE = 262_144

interface CacheEntry {
  readonly message: CachedMessage
  /** Ids of the entries that use the message or will use it. */
  readonly holders: Set<string>
  /** Other entries of a message that was read back are not known, and are added when they come. */
  readonly isReadBack: boolean
  /** What it counts for the cache, and if it was read back, for its room. */
  readonly size: number
  readonly room: number
  /** A socket may still be writing the bytes. */
  mayBeInUse: boolean
}

export class MessageCache {
  private readonly messages = new Map<string, CacheEntry>()
  private bytes = 0
  private reservedBytes = 0
  /** Entries that wait to read a message back, in order of arrival. */
  private readonly waiters: { readonly bytes: number; readonly resolve: () => void }[] = []

  constructor(
    private readonly maxBytes: number,
    private readonly maxReadBack = MAX_READ_BACK,
  ) {}

  /** Caches a fresh message for these entries, if there is room. */
  put(message: CachedMessage, entryIds: readonly string[]): void {
    const size = memorySizeOf(message)
    if (entryIds.length === 0 || this.bytes + size > this.maxBytes) return
    this.store({ message, holders: new Set(entryIds), isReadBack: false, size, room: 0, mayBeInUse: false })
  }

  /** Resolves when a message of this size may be read back: then call `addReadBack`, else `releaseRoom`. */
  async reserveRoom(bytes: number): Promise<void> {
    const size = reservedSizeOf(bytes)
    if (size === 0) return
    if (this.waiters.length === 0 && this.hasRoomFor(size)) this.reservedBytes += size
    else await new Promise<void>((resolve) => this.waiters.push({ bytes: size, resolve }))
  }

  releaseRoom(bytes: number): void {
    this.reservedBytes = Math.max(this.reservedBytes - reservedSizeOf(bytes), 0)
    for (let next = this.waiters[0]; next !== undefined && this.hasRoomFor(next.bytes); next = this.waiters[0]) {
      this.waiters.shift()
      this.reservedBytes += next.bytes
      next.resolve()
    }
  }

  /**
   * Adds a message that an entry has read back, even if the cache is full: it is in memory anyway. `room`: what was
   * reserved for it.
   */
  addReadBack(message: CachedMessage, entryId: string, room = message.raw.length): void {
    const size = memorySizeOf(message)
    this.store({ message, holders: new Set([entryId]), isReadBack: true, size, room, mayBeInUse: false })
  }

  /** The entry calls `release` afterwards. */
  get(emailId: string, entryId: string): CachedMessage | undefined {
    const cached = this.messages.get(emailId)
    if (cached?.isReadBack === true) cached.holders.add(entryId)
    return cached?.message
  }

  /** Entries of the domain's messages were removed from the queue and will never release them. */
  dropDomain(workspaceId: string, domain: string): void {
    for (const [id, { message }] of this.messages) {
      const { workspace_id, from_email } = message.email
      if (workspace_id === workspaceId && domainOf(from_email) === domain) this.drop(id)
    }
  }

  /** Another process changed the queue: entries that it removed will never release their messages. */
  clear(): void {
    for (const id of [...this.messages.keys()]) this.drop(id)
  }

  /**
   * The entry does not use the message any more. `isTaken`: its host has accepted the message, so that
   * no socket reads the bytes any more. Only then is the memory freed before garbage collection.
   *
   * An entry that is no holder changes nothing: it never called `get`, or it had the message that was
   * here before `dropDomain` or `clear`, while others use this one.
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

  private hasRoomFor(bytes: number): boolean {
    return this.reservedBytes === 0 || this.reservedBytes + bytes <= this.maxReadBack
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

/** What the message counts for `maxReadBack`. */
function reservedSizeOf(bytes: number): number {
  return bytes <= SMALL_MESSAGE_SIZE ? 0 : bytes
}

function memorySizeOf({ raw, copies }: CachedMessage): number {
  let size = raw.length + RECORD_SIZE
  for (const { bytes } of copies.values()) size += bytes.length + RECORD_SIZE
  return size
}
