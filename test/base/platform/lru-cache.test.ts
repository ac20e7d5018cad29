import t from 'tap'
import { createLruCache } from '../../../src/base/platform/lru-cache.js'

t.test('a full cache drops what was used least recently', async (t) => {
  const cache = createLruCache<number>({ max: 2 })
  cache.set('a', 1)
  cache.set('b', 2)
  cache.get('a')
  cache.set('c', 3)
  t.same([cache.get('a'), cache.get('b'), cache.get('c'), cache.size], [1, undefined, 3, 2])
  cache.peek('a')
  cache.set('d', 4)
  t.equal(cache.has('a'), false, 'peek is no use')
})

t.test('weights count in place of entries, and what weighs too much is not stored', async (t) => {
  const removed: string[] = []
  const cache = createLruCache<{ readonly weight: number }>({
    max: 10,
    weightOf: ({ weight }) => weight,
    onRemove: (_, key) => removed.push(key),
  })
  cache.set('a', { weight: 4 })
  cache.set('b', { weight: 6 })
  cache.set('c', { weight: 11 })
  t.same([cache.has('a'), cache.has('b'), cache.has('c')], [true, true, false])
  cache.set('d', { weight: 3 })
  t.same([cache.has('a'), cache.has('b'), cache.has('d')], [false, true, true])
  t.ok(removed.includes('a'))
  cache.clear()
  t.equal(cache.size, 0)
})
