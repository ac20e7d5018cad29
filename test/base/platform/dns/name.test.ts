/** Names at the limits of RFC 1035: 63 octets of a label, 255 of a name with its lengths and the root. */
import t from 'tap'
import { encodeName, isQueryable, readName } from '../../../../src/base/platform/dns/name.js'

const label = 'a'.repeat(63)

t.test('the longest name is asked for and read', async (t) => {
  const name = [label, label, label, 'a'.repeat(61)].join('.')
  const octets = encodeName(name)
  t.equal(octets.length, 255)
  t.ok(isQueryable(name))
  t.same(readName(octets, 0), { name, end: 255 })
})

t.test('a longer name, or a longer label, is neither', async (t) => {
  const name = [label, label, label, 'a'.repeat(62)].join('.')
  t.notOk(isQueryable(name))
  t.throws(() => readName(encodeName(name), 0), RangeError)
  t.notOk(isQueryable(`a${label}`))
  t.throws(() => readName(encodeName(`a${label}`), 0), RangeError)
})
