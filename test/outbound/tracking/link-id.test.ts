/** Ids of links: their form, their order, and that they are not equal. */
import t from 'tap'
import { createLinkId, firstLinkIdOf, isLinkId } from '../../../src/outbound/tracking/link-id.js'

t.test('ids have one form and sort by time', async (t) => {
  const now = Date.UTC(2026, 10, 21)
  const ids = Array.from({ length: 1_000 }, (_, place) => createLinkId(now + place))
  t.same(ids.toSorted(), ids)
  t.ok(ids.every(isLinkId))
  t.equal(new Set(Array.from({ length: 1_000 }, () => createLinkId(now).slice(10))).size, 1_000)
  for (const text of ['', `${createLinkId(now)}0`, createLinkId(now).slice(1), createLinkId(now).replace(/^./, 'w')]) {
    t.notOk(isLinkId(text), text)
  }
})

t.test('the first id of a moment divides the ids before it from the others', async (t) => {
  for (const now of [0, 1, 31, 32, Date.UTC(2026, 10, 21), Date.UTC(2400, 0, 1)]) {
    t.ok(createLinkId(now) > firstLinkIdOf(now))
    t.ok(createLinkId(now) < firstLinkIdOf(now + 1))
  }
  t.equal(firstLinkIdOf(-1), firstLinkIdOf(0))
})

t.test('all random bits vary', async (t) => {
  const ids = Array.from({ length: 2_000 }, () => createLinkId(0).slice(10))
  for (let place = 0; place < 25; place += 1) t.equal(new Set(ids.map((id) => id[place])).size, 32)
  t.same([...new Set(ids.map((id) => id[25]))].sort(), ['0', '4', '8', 'c', 'g', 'k', 'o', 's'], 'three bits are left')
})
