/** When messages of broadcasts may begin beside other mail. */
import t from 'tap'
import { BulkPace, MIN_BULK_RATE, nextRate } from '../../../../src/outbound/delivery/queue/bulk-pace.js'

function paceOf(load: number) {
  const state = { now: 0, load }
  const pace = new BulkPace({ now: () => state.now, readLoad: () => state.load })
  /** Messages that begin in so many milliseconds, looked at each millisecond, while other mail goes out. */
  const countIn = (milliseconds: number): number => {
    let begun = 0
    for (const end = state.now + milliseconds; state.now < end; state.now += 1) {
      pace.noteOther()
      while (begun < 100_000 && pace.mayBegin()) {
        pace.noteBulk()
        begun += 1
      }
    }
    return begun
  }
  return { state, pace, countIn }
}

t.test('without other mail broadcasts have no limit', async (t) => {
  const { pace, state } = paceOf(1)
  for (let n = 0; n < 10_000; n += 1) {
    if (!pace.mayBegin()) t.fail(`message ${n} has to wait`)
    pace.noteBulk()
  }
  pace.noteOther()
  t.equal(pace.isYielding, true)
  pace.noteBulk()
  t.equal(pace.mayBegin(), false, 'other mail goes out')
  state.now += 3_000
  t.equal(pace.isYielding, false)
  t.equal(pace.mayBegin(), true, 'that was a while ago')
})

t.test('under load the rate falls to its floor and stays there', async (t) => {
  const { countIn } = paceOf(1)
  countIn(2_000)
  const begun = countIn(10_000)
  t.ok(Math.abs(begun - MIN_BULK_RATE * 10) < 10, `${begun} in ten seconds`)
})

t.test('beside little other mail the rate grows', async (t) => {
  const { countIn } = paceOf(0.1)
  const first = countIn(1_000)
  const later = countIn(1_000)
  t.ok(later > first * 2, `${first}, then ${later} in a second`)
})

t.test('the rate follows the load within its bounds', async (t) => {
  t.ok(nextRate(1_000, 0.9) < 1_000)
  t.ok(nextRate(1_000, 0.1) > 1_000)
  t.equal(nextRate(MIN_BULK_RATE, 1), MIN_BULK_RATE)
  t.equal(nextRate(nextRate(5_000, 0), 0), 5_000)
})
