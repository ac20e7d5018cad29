/**
 * The bytes of one message, and who holds them.
 *
 * As the value of a write they reach the writer in one of three ways. `copied`: it gets a copy, and they stay here.
 * `lent`: their memory goes to the writer and comes back with its answer, whether the commit succeeded or not; until
 * then nothing else may use that memory. `moved`: they may be in several pieces, which only the writer joins, and the
 * memory of pieces that have it alone is lost to us even if the commit fails, so a message of many megabytes is never
 * held twice. Less than `TRANSFER_FROM_BYTES` are copied in any case. Bytes that are `onDisk` were never here.
 *
 * The threads that authenticate inbound mail borrow a message in the same way (`lent`): it goes to the thread and back.
 *
 * Bytes that are not here are not read by mistake: `read` throws, and `kept` says that they are to be read from the
 * disk.
 */
import { freeMemory } from '../../platform/memory/free-memory.js'

/** A message of at least this many bytes is moved to the writer, and is not held for its delivery. */
export const MOVE_FROM_BYTES = 1_048_576

/** Memory of at least this many bytes is lent to the writer; a copy of less costs no more. */
export const TRANSFER_FROM_BYTES = 16_384

export class MessageBytes {
  static readonly onDisk = new MessageBytes('moved', [])

  static copied(bytes: Buffer): MessageBytes {
    return new MessageBytes('copied', [bytes])
  }

  static lent(bytes: Buffer): MessageBytes {
    return new MessageBytes('lent', [bytes])
  }

  static moved(pieces: readonly Uint8Array[]): MessageBytes {
    return new MessageBytes('moved', pieces)
  }

  readonly length: number

  private constructor(
    readonly way: 'copied' | 'lent' | 'moved',
    private held: readonly Uint8Array[],
  ) {
    this.length = lengthOf(held)
  }

  get pieces(): readonly Uint8Array[] {
    return this.held
  }

  /** Memory of them is lent, was moved or was freed. */
  get isGone(): boolean {
    return lengthOf(this.held) !== this.length
  }

  /** The bytes that a commit has left here. Null if they are to be read from the disk. */
  get kept(): Buffer | null {
    return this.way === 'moved' || this.isGone ? null : this.read()
  }

  /** Returns them in one piece; several pieces are copied for that. Throws if they are gone. */
  read(): Buffer {
    if (this.isGone) throw new Error('the bytes of a message are read, and another thread has them')
    const [first, ...others] = this.held
    return first === undefined || others.length > 0 ? Buffer.concat(this.held) : toBuffer(first)
  }

  /** The memory that was lent is here again. */
  giveBack(bytes: Uint8Array): void {
    this.held = [bytes]
  }

  shares({ buffer }: Uint8Array): boolean {
    return this.held.some((piece) => piece.buffer === buffer)
  }

  /**
   * Frees them at once, if they are many (`freeMemory`). Memory that has gone elsewhere is not touched. The caller is
   * their last reader.
   */
  free(): void {
    freeMemory(...this.held)
  }
}

function lengthOf(pieces: readonly Uint8Array[]): number {
  return pieces.reduce((sum, { length }) => sum + length, 0)
}

function toBuffer(bytes: Uint8Array): Buffer {
  return Buffer.isBuffer(bytes) ? bytes : Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength)
}
