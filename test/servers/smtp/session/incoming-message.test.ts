/** Collecting a message within the size limit and the memory budget. */
import fc from 'fast-check'
import t from 'tap'
import { MemoryBudget } from '../../../../src/base/platform/memory/budget.js'
import {
  buildNoRoomRefusal,
  type CollectedMessage,
  IncomingMessage,
  SmtpClientGone,
} from '../../../../src/servers/smtp/session/incoming-message.js'

function endMessage(message: IncomingMessage): Promise<CollectedMessage> {
  message.end()
  return message.collected
}

function feed(pieces: Iterable<Buffer>, maxSize: number, budget: MemoryBudget): Promise<CollectedMessage> {
  const message = new IncomingMessage(maxSize, budget)
  for (const piece of pieces) message.write(piece)
  message.end()
  return message.collected
}

t.test('a message is collected completely from pieces of any size', async () => {
  const sizes = fc.array(fc.oneof(fc.integer({ min: 1, max: 10 }), fc.integer({ min: 1, max: 70_000 })), {
    maxLength: 80,
    size: 'max',
  })
  await fc.assert(
    fc.asyncProperty(sizes, async (lengths) => {
      const budget = new MemoryBudget(1e9)
      let byte = 0
      const pieces = lengths.map((length) => Buffer.alloc(length, byte++ % 251))
      const { raw, release } = await feed(pieces, 1e9, budget)
      const same = raw.equals(Buffer.concat(pieces)) && budget.usedBytes() === raw.length
      release()
      return same && budget.usedBytes() === 0
    }),
    { numRuns: 30 },
  )
})

const errorOf = (error: unknown): unknown => error

t.test('a message that is too large or finds no room is refused at its end, and holds no memory', async (t) => {
  const pieces = Array.from({ length: 10 }, () => Buffer.alloc(100))
  const budget = new MemoryBudget(1000)
  t.match(await feed(pieces, 999, budget).catch(errorOf), { kind: 'too-large' })
  t.equal(budget.usedBytes(), 0)
  budget.acquire(1)
  t.match(await feed(pieces, 1e6, budget).catch(errorOf), { kind: 'storage-full' })
  t.equal(budget.usedBytes(), 1)
  budget.release(1)
  const { raw } = await feed(pieces, 1000, budget)
  t.equal(raw.length, 1000)
  t.notOk(budget.hasRoomFor(1))
})

t.test('a message that breaks off holds no memory', async (t) => {
  const budget = new MemoryBudget(1000)
  const message = new IncomingMessage(1000, budget)
  message.write(Buffer.alloc(10))
  message.destroy()
  await t.rejects(message.collected, SmtpClientGone)
  t.equal(budget.usedBytes(), 0)
  message.destroy()
  t.equal(budget.usedBytes(), 0)
})

t.test('when the memory is full, the slowest message is discarded, and no other', async (t) => {
  let now = 0
  const shared = new MemoryBudget(1_300)
  const budget = new MemoryBudget(1_200, shared, 2)
  const incoming = (): IncomingMessage => new IncomingMessage(1_000, budget, buildNoRoomRefusal, () => now)
  const [slow, slower] = [incoming(), incoming()]
  slow.write(Buffer.alloc(200))
  slower.write(Buffer.alloc(300))
  const early = incoming()
  early.write(Buffer.alloc(101))
  t.match(
    await endMessage(early).catch(errorOf),
    { kind: 'storage-full' },
    'no message is discarded in its first seconds',
  )
  t.notOk(budget.hasRoomFor(101))

  now += 5_000
  slow.write(Buffer.alloc(5))
  slower.write(Buffer.alloc(1))
  now += 5_000
  t.ok(budget.hasRoomFor(600), 'both would be discarded')
  t.notOk(budget.hasRoomFor(601))
  const late = incoming()
  late.write(Buffer.alloc(300))
  t.match([slow.held, slower.held, late.held], [205, 0, 300], 'for real bytes only, and no more than are needed')
  t.match(await endMessage(slower).catch(errorOf), { kind: 'storage-full' }, 'it is read to its end and refused')
  const { raw, release } = await endMessage(slow)
  t.equal(raw.length, 205)
  now += 10_000
  t.ok(budget.hasRoomFor(395))
  t.notOk(budget.hasRoomFor(396), 'a complete message stays')
  t.ok(shared.acquire(291), 'the shared budget has room because the listener discards')
  t.match(await endMessage(late).catch(errorOf), { kind: 'storage-full' })
  release()
  t.equal(budget.usedBytes(), 0)
})

t.test('a message that asks for memory and is the slowest itself is discarded once', async (t) => {
  let now = 0
  const budget = new MemoryBudget(100)
  const message = new IncomingMessage(1_000, budget, buildNoRoomRefusal, () => now)
  message.write(Buffer.alloc(90))
  now += 10_000
  message.write(Buffer.alloc(20))
  t.equal(budget.usedBytes(), 0)
  t.match(await endMessage(message).catch(errorOf), { kind: 'storage-full' })
  t.equal(budget.usedBytes(), 0)
})

t.test('a complete message stays when its client leaves', async (t) => {
  const budget = new MemoryBudget(1000)
  const message = new IncomingMessage(1000, budget)
  message.end(Buffer.alloc(10))
  message.destroy()
  const { raw, release } = await message.collected
  t.equal(raw.length, 10)
  release()
  t.equal(budget.usedBytes(), 0)
})
