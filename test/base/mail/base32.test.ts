import { randomBytes } from 'node:crypto'
import tap from 'tap'
import { decodeBase32, encodeBase32 } from '../../../src/base/mail/base32.js'

const RFC_4648 = 'abcdefghijklmnopqrstuvwxyz234567'

// RFC 4648 section 10, without padding.
const vectors = [
  ['', ''],
  ['f', 'my'],
  ['fo', 'mzxq'],
  ['foo', 'mzxw6'],
  ['foob', 'mzxw6yq'],
  ['fooba', 'mzxw6ytb'],
  ['foobar', 'mzxw6ytboi'],
] as const

tap.test('the vectors of RFC 4648', async (t) => {
  for (const [text, encoded] of vectors) {
    t.equal(encodeBase32(Buffer.from(text), RFC_4648), encoded, JSON.stringify(text))
    t.equal(decodeBase32(encoded, text.length, RFC_4648).toString(), text, encoded)
  }
})

tap.test('any bytes come back in any alphabet', async (t) => {
  const other = '0123456789abcdefghjkmnpqrstvwxyz'
  const wrong: string[] = []
  for (let size = 0; size < 64; size++) {
    const bytes = randomBytes(size)
    for (const alphabet of [RFC_4648, other]) {
      if (!decodeBase32(encodeBase32(bytes, alphabet), size, alphabet).equals(bytes)) wrong.push(bytes.toString('hex'))
    }
  }
  t.strictSame(wrong, [])
})
