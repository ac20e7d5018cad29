/**
 * Bytes that come in pieces of any size, until they are whole.
 *
 * Small pieces are copied together: a client that sends byte by byte must not cost us an
 * object for each.
 *
 * What becomes large is copied into memory for the most that may come as it comes, so that it is
 * never held twice. The system gives such memory page by page as it is written to: what is
 * reserved and not needed costs nothing. In front of the bytes is room for some more, so that header
 * fields can be put on top in place (`joinedInPlace`).
 */

/** Pieces that are kept as they come; after these only large ones are. */
const MAX_SMALL_PIECES = 32
const LARGE_PIECE = 4096
const BLOCK_BYTES = 65_536
/** Bytes from which on memory is reserved for the whole. */
const RESERVE_FROM_BYTES = 1_048_576
/** Bytes in front of what is reserved. */
const HEADROOM_BYTES = 65_536

export class BytePieces {
  bytes = 0
  private pieces: Buffer[] = []
  /** The last piece, while it has room for more. */
  private block: Buffer | null = null
  private filled = 0
  private reservedMemory: Buffer | null = null

  /** `most`: bytes that may come in all; null: it is not known. */
  constructor(private readonly maxBytes: number | null = null) {}

  add(chunk: Buffer): void {
    if (this.reservedMemory === null && this.maxBytes !== null && this.bytes + chunk.length > RESERVE_FROM_BYTES)
      this.reserve(this.maxBytes)
    if (this.reservedMemory !== null) chunk.copy(this.reservedMemory, this.bytes)
    this.bytes += chunk.length
    if (this.reservedMemory !== null) return
    const asItIs = this.pieces.length < MAX_SMALL_PIECES || chunk.length >= LARGE_PIECE
    if (asItIs && this.block === null) this.pieces.push(chunk)
    else this.copyToBlocks(chunk)
  }

  /** All of them, in memory that is no part of any other's. */
  join(): Buffer {
    if (this.reservedMemory !== null) return this.reservedMemory.subarray(0, this.bytes)
    const whole = Buffer.allocUnsafeSlow(this.bytes)
    this.copyTo(whole)
    return whole
  }

  private reserve(most: number): void {
    const whole = Buffer.allocUnsafeSlow(HEADROOM_BYTES + most).subarray(HEADROOM_BYTES)
    this.copyTo(whole)
    const { bytes } = this
    this.clear()
    this.bytes = bytes
    this.reservedMemory = whole
  }

  private copyTo(whole: Buffer): void {
    this.closeBlock()
    let at = 0
    for (const piece of this.pieces) at += piece.copy(whole, at)
  }

  clear(): void {
    this.pieces = []
    this.block = null
    this.filled = 0
    this.bytes = 0
    this.reservedMemory = null
  }

  /** Into blocks that are filled to the end, so that no order of small and large pieces wastes memory. */
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

/**
 * All pieces as one, without a copy where that can be: the last ones follow each other in the same
 * memory, and in front of them is room for the others. Null: they have to be copied.
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
  const memory = Buffer.from(buffer)
  for (; at > 0; at -= 1) {
    const piece = pieces[at - 1] ?? last
    if (piece.buffer === buffer || piece.byteLength > start) return null
    start -= piece.byteLength
    memory.set(piece, start)
  }
  return memory.subarray(start, end)
}
