/** Frames arrive as they were written, however the stream divides them. */
import { PassThrough } from 'node:stream'
import t from 'tap'
import { takeBuffered } from '../../../src/platform/buffered-bytes.js'
import { createFrameReader, writeFrame } from '../../../src/platform/processes/byte-frames.js'

const limits = { value: 100_000, bytes: 100_000 }

/** Around the size up to which a frame is one piece: its pieces are copied or written by themselves. */
const sizes = [0, 1, 4_096, 16_373, 16_374, 16_375, 16_384, 16_385, 50_000]

t.test('frames of all sizes are read in any pieces', async (t) => {
  for (const step of [1, 7, 1_000, 1_000_000]) {
    const stream = new PassThrough({ highWaterMark: 1_000_000 })
    for (const size of sizes)
      writeFrame(stream, { size, name: 'ä' }, [Buffer.alloc(size, 1), Buffer.alloc(size % 5, 2)])
    const written = takeBuffered(stream)
    const frames: (readonly [unknown, Buffer])[] = []
    const read = createFrameReader(limits, (value, bytes) => frames.push([value, bytes]))
    for (let at = 0; at < written.length; at += step) read(written.subarray(at, at + step))
    t.strictSame(
      frames,
      sizes.map((size) => [{ size, name: 'ä' }, Buffer.concat([Buffer.alloc(size, 1), Buffer.alloc(size % 5, 2)])]),
      `${step} octets at once`,
    )
  }
})

t.test('a frame says when its bytes are no longer needed', async (t) => {
  for (const size of [10, 50_000]) {
    const stream = new PassThrough({ highWaterMark: 1_000_000 })
    await new Promise<void>((resolve) => writeFrame(stream, 'value', [Buffer.alloc(size)], resolve))
    t.pass(`${size} octets`)
  }
})

t.test('a frame beyond the limits is refused', async (t) => {
  for (const [value, bytes] of [
    ['x'.repeat(100_000), 0],
    ['', 100_001],
  ] as const) {
    const stream = new PassThrough({ highWaterMark: 1_000_000 })
    writeFrame(stream, value, [Buffer.alloc(bytes)])
    t.throws(() => createFrameReader(limits, () => t.fail('it was read'))(takeBuffered(stream)), {
      name: 'FrameTooLarge',
    })
  }
})
