/** Two texts say different things if they share few of their long words. */
import fc from 'fast-check'
import t from 'tap'
import { saysOtherThings } from '../../../../src/inbound/spam/facts/long-words.js'

const longWordsOf = (text: string): readonly string[] => text.toLowerCase().match(/[\p{L}\p{N}]{4,}/gu) ?? []

/** As it is defined: less than three tenths of the first 200 words are in the other text, which has more than twenty. */
function compare(one: string, other: string): boolean {
  const all = new Set(longWordsOf(other))
  const some = longWordsOf(one).slice(0, 200)
  return (
    longWordsOf(other).length > 20 && some.length > 0 && some.filter((word) => all.has(word)).length / some.length < 0.3
  )
}

const numbered = (from: number, to: number): string =>
  Array.from({ length: to - from }, (_, at) => `Word${from + at}`).join(' ')

const cases: readonly (readonly [what: string, one: string, other: string, expected: boolean])[] = [
  ['the same words', numbered(0, 50), numbered(0, 50).toUpperCase(), false],
  ['other words', numbered(0, 50), numbered(50, 100), true],
  ['three of ten words', numbered(0, 10), numbered(7, 40), false],
  ['two of ten words', numbered(0, 10), numbered(8, 40), true],
  ['a short text', numbered(0, 10), numbered(10, 30), false],
  ['a text of one word more', numbered(0, 10), numbered(10, 31), true],
  ['no text beside it', 'a b c', numbered(0, 50), false],
  ['the same after two hundred words', numbered(0, 400), numbered(200, 400), true],
  ['words in other alphabets', `${numbered(0, 30)} дома`, `${numbered(0, 30)} дома`, false],
]

for (const [what, one, other, expected] of cases) {
  t.test(what, async (t) => t.equal(saysOtherThings(one, other), expected))
}

t.test('whatever the texts are, the words decide', async () => {
  const words = [
    'abcd',
    'ABCD',
    'efgh',
    'x123',
    'ijkl',
    'élan',
    'Kilo',
    '\u212ailo',
    'дома',
    'abc',
    "it's",
    'a_b',
    '😀',
  ]
  const text = fc.array(fc.constantFrom(...words), { maxLength: 60 }).map((parts) => parts.join(' '))
  const ascii = fc
    .array(fc.constantFrom(...words.slice(0, 5), 'abc'), { maxLength: 60 })
    .map((parts) => parts.join('-'))
  fc.assert(
    fc.property(fc.oneof(text, ascii), fc.oneof(text, ascii), (one, other) => {
      if (saysOtherThings(one, other) !== compare(one, other)) throw new Error(`"${one}" and "${other}"`)
    }),
  )
})
