/** Encoded words, and texts for lists and logs. */
import fc from 'fast-check'
import t from 'tap'
import { decodeHeaderText } from '../../../src/base/mail/header-text.js'

const words = { japanese: `=?ISO-2022-JP?B?${Buffer.from('\x1b$B%F%9%H\x1b(B').toString('base64')}?=` }

t.test('encoded words are decoded', (t) => {
  t.equal(decodeHeaderText('=?windows-1252*en?Q?=80_5?= =?iso-8859-1?q?_=93=E9=94?='), '€ 5 “é”')
  const cases: Record<string, string> = {
    plain: 'plain',
    '=?utf-8?Q?Gr=C3=BC=C3=9Fe?=': 'Grüße',
    '=?UTF-8?b?R3LDvMOfZQ==?= you': 'Grüße you',
    '=?iso-8859-1?q?=FCber_alles?=': 'über alles',
    '=?ISO-8859-15*de?q?=A4?=': '€',
    '=?utf-8?q?a?= =?utf-8?q?b?=  c =?utf-8?q?d?=': 'ab  c d',
    '=?utf-8?q?=C3?= =?utf-8?q?=BC?=': 'ü',
    '=?utf-8?b?w7w=?=\t=?iso-8859-1?q?=FC?=': 'üü',
    '=?iso-2022-jp?B?GyRCJDMkcxsoQg==?=': 'こん',
    '=?utf-8?q?with blanks=21?=': 'with blanks!',
    '=?utf-8?q?bare ü=C3=BC?=': 'bare üü',
    '=?no-such?q?a?= =?utf-8?q?b?=': '=?no-such?q?a?= b',
    '=?utf-8?x?a?=': '=?utf-8?x?a?=',
    '=?utf-8?q?a=0D=0ABcc:_b?=': 'a Bcc: b',
    '=?utf-8?q?a=00=7F=E2=80=AEb?=': 'a b',
    '=?utf-8?q?=FF=ED=A0=80?=': '\ufffd'.repeat(4),
    'a=?utf-8?q?b?=c': 'abc',
    [`${words.japanese} ${words.japanese}`]: 'テストテスト',
    [`${words.japanese}\t=?iso-2022-jp?Q?=1B$B$3=1B(B_x?=`]: 'テストこ x',
    '=?utf8?q?=C3?= =?UTF-8?q?=BC?=': 'ü',
    '=?iso-8859-1?q?Fr\xf6sche?=': 'Frösche',
    '=?koi8-r?q?\xf0=D2?= =?utf-8?q?Fr\xc3\xb6?=': 'ПрFrö',
    '=?iso-8859-1?q?€_=E4?=': '€ ä',
  }
  for (const [source, expected] of Object.entries(cases)) t.equal(decodeHeaderText(source), expected, source)
  t.end()
})

t.test('texts are cut at 2,000 characters, never inside a character', (t) => {
  t.equal(decodeHeaderText('x'.repeat(3000)).length, 2000)
  t.equal(decodeHeaderText(`x${'😀'.repeat(1500)}`).length, 1999)
  t.end()
})

t.test('any text fits one line of JSON and of a log', (t) => {
  const unit = fc.constantFrom(
    '=?utf-8?q?',
    '=?utf-8?b?',
    '?=',
    '=0A',
    '=C3',
    '_',
    ' ',
    'AAo',
    '\n',
    '\u2028',
    '?',
    'ü',
  )
  const property = fc.property(fc.string({ unit }), (source) => {
    const text = decodeHeaderText(source)
    // biome-ignore lint/suspicious/noControlCharactersInRegex: these must be gone
    t.notMatch(text, /[\x00-\x1f\x7f\u2028]/)
    t.equal(Buffer.from(text).toString(), text)
  })
  fc.assert(property, { numRuns: 300, seed: 5 })
  t.end()
})

t.test('encoded words after the first 500 stay as they are', (t) => {
  const word = '=?utf-8?q?=61?='
  t.equal(decodeHeaderText(Array(501).fill(word).join(' ')), `${'a'.repeat(500)} ${word}`)
  t.end()
})
