/** Work in turn, and runs that are shared while they wait. */
import t from 'tap'
import { createSerialRunner, shareWaitingRun } from '../../../src/base/platform/serial-runner.js'

t.test('one piece after the other, also after a failure', async (t) => {
  const inTurn = createSerialRunner()
  const steps: string[] = []
  const work = (name: string) => async (): Promise<string> => {
    steps.push(`${name} begins`)
    await new Promise((done) => setImmediate(done))
    steps.push(`${name} ends`)
    if (name === 'b') throw new Error(name)
    return name
  }
  const results = await Promise.allSettled(['a', 'b', 'c'].map((name) => inTurn(work(name))))
  t.same(
    results.map(({ status }) => status),
    ['fulfilled', 'rejected', 'fulfilled'],
  )
  t.same(
    steps,
    ['a', 'b', 'c'].flatMap((name) => [`${name} begins`, `${name} ends`]),
  )
})

t.test('calls while a run waits share it; a call during a run begins another', async (t) => {
  const ends: (() => void)[] = []
  const run = shareWaitingRun(
    () =>
      new Promise<number>((done) => {
        const number = ends.length
        ends.push(() => done(number))
      }),
  )
  const first = run()
  await new Promise((done) => setImmediate(done))
  const others = [run(), run(), run()]
  t.equal(ends.length, 1)
  ends[0]?.()
  t.equal(await first, 0)
  await new Promise((done) => setImmediate(done))
  t.equal(ends.length, 2)
  ends[1]?.()
  t.same(await Promise.all(others), [1, 1, 1])
})
