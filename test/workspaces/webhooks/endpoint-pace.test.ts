/** How an endpoint that fails or recovers is called. */
import t from 'tap'
import {
  isPaused,
  paceAfterFailure,
  paceAfterSuccess,
  startPace,
} from '../../../src/workspaces/webhooks/endpoint-pace.js'

t.test('a failure leaves one request at a time, successes add one each, up to eight', async (t) => {
  let pace = paceAfterFailure(startPace(false), 0, 10)
  t.match(pace, { limit: 1, jobs: 1, failures: 1, resumesAt: 10 })
  const limits: number[] = []
  for (let count = 0; count < 9; count += 1) {
    pace = paceAfterSuccess(pace, 1_000)
    limits.push(pace.limit)
    t.equal(pace.jobs, pace.limit, 'a slow endpoint has no jobs ready')
  }
  t.same(limits, [2, 3, 4, 5, 6, 7, 8, 8, 8])
  t.match(paceAfterSuccess(pace, 5), { limit: 8, jobs: 32, failures: 0, resumesAt: 0 })
})

t.test('from the third failure on new events wait, up to a minute', async (t) => {
  let pace = startPace(false)
  const pauses: number[] = []
  for (let count = 1; count <= 11; count += 1) {
    const now = count * 100_000
    pace = paceAfterFailure(pace, now - 1, now)
    pauses.push((pace.resumesAt - now) / 1000)
  }
  t.same(pauses, [0, 0, 1, 2, 4, 8, 16, 32, 60, 60, 60])
})

t.test('requests that were under way together fail once', async (t) => {
  let pace = paceAfterFailure(startPace(false), 0, 100)
  for (let count = 0; count < 7; count += 1) pace = paceAfterFailure(pace, 50, 101)
  t.match(pace, { failures: 1, resumesAt: 100 })
  t.match(paceAfterFailure(pace, 150, 200), { failures: 2 })
})

t.test('a webhook that failed before the start begins with one', async (t) => {
  t.match(startPace(true), { limit: 1, jobs: 1 })
  t.match(startPace(false), { limit: 8, jobs: 8 })
})

t.test('a pause ends at its time, and when the clock was set back', async (t) => {
  t.same(
    [940_000, 939_999, 999_999, 1_000_000].map((now) => isPaused(1_000_000, now)),
    [true, false, true, false],
  )
})
