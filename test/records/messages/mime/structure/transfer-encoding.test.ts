/** The content of a part is decoded as far as it can be read. */
import t from 'tap'
import {
  decodeTransfer,
  type TransferEncoding,
} from '../../../../../src/records/messages/mime/structure/transfer-encoding.js'

const cases: readonly (readonly [TransferEncoding, string, string])[] = [
  ['quoted-printable', 'a=3Db=e9', 'a=b\xe9'],
  ['quoted-printable', 'a=\r\nb=\nc= \t\r\nd', 'abcd'],
  ['quoted-printable', '=XY = =4', '=XY = =4'],
  ['quoted-printable', 'blanks \t\r\nat  ends  ', 'blanks\r\nat  ends'],
  ['quoted-printable', '=3=\r\nD\xe9', '=\xe9'],
  ['base64', 'YWJj\r\nZGU=\r\nbW9yZQ==', 'abcde'],
  ['base64', 'YW!Jj*', 'abc'],
  ['base64', 'YW-Jj_', 'abc'],
  ['uuencode', 'begin 644 a\n#86)C\n`\nend\nmore', 'abc'],
  ['uuencode', 'no file', 'no file'],
  ['', 'a=3D', 'a=3D'],
]

t.test('each encoding', (t) => {
  for (const [encoding, written, decoded] of cases)
    t.equal(decodeTransfer(Buffer.from(written, 'latin1'), encoding).toString('latin1'), decoded, written)
  t.end()
})

t.test('no encoding makes more octets than are written', (t) => {
  const bomb = Buffer.from(`begin 644 a\n${'M\n'.repeat(10_000)}end\n`)
  t.ok(decodeTransfer(bomb, 'uuencode').length <= bomb.length)
  t.end()
})
