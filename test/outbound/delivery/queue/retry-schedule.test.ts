import fc from 'fast-check'
import t from 'tap'
import {
  forcedAttemptTimeOf,
  type RetryPolicy,
  scheduleRetry,
} from '../../../../src/outbound/delivery/queue/retry-schedule.js'

const minute = 60_000
const hour = 60 * minute
const policy: RetryPolicy = {
  retry_schedule: [5 * minute, 15 * minute, 30 * minute, hour, 2 * hour, 4 * hour],
  delay_notice_after: 4 * hour,
  expire_after: 96 * hour,
}

t.test('each deferral waits its step, and the last step repeats', async (t) => {
  let now = 0
  const waits = [1, 2, 3, 4, 5, 6, 7, 8].map((attempts) => {
    const retry = scheduleRetry({ enqueuedAt: 0, attempts, noticed: false }, policy, now, 0)
    const wait = retry.kind === 'again' ? retry.at - now : 0
    now += wait
    return wait / minute
  })
  t.strictSame(waits, [5, 15, 30, 60, 120, 240, 240, 240])
})

t.test('attempts before their time make no later wait longer, and old age alone does not either', async (t) => {
  const waitOf = (attempts: number, age: number): number | null => {
    const retry = scheduleRetry({ enqueuedAt: 7, attempts, noticed: false }, policy, 7 + age, 0)
    return retry.kind === 'again' ? (retry.at - 7 - age) / minute : null
  }
  t.equal(waitOf(2, 2_000), 5, 'its first session was refused, then it was greylisted')
  t.equal(waitOf(50, 5 * minute - 1), 5)
  t.equal(waitOf(50, 5 * minute), 15)
  t.equal(waitOf(50, 20 * minute), 30)
  t.equal(waitOf(1, 90 * hour), 5)
  t.equal(waitOf(4, -hour), 60, 'the clock was set back')
})

t.test('chance spreads a wait over a tenth of it', async (t) => {
  const retry = scheduleRetry({ enqueuedAt: 0, attempts: 2, noticed: false }, policy, 5 * minute, 0.5)
  t.strictSame(retry, { kind: 'again', at: 20.75 * minute, notice: false })
})

t.test('an entry is tried in any case when its sender is to be notified, and when it expires', async (t) => {
  t.equal(forcedAttemptTimeOf({ enqueuedAt: 7, noticed: false }, policy), 7 + 4 * hour)
  t.equal(forcedAttemptTimeOf({ enqueuedAt: 7, noticed: true }, policy), 7 + 96 * hour)
  t.equal(forcedAttemptTimeOf({ enqueuedAt: 7, noticed: false }, { ...policy, expire_after: hour }), 7 + hour)
})

t.test('the last attempt falls exactly on the expiry, and after it the entry has expired', async (t) => {
  const entry = { enqueuedAt: 7, attempts: 30, noticed: true }
  const late = scheduleRetry(entry, policy, 7 + 95 * hour, 0.9)
  t.strictSame(late, { kind: 'again', at: 7 + 96 * hour, notice: false })
  t.strictSame(scheduleRetry(entry, policy, 7 + 96 * hour, 0), { kind: 'expired' })
  t.strictSame(scheduleRetry(entry, policy, 7 + 96 * hour - 1, 0), { kind: 'again', at: 7 + 96 * hour, notice: false })
})

t.test('the delay is reported once, from its age on', async (t) => {
  const notice = (age: number, noticed: boolean): unknown =>
    scheduleRetry({ enqueuedAt: 0, attempts: 5, noticed }, policy, age, 0)
  t.match(notice(4 * hour - 1, false), { notice: false })
  t.match(notice(4 * hour, false), { notice: true })
  t.match(notice(5 * hour, true), { notice: false })
})

t.test('an entry that is tried whenever it is due ends at its expiry, whatever the policy and chance', async () => {
  const property = fc.property(
    fc.array(fc.integer({ min: 1, max: 100_000 }), { minLength: 1, maxLength: 6 }),
    fc.integer({ min: 1, max: 500_000 }),
    fc.double({ min: 0, max: 1, noNaN: true, maxExcluded: true }),
    ([first = 1, ...rest], expireAfter, random) => {
      const given: RetryPolicy = {
        retry_schedule: [first * 1000, ...rest.map((step) => step * 1000)],
        delay_notice_after: 1,
        expire_after: expireAfter,
      }
      let [now, attempts] = [0, 1]
      for (;;) {
        const retry = scheduleRetry({ enqueuedAt: 0, attempts, noticed: false }, given, now, random)
        if (retry.kind === 'expired') return now === expireAfter
        if (retry.at <= now) return false
        now = retry.at
        attempts++
      }
    },
  )
  fc.assert(property)
})
