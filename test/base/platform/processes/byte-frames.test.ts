/** Frames arrive as they were written, however the stream divides them. */
import { PassThrough } from 'node:stream'
import { setImmediate as nextTurn } from 'node:timers/promises'
import t from 'tap'
import { takeBuffered } from '../../../../src/base/platform/buffered-bytes.js'
import { createFrameReader, FrameWriter } from '../../../../src/base/platform/processes/byte-frames.js'

const limits = { value: 100_000, bytes: 100_000 }

/** Around the size up to which a frame is one piece: its pieces are copied or written by themselves. */
const sizes = [0, 1, 4_096, 16_373, 16_374, 16_375, 16_384, 16_385, 50_000]

t.test('frames of all sizes are read in any pieces', async (t) => {
  for (const step of [1, 7, 1_000, 1_000_000]) {
    const stream = new PassThrough({ highWaterMark: 1_000_000 })
    const writer = new FrameWriter(stream)
    for (const size of sizes) writer.write({ size, name: 'ä' }, [Buffer.alloc(size, 1), Buffer.alloc(size % 5, 2)])
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

t.test('a frame of megabytes is written in several turns, and in front of the next', async (t) => {
  const stream = new PassThrough({ highWaterMark: 10_000_000 })
  const frames = new FrameWriter(stream)
  const large = Buffer.alloc(1_000_000, 1)
  frames.write('large', [large, large.subarray(0, 5)])
  frames.write('small', [Buffer.from('x')])
  const read: (readonly [unknown, number])[] = []
  const onChunk = createFrameReader({ value: 100, bytes: 10_000_000 }, (value, bytes) =>
    read.push([value, bytes.length]),
  )
  t.ok(stream.readableLength < large.length, 'not all of it in this turn')
  for (let turn = 0; turn < 100 && read.length < 2; turn += 1) {
    await nextTurn()
    onChunk(takeBuffered(stream))
  }
  t.strictSame(read, [
    ['large', 1_000_005],
    ['small', 1],
  ])
})

t.test('a frame beyond the limits is refused', async (t) => {
  for (const [value, bytes] of [
    ['x'.repeat(100_000), 0],
    ['', 100_001],
  ] as const) {
    const stream = new PassThrough({ highWaterMark: 1_000_000 })
    new FrameWriter(stream).write(value, [Buffer.alloc(bytes)])
    t.throws(() => createFrameReader(limits, () => t.fail('it was read'))(takeBuffered(stream)), {
      name: 'FrameTooLarge',
    })
  }
})
