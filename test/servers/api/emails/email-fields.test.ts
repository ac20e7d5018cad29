/** Attachments in base64: exactly what RFC 4648 section 4 calls the encoding of their bytes. */
import fc from 'fast-check'
import t from 'tap'
import {
  base64,
  bodyText,
  mailboxObject,
  mailboxText,
  templateData,
} from '../../../../src/servers/api/emails/email-fields.js'

/** More than is compared at once. */
const SIZES = [0, 1, 2, 3, 49_151, 49_152, 49_153, 98_304, 100_000]

t.test('the encoding of bytes of any length is accepted', async (t) => {
  for (const size of SIZES) {
    const bytes = Buffer.alloc(size, 'posthorn')
    t.ok(base64.parse(bytes.toString('base64')).equals(bytes), `${size} bytes`)
  }
})

t.test('any change of a character is refused, wherever it is', async (t) => {
  const text = Buffer.alloc(100_000, 'posthorn').toString('base64')
  const place = fc.nat(text.length - 1)
  const character = fc.constantFrom('-', '_', '=', ' ', '\n', '\r\n', '\0', 'ü', '')
  fc.assert(
    fc.property(place, character, (at, other) => {
      fc.pre(text[at] !== other)
      const changed = `${text.slice(0, at)}${other}${text.slice(at + 1)}`
      if (base64.safeParse(changed).success) throw new Error(`accepted with ${JSON.stringify(other)} at ${at}`)
    }),
  )
  t.pass('as asserted')
})

t.test('half of a surrogate pair in a name or an address is told as such', async (t) => {
  const name = { address: 'a@b.test', name: 'Bob \ud83d' }
  const message = /half of a surrogate pair: send each character whole/
  t.match(mailboxObject.safeParse(name).error?.issues, [{ path: ['name'], message }])
  t.match(mailboxText.safeParse('Bob \ud83d <a@b.test>').error?.issues, [{ message }])
  t.match(mailboxText.safeParse('a\ude00@b.test').error?.issues, [{ message }])
})

t.test('padding and unused bits are strict', async (t) => {
  for (const text of ['QQ', 'QQ=', 'QQ===', 'QR==', 'QUJ=', 'QUI', 'Q', '====', 'QUJD\n', ' QUJD', 'QUJDQ']) {
    t.equal(base64.safeParse(text).success, false, JSON.stringify(text))
  }
  t.equal(base64.parse('QQ==').toString(), 'A')
})

t.test('a long body is UTF-8', async (t) => {
  t.equal(bodyText.parse('ä'.repeat(65_536)), 'ä'.repeat(65_536))
  t.strictSame(bodyText.parse('ä'.repeat(65_537)), Buffer.from('ä'.repeat(65_537)))
})

t.test('the texts of all values of a template have a limit together', async (t) => {
  const half = 'x'.repeat(1_048_576)
  const most = { a: half, b: { c: [half, 1, null, true] } }
  t.equal(templateData.safeParse(most).success, true)
  t.match(templateData.safeParse({ ...most, d: 'y' }).error?.issues, [{ message: /^has more than 2097152 characters/ }])
})
