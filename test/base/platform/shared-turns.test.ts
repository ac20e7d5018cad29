/** Work of many that shares the turns of the event loop. */
import { setImmediate as turn } from 'node:timers/promises'
import t from 'tap'
import { SharedTurns } from '../../../src/base/platform/shared-turns.js'

/** `work` takes two milliseconds, of which a turn has five. */
function openTurns() {
  let time = 0
  const done: string[] = []
  const work = (name: string) => (): void => {
    time += 2
    done.push(name)
  }
  return { turns: new SharedTurns(() => time), done, work }
}

t.test('work is done at once while the turn has time, and what is left waits for the next ones in order', async (t) => {
  const { turns, done, work } = openTurns()
  for (const name of 'abcdefg') turns.run(work(name))
  t.strictSame(done.join(''), 'abc')
  await turn()
  t.strictSame(done.join(''), 'abcdef')
  turns.run(work('h'))
  t.strictSame(done.join(''), 'abcdef', 'nobody passes those that wait')
  await turn()
  t.strictSame(done.join(''), 'abcdefgh')
  await turn()
  turns.run(work('i'))
  t.strictSame(done.join(''), 'abcdefghi', 'a new turn has its time again')
})

t.test('steps of many messages take no more of a turn than those of one', async (t) => {
  const { turns, done, work } = openTurns()
  const steps = async (name: string): Promise<void> => {
    for (let step = 0; step < 3; step += 1) await turns.take(work(name))
  }
  const all = Promise.all([...'abcd'].map(steps))
  for (let before = 0; done.length < 12; before = done.length) {
    await turn()
    t.ok(done.length - before <= 6, `${done.length - before} steps between two looks`)
  }
  await all
})

t.test('who takes a turn gets the result of the work, or its fault', async (t) => {
  const turns = new SharedTurns()
  t.equal(await turns.take(() => 1), 1)
  await t.rejects(
    turns.take(() => {
      throw new Error('no')
    }),
    { message: 'no' },
  )
  t.equal(await turns.take(() => 2), 2)
})
