/**
 * Frames on a stream between two processes: a value as JSON, and bytes that are not looked at.
 *
 * Four octets length of the JSON, six octets length of the bytes, then both. The bytes of a frame
 * gather in memory of their own, never copied again.
 *
 * JSON, because it can be read whatever the other side has become.
 */
import type { Writable } from 'node:stream'

const HEADER_BYTES = 10

export interface FrameLimits {
  readonly value: number
  readonly bytes: number
}

export class FrameTooLarge extends Error {
  override name = 'FrameTooLarge'
}

/** Calls back once `bytes` are not needed any more. */
export function writeFrame(
  stream: Writable,
  value: unknown,
  bytes: readonly Uint8Array[] = [],
  written?: () => void,
): void {
  const json = Buffer.from(JSON.stringify(value))
  const head = Buffer.allocUnsafe(HEADER_BYTES)
  head.writeUInt32BE(json.length, 0)
  head.writeUIntBE(
    bytes.reduce((sum, { length }) => sum + length, 0),
    4,
    6,
  )
  stream.cork()
  stream.write(head)
  const pieces = [json, ...bytes]
  pieces.forEach((piece, place) => {
    stream.write(piece, place === pieces.length - 1 ? written : undefined)
  })
  stream.uncork()
}

/**
 * A function that takes the chunks of a stream as they come; throws FrameTooLarge. The other end of the
 * stream is ours, so its values are trusted to be of type `Value`.
 */
export function createFrameReader<Value>(
  limits: FrameLimits,
  take: (value: Value, bytes: Buffer) => void,
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

  /** The part of the frame that is to be filled now, and how far. */
  function target(): { readonly part: Buffer; readonly at: number } {
    if (filled < HEADER_BYTES) return { part: head, at: filled }
    const after = filled - HEADER_BYTES
    return after < json.length ? { part: json, at: after } : { part: bytes, at: after - json.length }
  }

  return (chunk) => {
    for (let from = 0; from < chunk.length; ) {
      const { part, at } = target()
      const copied = chunk.copy(part, at, from)
      from += copied
      filled += copied
      if (filled === HEADER_BYTES) startFrame()
      if (filled < HEADER_BYTES || filled < HEADER_BYTES + json.length + bytes.length) continue
      const frame = { json, bytes }
      filled = 0
      json = Buffer.alloc(0)
      bytes = Buffer.alloc(0)
      take(JSON.parse(frame.json.toString()), frame.bytes)
    }
  }
}
