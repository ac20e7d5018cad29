/** Filters with tests that wait. */
import t from 'tap'
import { filterAsync, someAsync } from '../../../src/base/platform/async-filter.js'

t.test('the items whose test is true are kept, in their order', async (t) => {
  t.same(await filterAsync([1, 2, 3, 4], async (one) => one % 2 === 0), [2, 4])
  t.same(await filterAsync([1, 2], () => false), [])
})

t.test('the first item whose test is true ends the search', async (t) => {
  const asked: number[] = []
  const isTwo = async (one: number): Promise<boolean> => asked.push(one) > 0 && one === 2
  t.equal(await someAsync([1, 2, 3], isTwo), true)
  t.same(asked, [1, 2])
  t.equal(await someAsync([1, 3], isTwo), false)
})
