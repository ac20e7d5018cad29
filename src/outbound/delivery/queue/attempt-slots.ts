/**
 * Slots of the attempts that are under way, shared by the owners of workspaces.
 *
 * - An owner may hold three times as many slots as are free: one owner alone holds three quarters of them, two hold 43
 *   % each. So some are free for the next owner. Messages of broadcasts get half of all slots, shared in the same way.
 * - An owner with few attempts under way may begin another one although all slots are taken. So a single message finds
 *   a place at once, however many others wait for slow servers.
 * - An attempt loses its slot when another one needs it: first the one that began longest ago, but none in its first
 *   second. It continues in a second pool, which is twenty times as large. What counts is the time since the attempt
 *   began, not since the last octet, so a server that answers just before each timeout does not keep a slot. A transfer
 *   that takes long for a good reason continues as fast as before.
 * - In the second pool an owner may hold as much as is free there, in attempts and in bytes of their messages: one
 *   owner gets half of it, two get a third each, and some is always left. Beyond that the attempts of an owner keep
 *   their slots. Bytes of large messages do not count, because `outbound/delivery/queue/message-cache.ts` bounds them.
 *
 * Known limit: an owner whose share of both pools waits for servers that do not answer gets no further attempt until
 * the first of them times out.
 */
import { SMALL_MESSAGE_SIZE } from './message-cache.js'

interface SlotLimits {
  /** The number of slots. A reload may change it. */
  readonly total: number
}

interface Attempt {
  readonly ownerId: string
  /** True if the message belongs to a broadcast. */
  readonly isBulk: boolean
  /** Milliseconds on the monotonic clock. */
  readonly since: number
  /** Bytes of its message. 0 while the message is not in memory, and for a large message. */
  bytes: number
}

/** What an owner holds, or all owners together. */
interface Held {
  slots: number
  bulkSlots: number
  slow: number
  slowBytes: number
}

/** Milliseconds in which no attempt loses its slot. */
const FIRST_SECOND = 1_000
/** Places of the second pool for each slot, and bytes of their messages. */
export const SLOW_PER_SLOT = 20
const MAX_SLOW_BYTES = 64 * 1_048_576

/** Slots that an owner may hold for each free slot. */
const OWNER_SHARE = 3

export class AttemptSlots {
  /** The attempts by the id of their entries; the one that began first is at the front. */
  private readonly inSlots = new Map<string, Attempt>()
  private readonly inSecondPool = new Map<string, Attempt>()
  private readonly byOwner = new Map<string, Held>()
  private readonly all = nothingHeld()

  constructor(
    private readonly limits: () => SlotLimits,
    private readonly now: () => number = () => performance.now(),
  ) {}

  /** The number of attempts under way. */
  get active(): number {
    return this.inSlots.size + this.inSecondPool.size
  }

  /** The number of attempts that have lost their slots. */
  get slow(): number {
    return this.inSecondPool.size
  }

  isFreeFor(ownerId: string): boolean {
    const { total } = this.limits()
    const { slots, slow } = this.heldBy(ownerId)
    if (slots < OWNER_SHARE * (total - this.all.slots)) return true
    return slots + slow < Math.max(1, Math.floor(total / 10)) && this.all.slots < 2 * total
  }

  /** Tells whether the share of broadcasts allows a message of a broadcast to begin. */
  isFreeForBulk(ownerId: string): boolean {
    const max = Math.max(1, Math.floor(this.limits().total / 2))
    return this.heldBy(ownerId).bulkSlots < OWNER_SHARE * (max - this.all.bulkSlots)
  }

  start(entryId: string, ownerId: string, isBulk: boolean): void {
    this.inSlots.set(entryId, { ownerId, isBulk, since: this.now(), bytes: 0 })
    this.countSlot(ownerId, isBulk, 1)
  }

  /** Notes the size of the attempt's message, which is now in memory. */
  noteSize(entryId: string, bytes: number): void {
    const attempt = this.inSlots.get(entryId) ?? this.inSecondPool.get(entryId)
    if (attempt === undefined || bytes > SMALL_MESSAGE_SIZE) return
    if (this.inSecondPool.has(entryId)) this.countSlow(attempt.ownerId, 0, bytes - attempt.bytes)
    attempt.bytes = bytes
  }

  end(entryId: string): void {
    const attempt = this.inSlots.get(entryId)
    const slow = this.inSecondPool.get(entryId)
    if (attempt !== undefined) this.countSlot(attempt.ownerId, attempt.isBulk, -1)
    if (slow !== undefined) this.countSlow(slow.ownerId, -1, -slow.bytes)
    this.inSlots.delete(entryId)
    this.inSecondPool.delete(entryId)
  }

  /**
   * Takes slots from attempts until one of this owner may begin; `isBulk` says whether it is one of a broadcast.
   * Returns false if no attempt can lose its slot yet.
   */
  makeRoomFor(ownerId: string, isBulk: boolean): boolean {
    const isFree = (): boolean => this.isFreeFor(ownerId) && (!isBulk || this.isFreeForBulk(ownerId))
    if (isFree()) return true
    const began = this.now() - FIRST_SECOND
    for (const [id, attempt] of this.inSlots) {
      if (attempt.since > began) return false
      if (isBulk && !attempt.isBulk && this.isFreeFor(ownerId)) continue
      if (!this.hasSlowRoom(attempt)) continue
      this.moveToSecondPool(id, attempt)
      if (isFree()) return true
    }
    return false
  }

  private hasSlowRoom({ ownerId, bytes }: Attempt): boolean {
    const held = this.heldBy(ownerId)
    const freePlaces = this.limits().total * SLOW_PER_SLOT - this.all.slow
    const freeBytes = MAX_SLOW_BYTES - this.all.slowBytes
    return held.slow < freePlaces && (bytes === 0 || held.slowBytes + bytes <= freeBytes)
  }

  private moveToSecondPool(entryId: string, attempt: Attempt): void {
    this.inSlots.delete(entryId)
    this.inSecondPool.set(entryId, attempt)
    this.countSlow(attempt.ownerId, 1, attempt.bytes)
    this.countSlot(attempt.ownerId, attempt.isBulk, -1)
  }

  private countSlot(ownerId: string, isBulk: boolean, change: 1 | -1): void {
    for (const held of [this.all, this.keep(ownerId)]) {
      held.slots += change
      if (isBulk) held.bulkSlots += change
    }
    this.forgetIfUnused(ownerId)
  }

  private countSlow(ownerId: string, change: number, bytes: number): void {
    for (const held of [this.all, this.keep(ownerId)]) {
      held.slow += change
      held.slowBytes += bytes
    }
    this.forgetIfUnused(ownerId)
  }

  private heldBy(ownerId: string): Readonly<Held> {
    return this.byOwner.get(ownerId) ?? nothing
  }

  private keep(ownerId: string): Held {
    const known = this.byOwner.get(ownerId)
    if (known !== undefined) return known
    const fresh = nothingHeld()
    this.byOwner.set(ownerId, fresh)
    return fresh
  }

  private forgetIfUnused(ownerId: string): void {
    const { slots, slow } = this.heldBy(ownerId)
    if (slots + slow === 0) this.byOwner.delete(ownerId)
  }
}

function nothingHeld(): Held {
  return { slots: 0, bulkSlots: 0, slow: 0, slowBytes: 0 }
}

const nothing: Readonly<Held> = nothingHeld()
