/**
 * The messages of PostgreSQL's protocol that a pipeline consists of, as the bytes to send.
 *
 * Small values are gathered in blocks of memory that runs share one after the other. Large bytes are not copied: they
 * are pieces of their own between the blocks, so they may not be changed before they are sent.
 */
import { MessageBytes } from '../db/message-bytes.js'

const BLOCK_BYTES = 65_536
/** Bytes of at least this size are sent from where they are. */
const REFERENCE_FROM_BYTES = 4_096

/** The first byte of a message. */
const codes = { parse: 0x50, bind: 0x42, describe: 0x44, execute: 0x45, close: 0x43, sync: 0x53 }
/** The letter that says that a statement is described or closed, not a portal. */
const STATEMENT = 0x53

/** What a parameter is once `toSendable` has accepted it. */
export type Sendable = string | null | Uint8Array | MessageBytes

export class MessageWriter {
  private block = Buffer.allocUnsafe(BLOCK_BYTES)
  /** The bytes of the block from here to `end` are not taken yet. */
  private start = 0
  private end = 0
  private pieces: Uint8Array[] = []
  /** Bytes in all pieces before the block's untaken part. */
  private passed = 0
  private header = { block: this.block, at: 0, total: 0 }

  parse(name: string, sql: string): void {
    this.open(codes.parse)
    this.putWord(name)
    this.putWord(sql)
    this.putInt16(0)
    this.seal()
  }

  describeStatement(name: string): void {
    this.open(codes.describe)
    this.putByte(STATEMENT)
    this.putWord(name)
    this.seal()
  }

  bind(name: string, parameters: readonly Sendable[]): void {
    this.open(codes.bind)
    this.putWord('')
    this.putWord(name)
    this.putInt16(parameters.length)
    for (const value of parameters) this.putInt16(value === null || typeof value === 'string' ? 0 : 1)
    this.putInt16(parameters.length)
    for (const value of parameters) this.putValue(value)
    this.putInt16(0)
    this.seal()
  }

  execute(): void {
    this.open(codes.execute)
    this.putWord('')
    this.putInt32(0)
    this.seal()
  }

  closeStatement(name: string): void {
    this.open(codes.close)
    this.putByte(STATEMENT)
    this.putWord(name)
    this.seal()
  }

  sync(): void {
    this.open(codes.sync)
    this.seal()
  }

  /** Gives what was written since the last call. */
  take(): readonly Uint8Array[] {
    this.endPiece()
    const { pieces } = this
    this.pieces = []
    this.passed = 0
    return pieces
  }

  private putValue(value: Sendable): void {
    if (value === null) this.putInt32(-1)
    else if (typeof value === 'string') this.putText(value)
    else if (value instanceof MessageBytes) this.putPieces(value.pieces, value.length)
    else this.putPieces([value], value.length)
  }

  private putText(text: string): void {
    if (text.length >= REFERENCE_FROM_BYTES) {
      const bytes = Buffer.from(text)
      this.putPieces([bytes], bytes.length)
      return
    }
    this.reserve(4 + text.length * 3)
    const length = this.block.write(text, this.end + 4)
    this.putInt32(length)
    this.end += length
  }

  private putPieces(pieces: readonly Uint8Array[], length: number): void {
    this.putInt32(length)
    for (const piece of pieces) {
      if (piece.length >= REFERENCE_FROM_BYTES) this.refer(piece)
      else this.copy(piece)
    }
  }

  private copy(bytes: Uint8Array): void {
    this.reserve(bytes.length)
    this.block.set(bytes, this.end)
    this.end += bytes.length
  }

  private refer(bytes: Uint8Array): void {
    this.endPiece()
    this.pieces.push(bytes)
    this.passed += bytes.length
  }

  /** A text with the zero byte that ends it. */
  private putWord(text: string): void {
    this.reserve(text.length * 3 + 1)
    this.end += this.block.write(text, this.end)
    this.putByte(0)
  }

  private putByte(value: number): void {
    this.reserve(1)
    this.block[this.end++] = value
  }

  private putInt16(value: number): void {
    this.reserve(2)
    this.end = this.block.writeUInt16BE(value, this.end)
  }

  private putInt32(value: number): void {
    this.reserve(4)
    this.end = this.block.writeInt32BE(value, this.end)
  }

  private open(code: number): void {
    this.reserve(5)
    this.block[this.end] = code
    this.header = { block: this.block, at: this.end + 1, total: this.total + 1 }
    this.end += 5
  }

  /** Writes the length of the message into its header, which may lie in an earlier block. */
  private seal(): void {
    this.header.block.writeInt32BE(this.total - this.header.total, this.header.at)
  }

  private get total(): number {
    return this.passed + this.end - this.start
  }

  private reserve(bytes: number): void {
    if (this.end + bytes <= this.block.length) return
    this.endPiece()
    this.block = Buffer.allocUnsafe(Math.max(BLOCK_BYTES, bytes))
    this.start = 0
    this.end = 0
  }

  private endPiece(): void {
    if (this.end === this.start) return
    this.pieces.push(this.block.subarray(this.start, this.end))
    this.passed += this.end - this.start
    this.start = this.end
  }
}
