/** Who keeps a slot, who loses it, and who begins all the same when all slots are taken. */

import t from 'tap'
import { AttemptSlots } from '../../../../src/outbound/delivery/queue/attempt-slots.js'

function openSlots(total: number) {
  const time = { now: 10_000 }
  const slots = new AttemptSlots(
    () => ({ total }),
    () => time.now,
  )
  let number = 0
  return {
    slots,
    pass: (milliseconds: number) => {
      time.now += milliseconds
    },
    /** Begins as many attempts as it may, up to `count`; returns their ids. */
    begin: (ownerId: string, count: number, isBulk = false): string[] => {
      const begun: string[] = []
      while (begun.length < count && slots.makeRoomFor(ownerId, isBulk)) {
        number += 1
        slots.start(`${ownerId} ${number}`, ownerId, isBulk)
        begun.push(`${ownerId} ${number}`)
      }
      return begun
    },
  }
}

t.test('an owner has three quarters of the slots, and the next one of what is left', async (t) => {
  const { begin } = openSlots(100)
  t.equal(begin('a', 200).length, 75)
  t.equal(begin('b', 200).length, 19)
  t.equal(begin('c', 200).length, 10, 'five, and as many as an owner with few attempts may begin in any case')
  t.equal(openSlots(1).begin('a', 5).length, 1)
})

t.test('an owner with few attempts begins although all slots are taken, up to twice as many', async (t) => {
  const { slots, begin } = openSlots(100)
  begin('a', 75)
  begin('b', 75)
  t.equal(begin('victim', 50).length, 10)
  for (let n = 0; n < 30; n += 1) begin(`other ${n}`, 10)
  t.equal(slots.active, 200)
  t.equal(begin('late', 1).length, 0)
})

t.test(
  'an attempt that takes long gives its slot to one that waits, the oldest first; none does in its first second',
  async (t) => {
    const { slots, pass, begin } = openSlots(4)
    const [first] = begin('a', 3)
    pass(500)
    begin('b', 1)
    pass(499)
    t.equal(begin('a', 1).length, 0)
    pass(1)
    t.equal(begin('a', 1).length, 1)
    t.equal(slots.slow, 1)
    t.equal(slots.active, 5)
    slots.end(first ?? '')
    t.equal(slots.slow, 0, 'it was the oldest')
    t.equal(begin('a', 9).length, 2, 'those of the first second stay')
  },
)

t.test(
  'a server that answers now and then keeps no slot: what counts is the time since the attempt began',
  async (t) => {
    const { slots, pass, begin } = openSlots(100)
    for (let second = 0; second < 10; second += 1) {
      begin('a', 1_000)
      begin('b', 1_000)
      pass(1_000)
    }
    t.ok(slots.slow > 500, String(slots.slow))
    t.equal(begin('victim', 75).length, 75, 'the victim has its whole share')
  },
)

t.test('the second pool is bounded, and its owners leave room in it', async (t) => {
  const { slots, pass, begin } = openSlots(100)
  const fill = (owner: string): number => {
    const before = slots.slow
    for (let round = 0; round < 50; round += 1) {
      begin(owner, 1_000)
      pass(1_000)
    }
    return slots.slow - before
  }
  t.equal(fill('a'), 1000, 'half of 2,000')
  t.equal(fill('b'), 500)
  t.equal(fill('c'), 250)
  t.equal(begin('victim', 1).length, 1)
})

t.test('messages are bounded in the second pool by their bytes', async (t) => {
  const { slots, pass, begin } = openSlots(1_000)
  const beginWithMessages = (owner: string): void => {
    for (const id of begin(owner, 1_000)) slots.noteSize(id, 262_144)
    pass(1_000)
  }
  for (let round = 0; round < 9; round += 1) beginWithMessages('a')
  t.equal(slots.slow, 128, 'half of 64 megabytes')
  for (let round = 0; round < 9; round += 1) beginWithMessages('b')
  t.equal(slots.slow, 128 + 64)
})

t.test('messages that are not in memory, and large ones that are bounded there, are not counted', async (t) => {
  const { slots, pass, begin } = openSlots(1_000)
  const ids = begin('a', 750)
  for (const id of ids.slice(0, 700)) slots.noteSize(id, 262_145)
  pass(1_000)
  t.equal(begin('a', 750).length, 750)
  t.equal(slots.slow, 750)
  for (const id of ids) slots.noteSize(id, 262_144)
  pass(1_000)
  t.equal(begin('a', 750).length, 750, 'bytes that come into memory late keep nobody from giving way')
})

t.test('broadcasts have half of the slots, and messages of broadcasts that take long give way to others', async (t) => {
  const { slots, pass, begin } = openSlots(100)
  t.equal(begin('a', 100, true).length, 38)
  t.equal(begin('b', 100, true).length, 9)
  t.equal(begin('a', 100).length, 31)
  pass(1_000)
  const before = slots.slow
  t.equal(begin('c', 5, true).length, 5)
  t.equal(slots.slow - before, 3, 'the oldest of broadcasts have lost theirs')
})

t.test('what has ended is forgotten, whichever pool it was in', async (t) => {
  const { slots, pass, begin } = openSlots(10)
  const ids = begin('a', 7)
  pass(1_000)
  ids.push(...begin('a', 7))
  for (const id of ids) {
    slots.noteSize(id, 5)
    slots.end(id)
    slots.end(id)
  }
  t.equal(slots.active, 0)
  t.equal(begin('a', 10).length, 8)
  slots.noteSize('unknown', 5)
})
