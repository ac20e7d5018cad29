/**
 * Follows the committed part of a write-ahead log file from a position on, in pieces of bounded memory.
 *
 * `open` looks at the header; `read` returns the bytes up to a frame that ends a commit, so that nothing is passed on
 * that a rollback could still replace. A commit larger than a piece is returned in several pieces, once its end was seen.
 */
import { closeSync, openSync, readSync } from 'node:fs'
import { errorCodeOf } from '../../platform/errors.js'
import {
  type Checksum,
  frameBytes,
  parseWalHeader,
  readFrame,
  statedChecksum,
  WAL_HEADER_BYTES,
  type WalHeader,
} from './wal-frames.js'

const SCAN_BYTES = 1 << 20
/** Bytes of one piece. */
const MAX_PIECE = 4 << 20

export interface WalPiece {
  /** The log that the bytes belong to. */
  readonly header: WalHeader
  /** Where the bytes begin in the file. */
  readonly offset: number
  readonly bytes: Buffer
  /** The bytes end with a commit. */
  readonly complete: boolean
}

/** How far a log was read. `checksum` is that of the log up to there. */
export interface LogPosition extends WalHeader {
  readonly offset: number
}

export class WalReader {
  private readonly file: string
  private header: WalHeader | null = null
  private offset = 0
  private checksum: Checksum = [0, 0]
  private readonly buffer = Buffer.allocUnsafe(SCAN_BYTES)

  constructor(file: string) {
    this.file = file
  }

  position(): LogPosition | null {
    if (this.header === null) return null
    const { salts, bigEndian, pageSize } = this.header
    return { salts, bigEndian, pageSize, offset: this.offset, checksum: this.checksum }
  }

  /** Frames that were read of the present log. */
  countFrames(): number {
    if (this.header === null || this.offset === 0) return 0
    return (this.offset - WAL_HEADER_BYTES) / frameBytes(this.header)
  }

  /**
   * Continues at a position of an earlier process. False if the log was restarted since, or its frames differ from
   * those that were read; the reader then stands at the beginning.
   */
  resume({ salts, offset, checksum }: Pick<LogPosition, 'salts' | 'offset' | 'checksum'>): boolean {
    const header = this.readHeader()
    if (header === null || header.salts !== salts) return false
    const size = frameBytes(header)
    const frame = Buffer.alloc(size)
    if (this.readAt(offset - size, frame) !== size) return false
    const stated = statedChecksum(frame)
    if (stated[0] !== checksum[0] || stated[1] !== checksum[1]) return false
    this.header = header
    this.offset = offset
    this.checksum = checksum
    return true
  }

  /** Stands in the log with these salts, which was not restarted. */
  isAt(salts: string): boolean {
    return this.header?.salts === salts && this.readHeader()?.salts === salts
  }

  /** Stands at the beginning of the log. */
  reset(): void {
    this.header = null
    this.offset = 0
  }

  /** The pieces up to the last commit of the file as it is now. */
  *read(): Generator<WalPiece> {
    const header = this.readHeader()
    if (header === null) return
    if (header.salts !== this.header?.salts) {
      this.header = header
      this.offset = 0
      this.checksum = header.checksum
    }
    const end = this.findEnd(header)
    while (this.offset < end) {
      const bytes = Buffer.allocUnsafe(Math.min(end - this.offset, this.pieceBytes(header)))
      if (this.readAt(this.offset, bytes) !== bytes.length) return
      // The log was restarted in between: they may belong to the next log. What was read of this one is in the database
      // file.
      if (!this.isAt(header.salts)) return
      const piece = { header, offset: this.offset, bytes, complete: this.offset + bytes.length === end }
      yield piece
      // This must not come earlier: a piece that was not taken is read again.
      this.offset += bytes.length
      this.checksum = statedChecksum(bytes.subarray(bytes.length - frameBytes(header)))
    }
  }

  /** A number of whole frames; the first piece has the header too. */
  private pieceBytes(header: WalHeader): number {
    const size = frameBytes(header)
    return (this.offset === 0 ? WAL_HEADER_BYTES : 0) + Math.floor(MAX_PIECE / size) * size
  }

  /** Where the last commit ends. */
  private findEnd(header: WalHeader): number {
    const size = frameBytes(header)
    let found = this.offset
    let checksum = this.checksum
    let offset = Math.max(this.offset, WAL_HEADER_BYTES)
    for (;;) {
      const filled = this.readAt(offset, this.buffer)
      const bytes = this.buffer.subarray(0, filled)
      let at = 0
      for (let next = readFrame(bytes, at, header, checksum); next !== null; ) {
        at += size
        checksum = next.checksum
        if (next.frame.databasePages > 0) found = offset + at
        next = readFrame(bytes, at, header, checksum)
      }
      offset += at
      if (at === 0 || filled < this.buffer.length) return found
    }
  }

  private readHeader(): WalHeader | null {
    const bytes = Buffer.alloc(WAL_HEADER_BYTES)
    return this.readAt(0, bytes) === bytes.length ? parseWalHeader(bytes) : null
  }

  /** SQLite locks no byte of this file, so it may be opened and closed while there are connections. */
  private readAt(position: number, into: Buffer): number {
    let file: number
    try {
      file = openSync(this.file, 'r')
    } catch (error) {
      if (errorCodeOf(error) === 'ENOENT') return 0
      throw error
    }
    try {
      let filled = 0
      while (filled < into.length) {
        const count = readSync(file, into, filled, into.length - filled, position + filled)
        if (count === 0) break
        filled += count
      }
      return filled
    } finally {
      closeSync(file)
    }
  }
}
