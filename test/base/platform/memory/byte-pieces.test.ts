/** Bytes that arrive in pieces: joined in memory of their own, with header fields put in front in place. */
import t from 'tap'
import {
  BytePieces,
  concatAlone,
  concatInSteps,
  concatWithHeadroom,
  hasHeadroom,
  joinInPlace,
  restoreHeadroom,
} from '../../../../src/base/platform/memory/byte-pieces.js'

const MOST = 3_000_000

function collectPieces(
  most: number | null,
  ...sizes: readonly number[]
): { readonly raw: Buffer; readonly expected: Buffer } {
  const pieces = new BytePieces(most)
  const all = sizes.map((size, place) => Buffer.alloc(size, place + 1))
  for (const piece of all) pieces.add(piece)
  return { raw: pieces.join(), expected: Buffer.concat(all) }
}

t.test('pieces of any sizes are joined', async (t) => {
  const small = Array<number>(5_000).fill(300)
  for (const sizes of [[], [1], small, [1_048_576, 1], [1_048_577], [10, 2_000_000, ...small.slice(0, 3_000)]]) {
    for (const most of [null, MOST]) {
      const { raw, expected } = collectPieces(most, ...sizes)
      t.ok(raw.equals(expected), `${sizes.length} pieces, ${expected.length} bytes`)
    }
  }
})

t.test('data that may become large is copied once, and a prefix needs no copy', async (t) => {
  const { raw, expected } = collectPieces(MOST, 2_000_000)
  const fields = Buffer.from('Received: x\r\n')
  const whole = joinInPlace([fields, Buffer.alloc(0), raw.subarray(0, 100), Buffer.alloc(0), raw.subarray(100)])
  t.equal(whole?.buffer, raw.buffer)
  t.ok(whole?.equals(Buffer.concat([fields, expected])))
  const others = Buffer.from('Received: somebody else\r\n')
  t.ok(joinInPlace([others, raw])?.equals(Buffer.concat([others, expected])), 'and so do the fields of another copy')
  t.equal(joinInPlace([fields, raw.subarray(0, 10), raw.subarray(20)]), null, 'something is taken out')
  t.equal(joinInPlace([raw.subarray(0, 10), fields, raw.subarray(10)]), null, 'something stands between')
  t.equal(joinInPlace([Buffer.alloc(65_537), raw]), null, 'more than there is room for')
  t.equal(joinInPlace([]), null)
})

t.test('pieces that cannot be joined in place stay as they are', async (t) => {
  const { raw, expected } = collectPieces(MOST, 2_000_000)
  const header = raw.subarray(0, 1_000)
  for (const front of [
    [header, fieldsOf(30)],
    [fieldsOf(65_000), fieldsOf(1_600)],
    [header, fieldsOf(9), fieldsOf(9)],
  ]) {
    t.equal(joinInPlace([...front, raw.subarray(1_000)]), null)
    t.ok(raw.equals(expected))
  }
})

t.test('composed pieces are joined with room in front', async (t) => {
  for (const size of [0, 10, 600_000, 700_000]) {
    const pieces = [Buffer.alloc(size, 'a'), Buffer.alloc(0), Buffer.alloc(size, 'b')]
    const joined = concatWithHeadroom(pieces)
    t.ok(joined.equals(Buffer.concat(pieces)), `${size} bytes, twice`)
    const whole = joinInPlace([fieldsOf(100), joined])
    if (size === 700_000) t.ok(whole?.equals(Buffer.concat([fieldsOf(100), joined])), 'a prefix needs no copy')
  }
})

t.test('from 16 KB on a message has memory of its own with room in front', async (t) => {
  for (const size of [16_383, 16_384, 1_048_576]) {
    const { raw, expected } = collectPieces(MOST, 10_000, size - 10_000)
    t.equal(hasHeadroom(raw), size > 16_383, `${size} bytes`)
    if (!hasHeadroom(raw)) continue
    t.ok(joinInPlace([fieldsOf(4_096), raw])?.equals(Buffer.concat([fieldsOf(4_096), expected])))
    t.equal(joinInPlace([fieldsOf(4_097), raw]), null, 'more than there is room for')
  }
  t.equal(hasHeadroom(Buffer.from('in a pool')), false)
  const pieces = [Buffer.from('some'), Buffer.alloc(0), Buffer.from('bytes')]
  const alone = concatAlone(pieces)
  t.equal(alone.toString(), 'somebytes')
  t.equal(alone.buffer.byteLength, 9, 'nothing else shares the memory')
})

function fieldsOf(size: number): Buffer {
  return Buffer.alloc(size, 'Received: x')
}

t.test('megabytes are joined in several turns', async (t) => {
  const pieces = [Buffer.alloc(5, 1), Buffer.alloc(2_500_000, 2), Buffer.alloc(0), Buffer.alloc(7, 3)]
  let turns = 0
  setImmediate(() => {
    turns += 1
  })
  t.ok((await concatInSteps(pieces)).equals(Buffer.concat(pieces)))
  t.equal(turns, 1)
  t.equal((await concatInSteps([])).length, 0)
})

t.test('room in front is known again after the memory was on another thread', async (t) => {
  const joined = concatWithHeadroom([Buffer.alloc(1_048_576, 1)])
  const copy = structuredClone(joined, { transfer: [joined.buffer as ArrayBuffer] })
  const moved = Buffer.from(copy.buffer, copy.byteOffset, copy.byteLength)
  t.notOk(hasHeadroom(moved))
  restoreHeadroom(moved)
  t.ok(hasHeadroom(moved))
  const other = Buffer.from(new ArrayBuffer(10), 5)
  restoreHeadroom(other)
  t.notOk(hasHeadroom(other))
})
