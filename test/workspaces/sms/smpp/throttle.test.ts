/** Pauses after throttling answers. */
import t from 'tap'
import { Throttle } from '../../../../src/workspaces/sms/smpp/throttle.js'

t.test('pauses double up to 8 times the first, and end with an accepted message', async (t) => {
  let now = 1_000
  const throttle = new Throttle(() => now, 1_000)
  t.equal(throttle.remainingPause(), 0)
  for (const expected of [1_000, 2_000, 4_000, 8_000, 8_000]) {
    t.equal(throttle.recordThrottled(now), expected === 1_000, 'only the first begins it')
    t.equal(throttle.remainingPause(), expected)
    now += expected
    t.equal(throttle.remainingPause(), 0)
  }
  throttle.recordAccepted()
  t.equal(throttle.recordThrottled(now), true)
  t.equal(throttle.remainingPause(), 1_000)
})

t.test('messages that were under way together are throttled once', async (t) => {
  let now = 1_000
  const throttle = new Throttle(() => now, 1_000)
  now = 1_100
  throttle.recordThrottled(1_000)
  now = 1_200
  t.equal(throttle.recordThrottled(1_000), false)
  t.equal(throttle.remainingPause(), 900)
})
