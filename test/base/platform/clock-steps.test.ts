/** Steps of the clock: only those back count, and each once. */
import t from 'tap'
import { ClockSteps } from '../../../src/base/platform/clock-steps.js'

t.test('a clock that is set back by a minute and more is noticed once', async (t) => {
  const steps = new ClockSteps(0)
  const taken = [1_000_000, 4_600_000, 4_540_001, 4_480_001, 4_480_001, 1_000, 1_001].map((now) =>
    steps.takeSetBack(now),
  )
  t.same(taken, [0, 0, 0, 60_000, 0, 4_479_001, 0])
})

t.test('the first call compares with the latest time that is known', async (t) => {
  t.equal(new ClockSteps(86_400_000).takeSetBack(1_000), 86_399_000)
  t.equal(new ClockSteps(0).takeSetBack(1_000), 0)
})
