/** Quoted-printable: both ways, against another implementation. */
import assert from 'node:assert/strict'
import fc from 'fast-check'
import { encode as encodePeer, wrap as wrapPeer } from 'nodemailer/lib/qp'
import t from 'tap'
import { decodeQuotedPrintable, encodeQuotedPrintable } from '../../../src/base/mail/quoted-printable.js'

const decode = (text: string): string | undefined =>
  decodeQuotedPrintable(Buffer.from(text, 'latin1'))?.toString('latin1')
const encode = (text: string): string => encodeQuotedPrintable(Buffer.from(text, 'latin1')).toString('latin1')

t.test('decoding', async (t) => {
  const table: readonly [string, string | undefined][] = [
    ['', ''],
    ['a=3Db=c3=A9', 'a=b\xc3\xa9'],
    ['a=\r\nb', 'ab'],
    ['a= \t\r\nb', 'ab'],
    ['a=\nb', 'ab'],
    ['a=', 'a'],
    ['a= ', 'a'],
    ['a \t\r\nb', 'a\r\nb'],
    ['a \nb ', 'a\nb'],
    ['a=20\r\nb', 'a \r\nb'],
    ['a =\r\n\r\nb', 'a \r\nb'],
    ['a b', 'a b'],
    ['\xe9', '\xe9'],
    ['a=4', undefined],
    ['a=G0', undefined],
    ['a==', undefined],
    ['a=\rb', undefined],
    ['a= b', undefined],
  ]
  for (const [text, expected] of table) t.equal(decode(text), expected, JSON.stringify(text))
})

t.test('encoding', async (t) => {
  const table: readonly [string, string][] = [
    ['', ''],
    ['a=b\x7f\xe9\0', 'a=3Db=7F=E9=00'],
    ['a b\tc', 'a b\tc'],
    ['a \r\nb\t', 'a=20\r\nb=09'],
    ['a\nb\rc\r\n', 'a=0Ab=0Dc\r\n'],
    ['x'.repeat(76), 'x'.repeat(76)],
    ['x'.repeat(77), `${'x'.repeat(75)}=\r\nxx`],
    [`${'x'.repeat(75)} \r\n`, `${'x'.repeat(75)}=\r\n=20\r\n`],
    [`${'x'.repeat(73)}é\r\n`, `${'x'.repeat(73)}=E9\r\n`],
    [`${'x'.repeat(74)}éx`, `${'x'.repeat(74)}=\r\n=E9x`],
  ]
  for (const [text, expected] of table) t.equal(encode(text), expected, JSON.stringify(text))
})

t.test('any bytes come back, in legal lines', async () => {
  const bytes = fc.array(fc.constantFrom(0x0d, 0x0a, 0x20, 0x09, 0x3d, 0x41, 0x61, 0x2e, 0xe9, 0x00, 0x7f), {
    maxLength: 400,
    size: 'max',
  })
  fc.assert(
    fc.property(bytes, (all) => {
      const buffer = Buffer.from(all)
      const encoded = encodeQuotedPrintable(buffer)
      assert.ok(
        encoded
          .toString('latin1')
          .split('\r\n')
          .every((line) => /^[\t\x20-\x7e]{0,76}$/.test(line) && !/[\t ]$/.test(line)),
      )
      assert.deepEqual(decodeQuotedPrintable(encoded), buffer)
    }),
  )
})

t.test('what another implementation encodes is decoded', async () => {
  const piece = fc.constantFrom('\r\n', ' ', '\t', '=', 'a', '.', 'é', '\0', 'word '.repeat(20))
  fc.assert(
    fc.property(fc.array(piece, { maxLength: 60, size: 'max' }), (pieces) => {
      const buffer = Buffer.from(pieces.join(''))
      const encoded = Buffer.from(wrapPeer(encodePeer(buffer)), 'latin1')
      assert.deepEqual(decodeQuotedPrintable(encoded), buffer)
    }),
  )
})
