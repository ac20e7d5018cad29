/**
 * Frames on a stream between two processes: a JSON value, and opaque bytes.
 *
 * A frame is four octets with the length of the JSON, six with the length of the bytes, then both. The bytes are
 * collected in memory that nothing else uses and not copied again. The value is JSON because parsing it is safe even
 * when the other process is compromised.
 */
import type { Writable } from 'node:stream'

const HEADER_BYTES = 10

interface FrameLimits {
  readonly value: number
  readonly bytes: number
}

class FrameTooLarge extends Error {
  override name = 'FrameTooLarge'
}

/** Octets of a frame up to which its pieces are copied into one. A write of each costs more. */
const MAX_COPIED = 16_384

/** Octets that are written in one turn of the event loop. */
const STEP_BYTES = 262_144

/**
 * Writes frames to a stream that nothing else writes to. A frame of megabytes takes several turns of the event loop.
 */
export class FrameWriter {
  /** The octets that follow those that are being written. */
  private readonly pending: Uint8Array[] = []
  private isWriting = false

  constructor(private readonly stream: Writable) {}

  write(value: unknown, bytes: readonly Uint8Array[] = []): void {
    const json = JSON.stringify(value)
    const jsonLength = Buffer.byteLength(json)
    const bytesLength = bytes.reduce((sum, { length }) => sum + length, 0)
    const isCopied = jsonLength + bytesLength <= MAX_COPIED
    const frame = Buffer.allocUnsafe(HEADER_BYTES + jsonLength + (isCopied ? bytesLength : 0))
    frame.writeUInt32BE(jsonLength, 0)
    frame.writeUIntBE(bytesLength, 4, 6)
    frame.write(json, HEADER_BYTES)
    if (isCopied) {
      let at = HEADER_BYTES + jsonLength
      for (const piece of bytes) {
        frame.set(piece, at)
        at += piece.length
      }
    }
    this.pending.push(frame, ...(isCopied ? [] : bytes))
    if (!this.isWriting) this.writeStep()
  }

  private writeStep(): void {
    let written = 0
    this.stream.cork()
    while (written < STEP_BYTES) {
      const piece = this.pending.shift()
      if (piece === undefined) break
      const part = piece.subarray(0, STEP_BYTES - written)
      if (part.length < piece.length) this.pending.unshift(piece.subarray(part.length))
      written += part.length
      this.isWriting = this.pending.length > 0
      this.stream.write(part, this.isWriting && written >= STEP_BYTES ? this.onWritten : undefined)
    }
    this.stream.uncork()
  }

  /** The stream may call it in the turn of the write. */
  private readonly onWritten = (error?: Error | null): void => {
    if (error == null) setImmediate(() => this.writeStep())
    else this.pending.length = 0
  }
}

/**
 * Returns a function that is given the chunks of the stream; it throws FrameTooLarge. The other end of the stream
 * is ours, so its values are trusted to be of type `Value`.
 */
export function createFrameReader<Value>(
  limits: FrameLimits,
  onFrame: (value: Value, bytes: Buffer) => void,
): (chunk: Buffer) => void {
  const head = Buffer.alloc(HEADER_BYTES)
  let json = Buffer.alloc(0)
  let bytes = Buffer.alloc(0)
  let filled = 0

  function startFrame(): void {
    const lengths = { value: head.readUInt32BE(0), bytes: head.readUIntBE(4, 6) }
    if (lengths.value > limits.value || lengths.bytes > limits.bytes) {
      throw new FrameTooLarge(`a frame of ${lengths.value} and ${lengths.bytes} octets`)
    }
    json = Buffer.allocUnsafeSlow(lengths.value)
    bytes = Buffer.allocUnsafeSlow(lengths.bytes)
  }

  /** The part of the frame that is incomplete, and how far it is filled. */
  function findTarget(): { readonly part: Buffer; readonly at: number } {
    if (filled < HEADER_BYTES) return { part: head, at: filled }
    const after = filled - HEADER_BYTES
    return after < json.length ? { part: json, at: after } : { part: bytes, at: after - json.length }
  }

  return (chunk) => {
    for (let from = 0; from < chunk.length; ) {
      const { part, at } = findTarget()
      const copied = chunk.copy(part, at, from)
      from += copied
      filled += copied
      if (filled === HEADER_BYTES) startFrame()
      if (filled < HEADER_BYTES || filled < HEADER_BYTES + json.length + bytes.length) continue
      const frame = { json, bytes }
      filled = 0
      json = Buffer.alloc(0)
      bytes = Buffer.alloc(0)
      onFrame(JSON.parse(frame.json.toString()), frame.bytes)
    }
  }
}
