/** Text that every database stores as it is. */
import fc from 'fast-check'
import t from 'tap'
import { explainUnstorable, toStorableJson, toStorableText } from '../../../src/base/mail/storable-text.js'

const piece = fc.constantFrom('\0', '\ud83d', '\ude00', '😀', 'u0000', '\\u0000', '\\', '"', '\n', '\u0001', 'ü', 'a')
const text = fc.array(piece, { maxLength: 12 }).map((pieces) => pieces.join(''))

t.test('every text becomes one that can be stored, and one that can stays as it is', async (t) => {
  fc.assert(
    fc.property(fc.oneof(text, fc.string({ unit: 'binary' })), (given) => {
      const stored = toStorableText(given)
      const isStorable = given.isWellFormed() && !given.includes('\0')
      return (
        stored.isWellFormed() &&
        !stored.includes('\0') &&
        stored.length === given.length &&
        (stored === given) === isStorable &&
        (explainUnstorable(given) === null) === isStorable
      )
    }),
  )
  t.equal(toStorableText('a\0b\ud83dc😀'), 'a\ufffdb\ufffdc😀')
  t.match(explainUnstorable('a\0'), /NUL \(U\+0000\).*: remove it$/)
  t.match(explainUnstorable('\ude00'), /half of a surrogate pair: send/)
})

t.test('JSON text has the values that its texts become, and no escape of NUL or of half a pair', async (t) => {
  const clean = (value: unknown): unknown => {
    if (typeof value === 'string') return toStorableText(value)
    return Array.isArray(value) ? value.map(clean) : value
  }
  const list = fc.array(fc.oneof(text, fc.integer(), fc.array(text, { maxLength: 3 })), { maxLength: 4 })
  fc.assert(
    fc.property(list, (value) => {
      const stored = toStorableJson(JSON.stringify(value))
      t.same(JSON.parse(stored), clean(value))
    }),
  )
  t.equal(toStorableJson('{"a\\u0000":"\\\\u0000\\ud83d"}'), '{"a\ufffd":"\\\\u0000\ufffd"}')
})
