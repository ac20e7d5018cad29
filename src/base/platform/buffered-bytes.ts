/**
 * Takes all that a stream in paused mode holds, at once.
 *
 * `read()` without a size returns all of it only up to Node.js 25; since 26 it returns the first chunk.
 */
import type { Readable } from 'node:stream'

/** With nothing held, the stream is made to read on. */
export function takeBuffered(stream: Readable): Buffer {
  return stream.read(stream.readableLength) ?? Buffer.alloc(0)
}
