/** Patterns are found wherever a search of the whole text would find them. */
import fc from 'fast-check'
import t from 'tap'
import { listOpenings } from '../../../../src/inbound/spam/facts/pattern-openings.js'
import { WordedText, wording } from '../../../../src/inbound/spam/facts/wording.js'

const openings: readonly (readonly [RegExp, readonly string[] | null])[] = [
  [/\bclick (?:here|there)\b/, ['clic']],
  [/\b(?:an?|re-?do|x[12]y) z/, ['a z', 'an z', 'redo', 're-d', 'x1y ', 'x2y ']],
  [
    /\bwins?\b|\b\$ ?\d/,
    ['win', 'wins', '$0', '$1', '$2', '$3', '$4', '$5', '$6', '$7', '$8', '$9'].concat(
      [...'0123456789'].map((digit) => `$ ${digit}`),
    ),
  ],
  [/\bab\w+ c/, ['ab']],
  [/\bab+c/, ['ab']],
  [/\bab{0,3}c/, ['ab', 'ac']],
  [/\bab{2}c/, ['ab']],
  [/\ba(?=b)bc/, ['abc']],
  [/\ba(?<name>b)c/, ['a']],
  [/\ba[^b]c/, ['a']],
  [/\ba[b-d]c/, ['a']],
  [/\ba[-b]c/, ['a-c', 'abc']],
  [/(?<![\wà-ÿ])(?:été|fin)(?![\wà-ÿ])/, ['été', 'fin']],
  [/"?remove"/, null],
  [/\b"?remove"/, ['"rem', 'remo']],
  [/(?<![a-zà-ÿ])(?:word|été)/, ['word', 'été']],
  [/(?<!\S)dear/, ['dear']],
  [/(?<!x)word/, null],
  [/(?<![a-z]x)word/, null],
  [/(?<![\w]|x)word/, null],
  [/\bone|two/, null],
  [/\b(?:one| two)/, null],
  [/\b\w+ one/, null],
  [/(?:^|\s)dear/, null],
  [/\bone/i, null],
]

for (const [pattern, expected] of openings) {
  t.test(`what begins a match of ${pattern.source}`, async (t) => {
    t.same(listOpenings(pattern)?.toSorted() ?? null, expected?.toSorted() ?? null)
  })
}

t.test('a text is searched as the pattern itself does', async () => {
  const pieces = ['a', 'b', 'c', 'd', 'ab', 'click', 'here', ' ', ' ', '-', '$', '1', '"', 'é', '_', '.', 'win', 'ing']
  const patterns = [
    ...openings.map(([pattern]) => pattern),
    /\b(?:a ?b|c-?d+|\$ ?1|é\b|win(?:ing|s)?)\b/,
    /\b(?:"a|_b|(?:a|b|)c)/,
    /\b(?:[ab]{1,2}c?d|.b)|\b1/,
    /(?<![a-zà-ÿ])(?:ab|c|win|1a)/,
    /(?<!\S)(?:"|-|win|ab)/,
  ]
  const searches = patterns.map((pattern) => [pattern, wording(pattern)] as const)
  const text = fc.array(fc.constantFrom(...pieces), { maxLength: 12 }).map((parts) => parts.join(''))
  fc.assert(
    fc.property(text, (searched) => {
      const worded = new WordedText(searched)
      for (const [pattern, matches] of searches) {
        if (matches(worded) !== pattern.test(searched)) throw new Error(`${pattern.source} in "${searched}"`)
      }
    }),
  )
})

t.test('texts of every length are searched to their ends, whatever was searched before', async (t) => {
  const patterns = [/\bend\b/, /\bof it\b/, /\be\b/, /(?<![\wà-ÿ])én(?![\wà-ÿ])/]
  const searches = patterns.map((pattern) => [pattern, wording(pattern)] as const)
  const ends = ['end', 'en', 'e', 'of it', 'of i', 'ud', 'Énd', 'én', '\ud83d', '\udc00e', 'eNd', '%nd', 'end\ud83d']
  for (const length of [0, 1, 2, 3, 16_382, 16_383, 16_384, 16_385, 65_535, 65_536, 65_537]) {
    for (const end of ends) {
      const text = `${'xy '.repeat(length / 3 + 2).slice(-Math.max(0, length - end.length) || length)}${end}`
      const worded = new WordedText(text)
      const found = searches.map(([, matches]) => matches(worded))
      const expected = patterns.map((pattern) => pattern.test(text))
      if (found.join() !== expected.join()) t.fail(`${length} characters, ${JSON.stringify(end)}`, { found, expected })
      matchesAll(new WordedText('the end of it, e én'))
    }
  }
  function matchesAll(worded: WordedText): void {
    if (!searches.every(([, matches]) => matches(worded))) t.fail('a short text')
  }
  t.pass('as the patterns do')
})

t.test('a pattern that was made after a text was searched is found in it too', async (t) => {
  const worded = new WordedText('click here')
  t.equal(wording(/\bclick here\b/)(worded), true)
  t.equal(wording(/\bhere\b/)(worded), true)
  t.equal(wording(/\bthere\b/)(worded), false)
})
