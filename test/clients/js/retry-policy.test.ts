/** When a request is repeated, and after how long. */
import t from 'tap'
import { PosthornError } from '../../../clients/js/src/posthorn-error.js'
import { RetryPolicy, readRetryAfter } from '../../../clients/js/src/retry-policy.js'

const failure = (status: number | null): PosthornError =>
  new PosthornError('failed', { code: 'x', status, details: {}, requestId: null })

t.test('pauses grow up to the longest one, and have a random part', async (t) => {
  const policy = new RetryPolicy({ retries: 10, firstPause: 100, maxPause: 1_000 })
  for (const [attempt, full] of [100, 200, 400, 800, 1_000, 1_000].entries()) {
    const pauses = Array.from({ length: 50 }, () => policy.pauseAfter(failure(503), attempt, true, null) ?? 0)
    t.ok(
      pauses.every((pause) => pause >= full / 2 && pause <= full),
      `attempt ${attempt}`,
      { pauses },
    )
    t.ok(new Set(pauses).size > 1)
  }
  t.equal(policy.pauseAfter(failure(503), 10, true, null), null, 'the last repetition has failed')
})

t.test('the pause that the server asks for is kept, unless it is too long', async (t) => {
  const policy = new RetryPolicy({ firstPause: 100, maxPause: 1_000 })
  t.equal(policy.pauseAfter(failure(429), 0, true, 900), 900)
  t.ok((policy.pauseAfter(failure(429), 0, true, 0) ?? 0) >= 50)
  t.equal(policy.pauseAfter(failure(429), 0, true, 1_001), null)
})

t.test('only faults that may pass are repeated', async (t) => {
  const policy = new RetryPolicy({})
  const repeated = (isRepeatable: boolean): readonly (number | null)[] =>
    [null, 302, 400, 401, 403, 404, 409, 422, 429, 500, 501, 502, 503, 504].filter(
      (status) => policy.pauseAfter(failure(status), 0, isRepeatable, null) !== null,
    )
  t.same(repeated(true), [null, 429, 500, 502, 503, 504])
  t.same(repeated(false), [429, 503])
  t.equal(new RetryPolicy({ retries: 0 }).pauseAfter(failure(503), 0, true, null), null)
})

t.test('Retry-After has seconds or a date', async (t) => {
  const now = Date.parse('2030-01-31T09:00:00Z')
  t.equal(readRetryAfter('7', now), 7_000)
  t.equal(readRetryAfter('Thu, 31 Jan 2030 09:00:05 GMT', now), 5_000)
  t.equal(readRetryAfter('Thu, 31 Jan 2030 08:00:00 GMT', now), 0)
  for (const value of [null, '', 'soon', '-1e', '1'.repeat(30)])
    t.equal(readRetryAfter(value, now), null, String(value))
})
