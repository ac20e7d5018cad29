/** The division of a stream into units. */
import fc from 'fast-check'
import t from 'tap'
import { readPdus } from '../../../../src/workspaces/sms/smpp/read-pdus.js'

function buildUnit(length: number, fill = 0): Buffer {
  const unit = Buffer.alloc(length, fill)
  unit.writeUInt32BE(length, 0)
  return unit
}

async function* toChunks(bytes: Buffer, sizes: readonly number[]): AsyncGenerator<Buffer> {
  let start = 0
  for (const size of sizes) {
    yield bytes.subarray(start, start + size)
    start += size
  }
  yield bytes.subarray(start)
}

async function readAll(bytes: Buffer, sizes: readonly number[] = []): Promise<readonly Buffer[]> {
  const units: Buffer[] = []
  for await (const unit of readPdus(toChunks(bytes, sizes))) units.push(Buffer.from(unit))
  return units
}

t.test('units are the same however they are cut', async () => {
  const lengths = fc.array(fc.oneof(fc.integer({ min: 16, max: 60 }), fc.constantFrom(16, 1_000, 16_384)), {
    maxLength: 8,
  })
  const sizes = fc.array(fc.oneof(fc.nat(20), fc.nat(20_000)), { maxLength: 40 })
  await fc.assert(
    fc.asyncProperty(lengths, sizes, fc.nat(15), async (many, cuts, rest) => {
      const units = many.map((length, place) => buildUnit(length, place + 1))
      const read = await readAll(Buffer.concat([...units, buildUnit(16).subarray(0, rest)]), cuts)
      return read.length === units.length && read.every((unit, place) => units[place]?.equals(unit))
    }),
  )
})

t.test('lengths at the edges', async (t) => {
  for (const length of [16, 16_384]) t.equal((await readAll(buildUnit(length))).length, 1)
  for (const length of [0, 1, 15, 16_385, 2 ** 32 - 1]) {
    const bytes = Buffer.alloc(32)
    bytes.writeUInt32BE(length, 0)
    await t.rejects(readAll(bytes), new RangeError(`a unit of ${length} bytes`))
  }
})

t.test('a unit that is cut off is not read', async (t) => {
  t.same(await readAll(buildUnit(40).subarray(0, 39)), [])
})

/** How often the event loop runs while the units are read, which come in one chunk. */
async function countTurns(units: readonly Buffer[]): Promise<number> {
  let turns = 0
  const immediate = (): void => {
    turns += 1
    pending = setImmediate(immediate)
  }
  let pending = setImmediate(immediate)
  await readAll(Buffer.concat(units))
  clearImmediate(pending)
  return turns
}

t.test('the event loop runs between many small units, and after each large one', async (t) => {
  const [small, large] = [
    await countTurns(Array<Buffer>(4_800).fill(buildUnit(16))),
    await countTurns(Array<Buffer>(100).fill(buildUnit(16_384))),
  ]
  t.ok(small >= 200 && large >= 100, `${small}, ${large}`)
})
