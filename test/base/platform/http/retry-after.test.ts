import t from 'tap'
import { parseRetryAfter } from '../../../../src/base/platform/http/retry-after.js'

const NOW = Date.UTC(2030, 0, 1)

t.test('Retry-After has seconds or a date', async (t) => {
  const cases: readonly (readonly [string | undefined, number | null])[] = [
    [undefined, null],
    ['', null],
    ['0', 0],
    ['3', 3_000],
    ['999999999', 999_999_999_000],
    ['1.5', null],
    ['-1', null],
    ['soon', null],
    [new Date(NOW + 5_000).toUTCString(), 5_000],
    [new Date(NOW - 5_000).toUTCString(), 0],
    ['1'.repeat(41), null],
  ]
  for (const [value, expected] of cases) t.equal(parseRetryAfter(value, NOW), expected, String(value))
})
