/**
 * The bytes of one DATA, whole and in memory, within the size limit and the memory budget.
 *
 * What is over a limit is read to its end and thrown away, so that the session stays in
 * step and the client gets its answer (RFC 5321 section 4.5.3.1.10).
 *
 * Small pieces are copied together: a client that sends byte by byte must not cost us an
 * object for each. The result owns its memory, so that it may be handed to another thread.
 */
import type { Readable } from 'node:stream'
import { Refusal } from '../mail/refusal.js'
import type { MemoryBudget } from './memory-budget.js'

export interface Collected {
  readonly raw: Buffer
  /** Gives the memory back to the budget; to be called once. */
  readonly release: () => void
}

/** The client left before the end of its message. */
export class ClientGone extends Error {
  override name = 'ClientGone'
}

/** Pieces that are kept as they come; after these only large ones are. */
const MAX_SMALL_PIECES = 32
const LARGE = 4096
const BLOCK = 65_536

/** Resolves at the end of the stream. Rejects with a Refusal then, with ClientGone when the stream breaks off. */
export function collect(stream: Readable, maxSize: number, budget: MemoryBudget): Promise<Collected> {
  const pieces = new Pieces()
  let refusal: Refusal | null = null

  function refuse(reason: Refusal): void {
    refusal = reason
    budget.give(pieces.bytes)
    pieces.clear()
  }

  return new Promise((resolve, reject) => {
    stream.on('data', (chunk: Buffer) => {
      if (refusal !== null) return
      if (pieces.bytes + chunk.length > maxSize) refuse(tooLarge(maxSize))
      else if (!budget.take(chunk.length)) refuse(noRoom())
      else pieces.add(chunk)
    })
    stream.once('end', () => {
      if (refusal !== null) return reject(refusal)
      const raw = pieces.join()
      pieces.clear()
      resolve({ raw, release: () => budget.give(raw.length) })
    })
    stream.once('error', () => {
      budget.give(pieces.bytes)
      pieces.clear()
      reject(new ClientGone('the connection closed before the end of the message'))
    })
  })
}

export function tooLarge(maxSize: number): Refusal {
  return new Refusal('too-large', `the message is larger than ${maxSize} bytes`, { maxSize })
}

export function noRoom(): Refusal {
  return new Refusal('storage-full', 'too many messages are on their way in, try again later')
}

class Pieces {
  bytes = 0
  private pieces: Buffer[] = []
  /** The last piece, while it has room for more. */
  private block: Buffer | null = null
  private filled = 0

  add(chunk: Buffer): void {
    this.bytes += chunk.length
    const asItIs = this.pieces.length < MAX_SMALL_PIECES || chunk.length >= LARGE
    if (asItIs && this.block === null) this.pieces.push(chunk)
    else this.copy(chunk)
  }

  join(): Buffer {
    this.closeBlock()
    const whole = Buffer.allocUnsafeSlow(this.bytes)
    let at = 0
    for (const piece of this.pieces) at += piece.copy(whole, at)
    return whole
  }

  clear(): void {
    this.pieces = []
    this.block = null
    this.filled = 0
    this.bytes = 0
  }

  /** Into blocks that are filled to the end, so that no order of small and large pieces wastes memory. */
  private copy(chunk: Buffer): void {
    for (let from = 0; from < chunk.length; ) {
      this.block ??= Buffer.allocUnsafeSlow(BLOCK)
      const copied = chunk.copy(this.block, this.filled, from)
      from += copied
      this.filled += copied
      if (this.filled === BLOCK) this.closeBlock()
    }
  }

  private closeBlock(): void {
    if (this.block !== null) this.pieces.push(this.block.subarray(0, this.filled))
    this.block = null
    this.filled = 0
  }
}
