/** Token buckets: the burst, what they gain, and that keys do not share one. */
import t from 'tap'
import { TokenBuckets } from '../../src/tracking/token-buckets.js'

const countTaken = (buckets: TokenBuckets, key: string, now: number, tries: number): number =>
  Array.from({ length: tries }, () => buckets.take(key, now)).filter(Boolean).length

t.test('a burst, then what time brings', async (t) => {
  const buckets = new TokenBuckets({ burst: 5, perSecond: 2, maxKeys: 10 })
  t.equal(countTaken(buckets, 'a', 0, 10), 5)
  t.equal(countTaken(buckets, 'a', 499, 10), 0)
  t.equal(countTaken(buckets, 'a', 500, 10), 1)
  t.equal(countTaken(buckets, 'a', 2_000, 10), 3)
  t.equal(countTaken(buckets, 'a', 1_000_000, 10), 5, 'never more than the burst')
  t.equal(countTaken(buckets, 'a', 0, 10), 0, 'a clock that goes back brings nothing')
  t.equal(countTaken(buckets, 'b', 0, 10), 5)
})

t.test('a key that was not used for long begins anew', async (t) => {
  const buckets = new TokenBuckets({ burst: 1, perSecond: 0, maxKeys: 2 })
  t.same([buckets.take('a', 0), buckets.take('a', 0)], [true, false])
  t.same([buckets.take('b', 0), buckets.take('c', 0)], [true, true])
  t.ok(buckets.take('a', 0))
})

t.test('to ask whether a token is left takes none and remembers nothing', async (t) => {
  const buckets = new TokenBuckets({ burst: 1, perSecond: 1, maxKeys: 2 })
  t.ok(buckets.take('a', 0))
  for (const key of ['b', 'c', 'd', 'e']) t.ok(buckets.has(key, 0))
  t.notOk(buckets.has('a', 999))
  t.ok(buckets.has('a', 1_000))
  t.same([buckets.take('a', 1_000), buckets.take('a', 1_000)], [true, false])
})
