/**
 * Frames on a stream between two processes: a JSON value, and opaque bytes.
 *
 * A frame is four octets with the length of the JSON, six with the length of the bytes, then both. The bytes
 * are collected in memory of their own and not copied again. The value is JSON because parsing it is safe even
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

/** Octets of a frame up to which its pieces are copied into one: a write of each costs more. */
const MAX_COPIED = 16_384

/** `written` is called once `bytes` are no longer needed. */
export function writeFrame(
  stream: Writable,
  value: unknown,
  bytes: readonly Uint8Array[] = [],
  written?: () => void,
): void {
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
    stream.write(frame, written)
  } else writePieces(stream, [frame, ...bytes], written)
}

function writePieces(stream: Writable, pieces: readonly Uint8Array[], written?: () => void): void {
  stream.cork()
  pieces.forEach((piece, place) => {
    stream.write(piece, place === pieces.length - 1 ? written : undefined)
  })
  stream.uncork()
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
