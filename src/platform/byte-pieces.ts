/**
 * Bytes that come in pieces of any size, until they are whole.
 *
 * Small pieces are copied together: a client that sends byte by byte must not cost us an
 * object for each.
 */

/** Pieces that are kept as they come; after these only large ones are. */
const MAX_SMALL_PIECES = 32
const LARGE = 4096
const BLOCK = 65_536

export class BytePieces {
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

  /** All of them, in memory of its own. */
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
