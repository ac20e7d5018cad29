/** Work that is done at the first call, and its result kept. */
import t from 'tap'
import { runOnce } from '../../../src/base/platform/run-once.js'

t.test('work is done at the first call and never again', async (t) => {
  let times = 0
  const run = runOnce(() => {
    times += 1
    return ''
  })
  t.equal(times, 0)
  t.equal(run(), '')
  t.equal(run(), '')
  t.equal(times, 1)
})

t.test('work that failed is done again', async (t) => {
  let times = 0
  const run = runOnce(() => {
    times += 1
    if (times === 1) throw new Error('not yet')
    return 'done'
  })
  t.throws(run, { message: 'not yet' })
  t.equal(run(), 'done')
  t.equal(times, 2)
})
