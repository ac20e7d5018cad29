/** Splits a stream of bytes into lines. A line over the limit is dropped, and reported as null when it ends. */

const LINE_FEED = 0x0a

export class LineSplitter {
  private readonly pieces: Buffer[] = []
  private size = 0

  constructor(private readonly maxBytes: number) {}

  *push(chunk: Buffer): Generator<string | null> {
    let start = 0
    for (let end = chunk.indexOf(LINE_FEED); end !== -1; end = chunk.indexOf(LINE_FEED, start)) {
      this.add(chunk.subarray(start, end))
      yield this.take()
      start = end + 1
    }
    this.add(chunk.subarray(start))
  }

  /** The last line, which has no end. Empty if there is none. */
  finish(): string | null {
    return this.take()
  }

  private add(piece: Buffer): void {
    this.size += piece.length
    if (this.size <= this.maxBytes) this.pieces.push(piece)
    else this.pieces.length = 0
  }

  private take(): string | null {
    const line = this.size > this.maxBytes ? null : Buffer.concat(this.pieces).toString()
    this.pieces.length = 0
    this.size = 0
    return line
  }
}
