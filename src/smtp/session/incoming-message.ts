/**
 * The bytes of one DATA, whole and in memory, within the size limit and the memory budget.
 *
 * It takes the place of the stream into which smtp-server's parser writes a message, and is as
 * much of a stream as parser and connection ask for. A real one costs each message a dozen
 * objects and three turns of the queue of ticks, and nobody here reads piece by piece.
 *
 * What is over a limit is read to its end and thrown away, so that the session stays in
 * step and the client gets its answer (RFC 5321 section 4.5.3.1.10). So is a message that comes
 * slowly where the memory is full and others come faster: those find room.
 *
 * The result owns its memory, so that it may be handed to another thread.
 */
import { EventEmitter } from 'node:events'
import { Refusal } from '../../mail/refusal.js'
import type { MemoryBudget } from '../../platform/memory/budget.js'
import { BytePieces } from '../../platform/memory/byte-pieces.js'
import { freeMemory } from '../../platform/memory/free-memory.js'
import { RecentRate } from '../../platform/memory/holders.js'

export interface CollectedMessage {
  readonly raw: Buffer
  /** Gives the memory back; to be called once, when nothing reads the bytes any more. */
  readonly release: () => void
}

/** The client left before the end of its message. */
export class ClientGone extends Error {
  override name = 'ClientGone'
}

/** Emits `end` soon after its last byte. It is never full, so `write` never asks for a pause. */
export class IncomingMessage extends EventEmitter {
  /** Once the message has ended. Rejects with a Refusal then, with ClientGone when it breaks off. */
  readonly collected: Promise<CollectedMessage>
  readonly writable = true
  /** As of a stream that somebody reads already. */
  readonly readableFlowing = true
  writableEnded = false
  destroyed = false
  byteLength = 0
  sizeExceeded = false
  /** All that came, also what was thrown away. */
  receivedBytes = 0
  private readonly pieces: BytePieces
  private readonly recent: RecentRate
  private readonly leave: () => void
  private refusal: Refusal | null = null
  private resolve: (collected: CollectedMessage) => void = () => undefined
  private reject: (reason: Error) => void = () => undefined

  constructor(
    private readonly maxSize: number,
    private readonly budget: Pick<MemoryBudget, 'acquire' | 'release' | 'addHolder'>,
    private readonly full: () => Refusal = buildNoRoomRefusal,
    /** Milliseconds of a steady clock. */
    now: () => number = () => performance.now(),
  ) {
    super()
    this.recent = new RecentRate(now)
    this.leave = budget.addHolder(this)
    this.pieces = new BytePieces(maxSize)
    this.collected = new Promise((resolve, reject) => {
      this.resolve = resolve
      this.reject = reject
    })
    // Where nobody waits any more, a client that leaves is nothing to die of.
    this.collected.catch(() => undefined)
  }

  /** More is to come. */
  get readable(): boolean {
    return !this.writableEnded && !this.destroyed
  }

  /** As a holder of the budget. */
  get held(): number {
    return this.pieces.bytes
  }

  get rate(): number | null {
    return this.recent.get()
  }

  evict(): void {
    this.refuse(this.full())
  }

  write(chunk: Buffer): boolean {
    this.receivedBytes += chunk.length
    if (this.refusal !== null) return true
    this.recent.add(chunk.length)
    if (this.pieces.bytes + chunk.length > this.maxSize) this.refuse(buildTooLargeRefusal(this.maxSize))
    else if (!this.budget.acquire(chunk.length)) this.refuse(this.full())
    else if (this.hasGivenWay()) this.budget.release(chunk.length)
    else this.pieces.add(chunk)
    return true
  }

  /** While it asked for more it was the slowest itself. */
  private hasGivenWay(): boolean {
    return this.refusal !== null
  }

  end(chunk?: Buffer): void {
    if (chunk !== undefined) this.write(chunk)
    this.leave()
    this.writableEnded = true
    if (this.refusal === null) this.resolve(this.takeMessage())
    else this.reject(this.refusal)
    // As a stream would: not while the parser is still in the middle of the last line.
    queueMicrotask(() => this.emit('end'))
  }

  destroy(): void {
    if (!this.readable) return
    this.destroyed = true
    this.drop()
    this.reject(new ClientGone('the connection closed before the end of the message'))
  }

  private takeMessage(): CollectedMessage {
    const raw = this.pieces.join()
    const { length } = raw // its memory may be moved to another thread before the release
    this.pieces.clear()
    const release = (): void => {
      this.budget.release(length)
      freeMemory(raw)
    }
    return { raw, release }
  }

  private refuse(reason: Refusal): void {
    this.refusal ??= reason
    this.drop()
  }

  private drop(): void {
    this.leave()
    this.budget.release(this.pieces.bytes)
    this.pieces.clear()
  }
}

export function buildTooLargeRefusal(maxSize: number): Refusal {
  return new Refusal('too-large', `the message is larger than ${maxSize} bytes`, { maxSize })
}

export function buildNoRoomRefusal(): Refusal {
  return new Refusal('storage-full', 'too many messages are on their way in, try again later')
}
