/** The words of a text as people see them, in ASCII and not. */
import fc from 'fast-check'
import t from 'tap'
import { readWordsOf } from '../../../../src/inbound/spam/facts/readable-words.js'
import { foldMixedWords } from '../../../../src/inbound/spam/facts/script-facts.js'

const count = (text: string, pattern: RegExp): number => text.match(pattern)?.length ?? 0

t.test('whatever the text is, blanks are squeezed and letters folded', async () => {
  const ascii = ['a', 'B', 'Word', ' ', '  ', '\n', '\r\n', '\t', '\v', '\f', '\0', '\x7f', '*', '_', '.', '!', 'A.B']
  const others = ['é', 'раypal', '\u00a0', '\u200b', 'ﬁ', 'Ａ', '\u2028', '😀', '\ud83d', '\u0100']
  const text = fc.oneof(
    fc.array(fc.constantFrom(...ascii), { maxLength: 20 }),
    fc.array(fc.constantFrom(...ascii, ...others), { maxLength: 20 }),
  )
  fc.assert(
    fc.property(text, (parts) => {
      const written = parts.join('')
      const { words, isAscii, capitals, dots } = readWordsOf(written)
      const expected = foldMixedWords(written).replace(/\s+/g, ' ').trim()
      if (words !== expected) throw new Error(`"${words}" instead of "${expected}"`)
      if (isAscii === /[^\0-\x7f]/.test(written)) throw new Error(`of ${JSON.stringify(written)}: ASCII ${isAscii}`)
      for (const shown of [written, words]) {
        if (capitals < count(shown, /[A-Z]/g) || dots < count(shown, /[*_.]/g)) throw new Error(`too few: ${shown}`)
      }
    }),
  )
})

t.test('what ASCII has none of is not counted', async (t) => {
  t.same(readWordsOf(' one\r\n two  A*B. '), { words: 'one two A*B.', isAscii: true, capitals: 2, dots: 2 })
  t.same(readWordsOf(''), { words: '', isAscii: true, capitals: 0, dots: 0 })
})

t.test('a text of any length is read', async (t) => {
  for (const length of [131_072, 131_073]) {
    const text = `${'A '.repeat(length / 2)}${'z'.repeat(length % 2)}`
    t.equal(readWordsOf(text).words, text.trim(), `${length} characters`)
  }
})
