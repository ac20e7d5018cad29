/**
 * The bytes of one DATA, whole and in memory, within the size limit and the memory budget.
 *
 * What is over a limit is read to its end and thrown away, so that the session stays in
 * step and the client gets its answer (RFC 5321 section 4.5.3.1.10).
 *
 * The result owns its memory, so that it may be handed to another thread.
 */
import type { Readable } from 'node:stream'
import { Refusal } from '../mail/refusal.js'
import { BytePieces } from '../platform/byte-pieces.js'
import type { MemoryBudget } from '../platform/memory-budget.js'

export interface Collected {
  readonly raw: Buffer
  /** Gives the memory back to the budget; to be called once. */
  readonly release: () => void
}

/** The client left before the end of its message. */
export class ClientGone extends Error {
  override name = 'ClientGone'
}

/** Resolves at the end of the stream. Rejects with a Refusal then, with ClientGone when the stream breaks off. */
export function collect(stream: Readable, maxSize: number, budget: MemoryBudget): Promise<Collected> {
  const pieces = new BytePieces()
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
