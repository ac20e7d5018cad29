/**
 * Collects the bytes of one DATA in memory, within the size limit and the memory budget.
 *
 * smtp-server's parser writes into it as into a stream, and it has as much of a stream as the parser and
 * the connection use. A real stream costs a dozen objects and three ticks for each message.
 *
 * A message over a limit is read to its end and discarded, so that the session stays in step and the
 * client gets a reply (RFC 5321 section 4.5.3.1.10). The same happens to the slowest message when the
 * memory is full, so that the others have room.
 *
 * The result owns its memory, so that it may be moved to another thread.
 */
import { EventEmitter } from 'node:events'
import { Refusal } from '../../../base/mail/refusal.js'
import type { MemoryBudget } from '../../../base/platform/memory/budget.js'
import { BytePieces } from '../../../base/platform/memory/byte-pieces.js'
import { freeMemory } from '../../../base/platform/memory/free-memory.js'
import { RecentRate } from '../../../base/platform/memory/holders.js'
import { noteReceivedBytes } from '../../../base/platform/memory/received-bytes.js'

export interface CollectedMessage {
  readonly raw: Buffer
  /** Gives the memory back. Call it once, when nothing reads the bytes any longer. */
  readonly release: () => void
}

/** The client left before the end of its message. */
export class SmtpClientGone extends Error {
  override name = 'SmtpClientGone'
}

/** Emits `end` after its last byte. `write` never asks for a pause. */
export class IncomingMessage extends EventEmitter {
  private readonly outcome = Promise.withResolvers<CollectedMessage>()
  /** Resolves, or rejects with a Refusal, when the message has ended. Rejects with ClientGone when it breaks off. */
  readonly collected = this.outcome.promise
  readonly writable = true
  /** The value of a stream that is being read. */
  readonly readableFlowing = true
  writableEnded = false
  destroyed = false
  byteLength = 0
  sizeExceeded = false
  /** Bytes so far, including discarded ones. */
  receivedBytes = 0
  private readonly pieces: BytePieces
  private readonly recent: RecentRate
  private readonly leave: () => void
  private refusal: Refusal | null = null

  constructor(
    private readonly maxSize: number,
    private readonly budget: Pick<MemoryBudget, 'acquire' | 'release' | 'addHolder'>,
    private readonly buildFullRefusal: () => Refusal = buildNoRoomRefusal,
    /** Milliseconds of a steady clock. */
    now: () => number = () => performance.now(),
    /** Counts bytes as they come, discarded ones too. Returns a Refusal if the message may not be kept. */
    private readonly countBytes: (bytes: number) => Refusal | null = () => null,
  ) {
    super()
    this.recent = new RecentRate(now)
    this.leave = budget.addHolder(this)
    this.pieces = new BytePieces(maxSize)
    // Nothing awaits it after the session has ended, and a rejection must not end the process.
    this.collected.catch(() => undefined)
  }

  /** Bytes are still to come. */
  get readable(): boolean {
    return !this.writableEnded && !this.destroyed
  }

  /** The memory budget reads it: it may evict the slowest holder. */
  get held(): number {
    return this.pieces.bytes
  }

  get rate(): number | null {
    return this.recent.get()
  }

  evict(): void {
    this.refuse(this.buildFullRefusal())
  }

  write(chunk: Buffer): boolean {
    this.receivedBytes += chunk.length
    const excess = this.countBytes(chunk.length)
    if (excess !== null) this.refuse(excess)
    if (this.refusal !== null) return true
    this.recent.add(chunk.length)
    if (this.pieces.bytes + chunk.length > this.maxSize) this.refuse(buildTooLargeRefusal(this.maxSize))
    else if (!this.budget.acquire(chunk.length)) this.refuse(this.buildFullRefusal())
    else if (this.hasGivenWay()) this.budget.release(chunk.length)
    else this.pieces.add(chunk)
    return true
  }

  /** `acquire` may evict this message itself, when it is the slowest. */
  private hasGivenWay(): boolean {
    return this.refusal !== null
  }

  end(chunk?: Buffer): void {
    if (chunk !== undefined) this.write(chunk)
    this.leave()
    this.writableEnded = true
    if (this.refusal === null) this.outcome.resolve(this.takeMessage())
    else this.outcome.reject(this.refusal)
    noteReceivedBytes(this.receivedBytes)
    // A stream would also emit it after the parser is done with the last line.
    queueMicrotask(() => this.emit('end'))
  }

  destroy(): void {
    if (!this.readable) return
    this.destroyed = true
    this.drop()
    this.outcome.reject(new SmtpClientGone('the connection closed before the end of the message'))
  }

  private takeMessage(): CollectedMessage {
    const raw = this.pieces.join()
    const { length } = raw // 0 once the memory was moved to another thread
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
  return new Refusal('storage-full', 'too many messages are being received, try again later')
}
