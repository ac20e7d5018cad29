/** The round of owners: who is next, what is before what, and the counts. */
import t from 'tap'
import { OwnerQueue } from '../../../src/base/platform/owner-queue.js'

function queueOf(...items: readonly string[]): OwnerQueue<string> {
  const queue = new OwnerQueue<string>()
  for (const item of items) queue.add(item.slice(0, 1), item)
  return queue
}

function takeAll(queue: OwnerQueue<string>): readonly string[] {
  const taken: string[] = []
  for (let next = queue.takeNext(); next !== undefined; next = queue.takeNext()) taken.push(next.item)
  return taken
}

t.test('owners go round, and the items of one keep their order', async (t) => {
  t.same(takeAll(queueOf('a1', 'a2', 'a3', 'b1', 'b2', 'c1')), ['a1', 'b1', 'c1', 'a2', 'b2', 'a3'])
})

t.test('an owner who comes back is the last of the round', async (t) => {
  const queue = queueOf('a1', 'b1', 'b2')
  t.same(queue.takeNext(), { owner: 'a', item: 'a1' })
  queue.add('a', 'a2')
  t.same(takeAll(queue), ['b1', 'a2', 'b2'])
})

t.test('an owner who may have nothing keeps the place', async (t) => {
  const queue = queueOf('a1', 'b1', 'b2', 'c1')
  t.equal(queue.takeNext((owner) => owner !== 'a')?.item, 'b1')
  t.equal(
    queue.takeNext(() => false),
    undefined,
  )
  t.same(takeAll(queue), ['a1', 'c1', 'b2'])
})

t.test('an item that is put back is the next of its owner', async (t) => {
  const queue = queueOf('a1', 'a2', 'b1')
  queue.putBack('a', queue.take('a') ?? '')
  t.equal(queue.peek('a'), 'a1')
  t.equal(queue.peek('c'), undefined)
  t.same(takeAll(queue), ['b1', 'a1', 'a2'])
})

t.test('the counts follow what is added and taken', async (t) => {
  const queue = queueOf('a1', 'a2', 'b1')
  t.same([queue.size, queue.countOf('a'), queue.countOf('b'), queue.countOf('c')], [3, 2, 1, 0])
  t.same([queue.hasOthersThan('b'), queue.hasOthersThan('c')], [true, true])
  queue.take('b')
  t.equal(queue.take('b'), undefined)
  t.equal(queue.hasOthersThan('a'), false)
  t.same([queue.size, queue.countOf('b')], [2, 0])
  t.same(queue.clear(), ['a1', 'a2'])
  t.same([queue.size, queue.countOf('a'), queue.takeNext()], [0, 0, undefined])
})
