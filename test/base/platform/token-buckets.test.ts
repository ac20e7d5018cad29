/** Token buckets: the burst, what they gain, and that keys do not share one. */
import t from 'tap'
import { TokenBuckets } from '../../../src/base/platform/token-buckets.js'

const countTaken = (buckets: TokenBuckets, key: string, now: number, tries: number): number =>
  Array.from({ length: tries }, () => buckets.take(key, now)).filter((refusals) => refusals === 0).length

t.test('a burst, then what time brings', async (t) => {
  const buckets = new TokenBuckets({ burst: 5, perSecond: 2, maxKeys: 10 })
  t.equal(countTaken(buckets, 'a', 0, 10), 5)
  t.equal(countTaken(buckets, 'a', 499, 10), 0)
  t.equal(countTaken(buckets, 'a', 500, 10), 1)
  t.equal(countTaken(buckets, 'a', 2_000, 10), 3)
  t.equal(countTaken(buckets, 'a', 1_000_000, 10), 5, 'never more than the burst')
  t.equal(countTaken(buckets, 'a', 0, 10), 0, 'a clock that goes back brings nothing')
  t.equal(countTaken(buckets, 'a', 1_000, 10), 2, 'and from then on the bucket gains as before')
  t.equal(countTaken(buckets, 'b', 0, 10), 5)
})

t.test('a key that was not used for long begins anew', async (t) => {
  const buckets = new TokenBuckets({ burst: 1, perSecond: 0, maxKeys: 2 })
  t.same([buckets.take('a', 0), buckets.take('a', 0)], [0, 1])
  t.same([buckets.take('b', 0), buckets.take('c', 0)], [0, 0])
  t.equal(buckets.size, 2)
  t.equal(buckets.take('a', 0), 0)
})

t.test('refusals are counted until there is a token again', async (t) => {
  const buckets = new TokenBuckets({ burst: 1, perSecond: 1, maxKeys: 2 })
  t.same(
    [0, 0, 0, 1_000, 1_000].map((now) => buckets.take('a', now)),
    [0, 1, 2, 0, 1],
  )
})

t.test('tokens that are not there are owed, up to a bound, and may be given back', async (t) => {
  const buckets = new TokenBuckets({ burst: 10, perSecond: 1, maxKeys: 2 })
  t.equal(buckets.countTokens('a', 0), 10)
  buckets.spend('a', 0, { cost: 15, maxDebt: 20 })
  t.equal(buckets.countTokens('a', 0), -5)
  t.equal(buckets.countTokens('a', 2_000), -3)
  buckets.spend('a', 2_000, { cost: 1_000, maxDebt: 20 })
  t.equal(buckets.countTokens('a', 2_000), -20)
  buckets.spend('a', 2_000, { cost: -25, maxDebt: 20 })
  t.equal(buckets.countTokens('a', 2_000), 5)
  buckets.spend('a', 2_000, { cost: -25, maxDebt: 20 })
  t.equal(buckets.countTokens('a', 2_000), 10, 'never more than the burst')
  t.equal(buckets.size, 1, 'to count adds no key')
})

t.test('to ask whether a token is left takes none and remembers nothing', async (t) => {
  const buckets = new TokenBuckets({ burst: 1, perSecond: 1, maxKeys: 2 })
  t.equal(buckets.take('a', 0), 0)
  for (const key of ['b', 'c', 'd', 'e']) t.ok(buckets.has(key, 0))
  t.notOk(buckets.has('a', 999))
  t.ok(buckets.has('a', 1_000))
  t.same([buckets.take('a', 1_000), buckets.take('a', 1_000)], [0, 1])
})

t.test('what costs more than is left is owed', async (t) => {
  const buckets = new TokenBuckets({ burst: 2, perSecond: 1, maxKeys: 10 })
  t.equal(buckets.take('a', 0, 5), 0)
  t.notOk(buckets.has('a', 3_999))
  t.ok(buckets.has('a', 4_000))
})

t.test('keys whose buckets are full again are removed as new ones come', async (t) => {
  const buckets = new TokenBuckets({ burst: 2, perSecond: 1, maxKeys: 10_000 })
  for (let n = 0; n < 1_000; n += 1) buckets.take(`first ${n}`, 0)
  t.equal(buckets.size, 1_000, 'none of them is full yet')
  for (let n = 0; n < 1_000; n += 1) buckets.take(`second ${n}`, 1_000)
  t.equal(buckets.size, 1_000)
  buckets.take('third', 1_000)
  t.same([buckets.take('second 999', 1_000), buckets.take('second 999', 1_000)], [0, 1], 'one that is not full stays')
})
