/** The words of a text are those that a search of the whole text finds. */
import fc from 'fast-check'
import t from 'tap'
import { splitWords } from '../../../../src/inbound/spam/bayes/words.js'

const run = /[\p{L}\p{N}\p{M}$€£¥%!'’_.-]+/gu
const unsegmented = /[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Thai}]/u

/** As the words are defined: one regular expression finds them, others take their ends off. */
function searchWords(text: string, limit: number): readonly string[] {
  const words: string[] = []
  for (const [found] of text.matchAll(run)) {
    if (words.length >= limit) break
    if (found.length > 100) words.push(`skip:${found.slice(0, 1)}`)
    else if (unsegmented.test(found)) {
      const letters = [...found.slice(0, limit - words.length + 1)]
      words.push(...letters.slice(0, -1).map((letter, at) => `${letter}${letters[at + 1] ?? ''}`))
    } else {
      const word = found
        .replace(/^['’_.!-]+|(?<!['’_.-])['’_.-]+$/g, '')
        .replace(/(?<!!)!{2,}$/, '!!')
        .toLowerCase()
      if (word.length > 24) words.push(`skip:${word.slice(0, 1)}${Math.floor(word.length / 10)}`)
      else if (word.length > 2) words.push(word)
    }
  }
  return words
}

t.test('words of all kinds beside each other are found', async () => {
  const pieces = [
    ...['a', 'Be', 'word', 'WORDS', 'x86', '99', "don't", '$5.00', '100%', '!!!', '.', '-', '_', "'", '’', '...', '!'],
    ...[' ', '\n', '\t', ',', '"', '\u00a0', '—', '€', 'é', 'e\u0301', 'İ', 'ß', 'Дом', '日本語', 'สวัสดี', 'カ'],
    ...['😀', '\ud83d', '\ude00', '\0', '\u{1d400}', 'q'.repeat(24), 'q'.repeat(25), 'z'.repeat(100), 'z'.repeat(101)],
  ]
  const text = fc.array(fc.constantFrom(...pieces), { maxLength: 14 }).map((parts) => parts.join(''))
  const any = fc.oneof({ weight: 4, arbitrary: text }, fc.string({ unit: 'binary' }))
  const limit = fc.constantFrom(1, 2, 3, 10_000)
  fc.assert(
    fc.property(any, limit, (searched, most) => {
      const [found, expected] = [splitWords(searched, most), searchWords(searched, most)]
      if (JSON.stringify(found) !== JSON.stringify(expected)) throw new Error(`${found} instead of ${expected}`)
    }),
  )
})

t.test('a text that is longer than the memory kept for texts is read to its end', async (t) => {
  const text = `${'word '.repeat(20_000)}last`
  t.equal(splitWords(text, 100_000).at(-1), 'last')
  t.equal(splitWords('short', 10).join(), 'short', 'and the next text by itself')
})
