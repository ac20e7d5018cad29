/** Encodings and segments, against the tables of 3GPP TS 23.038 written out here by code point. */
import fc from 'fast-check'
import t from 'tap'
import { encodeText } from '../../../src/workspaces/sms/text-encoding.js'

/** Section 6.2.1, without the escape. */
const basic = [
  [0x40, 0xa3, 0x24, 0xa5, 0xe8, 0xe9, 0xf9, 0xec, 0xf2, 0xc7, 0x0a, 0xd8, 0xf8, 0x0d, 0xc5, 0xe5],
  [0x394, 0x5f, 0x3a6, 0x393, 0x39b, 0x3a9, 0x3a0, 0x3a8, 0x3a3, 0x398, 0x39e, 0xc6, 0xe6, 0xdf, 0xc9],
  [0x20, 0x21, 0x22, 0x23, 0xa4, ...range(0x25, 0x3f), 0xa1, ...range(0x41, 0x5a), 0xc4, 0xd6, 0xd1, 0xdc, 0xa7],
  [0xbf, ...range(0x61, 0x7a), 0xe4, 0xf6, 0xf1, 0xfc, 0xe0],
].flat()
/** Section 6.2.1.1. */
const extended = [0x0c, 0x5e, 0x7b, 0x7d, 0x5c, 0x5b, 0x7e, 0x5d, 0x7c, 0x20ac]

function range(first: number, last: number): readonly number[] {
  return Array.from({ length: last - first + 1 }, (_, place) => first + place)
}

const asText = (codePoints: readonly number[]): readonly string[] =>
  codePoints.map((point) => String.fromCodePoint(point))
const basicCharacters = asText(basic)
const extendedCharacters = asText(extended)

const sizeOf = (text: string, encoding: string): number =>
  encoding === 'ucs2'
    ? text.length
    : [...text].reduce((sum, character) => sum + (extendedCharacters.includes(character) ? 2 : 1), 0)

t.test('the tables have as many characters as the standard', async (t) => {
  t.equal(new Set(basic).size, 127)
  t.equal(new Set([...basic, ...extended]).size, 137)
})

t.test('every code point of the Basic Multilingual Plane is GSM exactly if a table has it', async (t) => {
  const gsm = new Set([...basicCharacters, ...extendedCharacters])
  const misjudged: string[] = []
  for (let point = 0; point <= 0xffff; point++) {
    if (point >= 0xd800 && point <= 0xdfff) continue
    const character = String.fromCodePoint(point)
    if ((encodeText(character).encoding === 'gsm') !== gsm.has(character)) misjudged.push(point.toString(16))
  }
  t.same(misjudged, [])
})

const segmentCounts: readonly (readonly [text: string, encoding: string, lengths: readonly number[]])[] = [
  ['', 'gsm', [0]],
  ['a'.repeat(160), 'gsm', [160]],
  ['a'.repeat(161), 'gsm', [153, 8]],
  ['a'.repeat(306), 'gsm', [153, 153]],
  ['a'.repeat(307), 'gsm', [153, 153, 1]],
  ['€'.repeat(80), 'gsm', [80]],
  ['€'.repeat(81), 'gsm', [76, 5]],
  [`${'a'.repeat(152)}€${'a'.repeat(8)}`, 'gsm', [152, 9]],
  [`${'a'.repeat(151)}€${'a'.repeat(8)}`, 'gsm', [152, 8]],
  ['я'.repeat(70), 'ucs2', [70]],
  ['я'.repeat(71), 'ucs2', [67, 4]],
  ['😀'.repeat(35), 'ucs2', [70]],
  ['😀'.repeat(36), 'ucs2', [66, 6]],
  [`${'я'.repeat(66)}😀${'я'.repeat(4)}`, 'ucs2', [66, 6]],
  [`${'я'.repeat(65)}😀${'я'.repeat(4)}`, 'ucs2', [67, 4]],
  ['a'.repeat(70).concat('’'), 'ucs2', [67, 4]],
  ['ç', 'ucs2', [1]],
  ['Ç', 'gsm', [1]],
  ['`', 'ucs2', [1]],
]

t.test('segments at their limits', async (t) => {
  for (const [text, encoding, lengths] of segmentCounts) {
    const encoded = encodeText(text)
    t.equal(encoded.encoding, encoding, text)
    t.same(
      encoded.segments.map(({ length }) => length),
      lengths,
      text,
    )
  }
})

t.test('segments are the text in pieces, each as full as can be', async (t) => {
  const gsm = fc.array(fc.constantFrom(...basicCharacters, ...extendedCharacters, '€', '{'), { maxLength: 700 })
  const any = fc.array(fc.oneof(fc.constantFrom('a', '€', 'я', '😀', '👨‍👩‍👧'), fc.string({ unit: 'binary' })), {
    maxLength: 300,
  })
  const whole = fc.property(fc.oneof(gsm, any), (characters) => {
    const text = characters.join('')
    const { encoding, segments } = encodeText(text)
    const [single, joined] = encoding === 'gsm' ? [160, 153] : [70, 67]
    if (segments.join('') !== text) return false
    if (sizeOf(text, encoding) <= single) return segments.length === 1
    return segments.every((segment, place) => {
      const next = [...(segments[place + 1] ?? '')][0]
      const size = sizeOf(segment, encoding)
      const isWhole = !/[\ud800-\udbff]$/.test(segment) || !/^[\udc00-\udfff]/.test(segments[place + 1] ?? '')
      return isWhole && size > 0 && size <= joined && (next === undefined || size + sizeOf(next, encoding) > joined)
    })
  })
  t.doesNotThrow(() => fc.assert(whole))
})
