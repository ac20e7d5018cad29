/**
 * Collects bytes that arrive in pieces of any size.
 *
 * Small pieces are copied together, so a client that sends single bytes does not cost an object for each.
 *
 * Once the bytes exceed 1 MB they go into memory that is reserved for the maximum size, so they are never held twice.
 * The system provides such memory page by page when it is written to: unused pages cost nothing.
 *
 * From 16 KB on, there is room before the bytes for header fields, so that these can be prepended in place
 * (`joinInPlace`).
 */

import { setImmediate as nextTurn } from 'node:timers/promises'

/** Pieces that are stored as they are; after these only large ones are. */
const MAX_SMALL_PIECES = 32
const LARGE_PIECE = 4096
const BLOCK_BYTES = 65_536
/** Bytes from which on memory is reserved for the maximum. */
const RESERVE_FROM_BYTES = 1_048_576
/** Free bytes in front of the reserved memory. */
const HEADROOM_BYTES = 65_536
/** Free bytes in front of fewer bytes than are reserved for, and from how many on. */
const SMALL_HEADROOM_BYTES = 4_096
const HEADROOM_FROM_BYTES = 16_384

/** Bytes that are copied in one turn, where that takes several. */
const STEP_BYTES = 1_048_576

/** Memory of one message alone, with room in front. */
const memoriesWithHeadroom = new WeakSet<ArrayBufferLike>()

export class BytePieces {
  bytes = 0
  private pieces: Buffer[] = []
  /** The last piece, while it has room for more. */
  private block: Buffer | null = null
  private filled = 0
  private reservedMemory: Buffer | null = null

  /** `maxBytes` is the maximum in total. Null if it is not known. */
  constructor(private readonly maxBytes: number | null = null) {}

  add(chunk: Buffer): void {
    if (this.reservedMemory === null && this.maxBytes !== null && this.bytes + chunk.length > RESERVE_FROM_BYTES)
      this.reserve(this.maxBytes)
    if (this.reservedMemory !== null) chunk.copy(this.reservedMemory, this.bytes)
    this.bytes += chunk.length
    if (this.reservedMemory !== null) return
    const mayStay = this.pieces.length < MAX_SMALL_PIECES || chunk.length >= LARGE_PIECE
    if (mayStay && this.block === null) this.pieces.push(chunk)
    else this.copyToBlocks(chunk)
  }

  /** All bytes, in memory that nothing else shares. */
  join(): Buffer {
    if (this.reservedMemory !== null) return this.reservedMemory.subarray(0, this.bytes)
    const hasHeadroom = this.bytes >= HEADROOM_FROM_BYTES
    const joined = hasHeadroom
      ? allocateWithHeadroom(this.bytes, SMALL_HEADROOM_BYTES)
      : Buffer.allocUnsafeSlow(this.bytes)
    this.copyTo(joined)
    return joined
  }

  private reserve(maxBytes: number): void {
    const joined = allocateWithHeadroom(maxBytes)
    this.copyTo(joined)
    const { bytes } = this
    this.clear()
    this.bytes = bytes
    this.reservedMemory = joined
  }

  private copyTo(joined: Buffer): void {
    this.closeBlock()
    copyPieces(this.pieces, joined)
  }

  clear(): void {
    this.pieces = []
    this.block = null
    this.filled = 0
    this.bytes = 0
    this.reservedMemory = null
  }

  /** Fills each block completely, so that no order of small and large pieces wastes memory. */
  private copyToBlocks(chunk: Buffer): void {
    for (let from = 0; from < chunk.length; ) {
      this.block ??= Buffer.allocUnsafeSlow(BLOCK_BYTES)
      const copied = chunk.copy(this.block, this.filled, from)
      from += copied
      this.filled += copied
      if (this.filled === BLOCK_BYTES) this.closeBlock()
    }
  }

  private closeBlock(): void {
    if (this.block !== null) this.pieces.push(this.block.subarray(0, this.filled))
    this.block = null
    this.filled = 0
  }
}

function allocateWithHeadroom(bytes: number, headroom = HEADROOM_BYTES): Buffer {
  const memory = Buffer.allocUnsafeSlow(headroom + bytes)
  memoriesWithHeadroom.add(memory.buffer)
  return memory.subarray(headroom)
}

/** Nothing else shares the memory, and the bytes before these may be overwritten, so `joinInPlace` may be called. */
export function hasHeadroom({ buffer }: Uint8Array): boolean {
  return memoriesWithHeadroom.has(buffer)
}

/** Call it for what `concatWithHeadroom` has returned on another thread. */
export function restoreHeadroom({ buffer, byteOffset }: Uint8Array): void {
  if (byteOffset === HEADROOM_BYTES) memoriesWithHeadroom.add(buffer)
}

/** All pieces in one, in memory that nothing else shares. */
export function concatAlone(pieces: readonly Buffer[]): Buffer {
  const bytes = pieces.reduce((sum, { length }) => sum + length, 0)
  return copyPieces(pieces, Buffer.allocUnsafeSlow(bytes))
}

/**
 * Does what `concatAlone` does, a megabyte in a turn of the event loop. The pieces must stay as they are until it
 * resolves.
 */
export async function concatInSteps(pieces: readonly Buffer[]): Promise<Buffer> {
  const joined = Buffer.allocUnsafeSlow(pieces.reduce((sum, { length }) => sum + length, 0))
  let at = 0
  for (const piece of pieces) {
    for (let from = 0; from < piece.length; from += STEP_BYTES) {
      const copied = piece.copy(joined, at, from, from + STEP_BYTES)
      at += copied
      if (copied === STEP_BYTES) await nextTurn()
    }
  }
  return joined
}

/** Joins all pieces. From 1 MB on, the result has separate memory, with room before it for header fields. */
export function concatWithHeadroom(pieces: readonly Buffer[]): Buffer {
  const bytes = pieces.reduce((sum, { length }) => sum + length, 0)
  if (bytes < RESERVE_FROM_BYTES) return Buffer.concat(pieces)
  return copyPieces(pieces, allocateWithHeadroom(bytes))
}

function copyPieces(pieces: readonly Buffer[], joined: Buffer): Buffer {
  let at = 0
  for (const piece of pieces) at += piece.copy(joined, at)
  return joined
}

/**
 * Joins pieces without copying the large ones. The last pieces must be adjacent in the same memory, with room for the
 * others before them. Null if that is not so, and the pieces have to be copied.
 */
export function joinInPlace(all: readonly Uint8Array[]): Buffer | null {
  const pieces = all.filter(({ byteLength }) => byteLength > 0)
  const last = pieces.at(-1)
  if (last === undefined) return null
  const { buffer } = last
  let start = last.byteOffset
  let at = pieces.length - 1
  for (let before = pieces[at - 1]; before !== undefined && before.buffer === buffer; before = pieces[at - 1]) {
    if (before.byteOffset + before.byteLength !== start) return null
    start = before.byteOffset
    at -= 1
  }
  const end = last.byteOffset + last.byteLength
  const front = pieces.slice(0, at)
  const size = front.reduce((sum, { byteLength }) => sum + byteLength, 0)
  // Nothing is written unless all of it fits: the pieces must stay as they are for a copy.
  if (size > start || front.some((piece) => piece.buffer === buffer)) return null
  const memory = Buffer.from(buffer)
  let to = start - size
  for (const piece of front) {
    memory.set(piece, to)
    to += piece.byteLength
  }
  return memory.subarray(start - size, end)
}
