/** Turns of owners: how much is under way, who is next, and what is refused. */
import { setImmediate as nextTurn } from 'node:timers/promises'
import t from 'tap'
import { OwnerTurns } from '../../../src/base/platform/owner-turns.js'

function makeTurns(together: number) {
  const turns = new OwnerTurns({
    together,
    waiting: { maxWaiting: 4, maxWaitingOfOwner: 3, buildRefusal: () => new Error('too much') },
  })
  const begun: string[] = []
  const ends = new Map<string, () => void>()
  const start = (piece: string): Promise<void> =>
    turns.run(piece.slice(0, 1), () => {
      begun.push(piece)
      return new Promise((resolve) => ends.set(piece, resolve))
    })
  const end = async (piece: string): Promise<void> => {
    ends.get(piece)?.()
    await nextTurn()
  }
  return { turns, begun, start, end }
}

t.test('owners take turns, and each has one piece under way', async (t) => {
  const { begun, start, end } = makeTurns(2)
  for (const piece of ['a1', 'a2', 'b1', 'c1', 'a3']) void start(piece)
  await nextTurn()
  t.same(begun, ['a1', 'b1'])
  await end('b1')
  t.same(begun.slice(2), ['c1'], 'the second piece of an owner waits for the first')
  await end('a1')
  t.same(begun.slice(3), ['a2'])
  await end('a2')
  await end('c1')
  t.same(begun.slice(4), ['a3'])
})

t.test('what waits is bounded, and nobody is kept out by others', async (t) => {
  const { begun, start, end } = makeTurns(1)
  for (const piece of ['a1', 'a2', 'a3', 'a4', 'b1']) void start(piece)
  await t.rejects(start('a5'), /too much/, 'three of an owner wait')
  await t.rejects(start('b2'), /too much/, 'four of all wait')
  void start('c1')
  await end('a1')
  for (const piece of begun) await end(piece)
  t.same(begun, ['a1', 'a2', 'b1', 'c1', 'a3', 'a4'])
})

t.test('without limits any number waits, and who has taken a turn ends it', async (t) => {
  const turns = new OwnerTurns({ together: 3 })
  const begun: string[] = []
  const ends = new Map<string, () => void>()
  for (const owner of ['a', 'a', 'b', 'c', 'd', 'e'])
    void turns.take(owner).then((end) => {
      begun.push(owner)
      ends.set(owner, end)
    })
  await nextTurn()
  t.same(begun, ['a', 'b', 'c'])
  ends.get('a')?.()
  await nextTurn()
  t.same(begun.slice(3), ['a'], 'the next piece of an owner, whose wait was the longest')
  for (const owner of ['b', 'c']) ends.get(owner)?.()
  await nextTurn()
  t.same(begun.slice(4), ['d', 'e'])
})

t.test('work that fails ends its turn', async (t) => {
  const { turns, begun, start } = makeTurns(1)
  await t.rejects(
    turns.run('a', () => Promise.reject(new Error('broken'))),
    /broken/,
  )
  void start('a1')
  await nextTurn()
  t.same(begun, ['a1'])
})
