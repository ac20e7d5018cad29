/** What a day changes in a warm-up, by a table. */
import t from 'tap'
import { dayOf } from '../../../../src/base/platform/time-units.js'
import {
  capOf,
  endOfDay,
  nextStepOf,
  toDay,
  type WarmUpProgress,
} from '../../../../src/outbound/delivery/sources/warm-up-plan.js'

const plan = [50, 100, 200]
const progress: WarmUpProgress = { step: 1, day: 100, sent: 0, deferred: 0, isEnded: false }

t.test('the next step follows from what was sent and deferred', async (t) => {
  const table: readonly (readonly [Partial<WarmUpProgress>, number, string])[] = [
    [{}, 1, 'nothing was sent'],
    [{ sent: 19 }, 1, 'too little was sent'],
    [{ sent: 20 }, 2, 'enough was sent'],
    [{ sent: 20, deferred: 1 }, 2, 'one in twenty'],
    [{ sent: 20, deferred: 2 }, 0, 'more than that'],
    [{ sent: 100, deferred: 5 }, 2, 'five in a hundred'],
    [{ sent: 100, deferred: 6 }, 0, 'six in a hundred'],
    [{ step: 0, sent: 50, deferred: 50 }, 0, 'there is no step before the first'],
    [{ sent: 19, deferred: 19 }, 1, 'too little to judge'],
  ]
  for (const [over, step, why] of table) t.equal(nextStepOf({ ...progress, ...over }, plan), step, why)
  t.equal(nextStepOf({ ...progress, step: 0, sent: 2 }, [2, 4]), 1, 'a whole cap is enough, however low it is')
})

t.test('a new day begins with its step and counts nothing yet', async (t) => {
  const good = { ...progress, sent: 100 }
  t.equal(toDay(good, 100, plan), good, 'the same day')
  t.equal(toDay(good, 99, plan), good, 'a clock that was set back')
  t.same(toDay(good, 98, plan), { ...progress, day: 98 }, 'further than to the day before')
  t.same(toDay(good, 101, plan), { step: 2, day: 101, sent: 0, deferred: 0, isEnded: false })
  t.match(toDay(good, 130, plan), { step: 2, day: 130 }, 'days without mail are no steps')
  t.match(toDay({ ...good, step: 2 }, 101, plan), { step: 3, isEnded: true }, 'the last step is the last')
  const ended = { ...progress, isEnded: true }
  t.equal(toDay(ended, 200, plan), ended)
})

t.test('the cap of a step', async (t) => {
  t.same(
    [0, 1, 2, 3].map((step) => capOf({ step, isEnded: false }, plan)),
    [50, 100, 200, null],
  )
  t.equal(capOf({ step: 0, isEnded: true }, plan), null)
})

t.test('days are those of UTC', async (t) => {
  const noon = Date.parse('2026-11-01T12:00:00Z')
  t.equal(dayOf(noon), dayOf(Date.parse('2026-11-01T00:00:00Z')))
  t.equal(endOfDay(dayOf(noon)), Date.parse('2026-11-02T00:00:00Z'))
})
