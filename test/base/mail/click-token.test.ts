/** Tokens of links with a URL of one recipient's own. */
import { createHmac, createSecretKey } from 'node:crypto'
import fc from 'fast-check'
import t from 'tap'
import { decodeBase32 } from '../../../src/base/mail/base32.js'
import { createClickToken, isClickToken } from '../../../src/base/mail/click-token.js'

const secret = createSecretKey(Buffer.alloc(32, 7))
const emailId = 'bc-0193a111-2222-7333-8444-555566667777'
const url = 'https://shop.example.test/?id=42'
const alphabet = 'abcdefghijklmnopqrstuvwxyz234567'

t.test('the token is base32 of 128 bits of the HMAC of email and URL', (t) => {
  const token = createClickToken(secret, emailId, url)
  const mac = createHmac('sha256', Buffer.alloc(32, 7)).update(`click in email ${emailId} ${url}`).digest()
  t.match(token, /^[a-z2-7]{26}$/)
  t.same(decodeBase32(token, 16, alphabet), mac.subarray(0, 16))
  t.ok(isClickToken(secret, { emailId, url, token }))
  t.ok(isClickToken(secret, { emailId, url, token: token.toUpperCase() }), 'where case is lost')
  t.end()
})

t.test('a token is worth nothing for another URL, another email or another server', (t) => {
  const token = createClickToken(secret, emailId, url)
  const other = 'bc-0193a111-2222-7333-8444-555566667778'
  t.notOk(isClickToken(secret, { emailId: other, url, token }))
  t.notOk(isClickToken(secret, { emailId, url: `${url}3`, token }))
  t.notOk(isClickToken(secret, { emailId: '', url: `${emailId} ${url}`, token }))
  t.notOk(isClickToken(createSecretKey(Buffer.alloc(32, 8)), { emailId, url, token }))
  t.end()
})

t.test('no other text is the token', (t) => {
  const token = createClickToken(secret, emailId, url)
  for (const given of ['', token.slice(1), `${token}a`, ` ${token}`, `${token}=`, 'ü'.repeat(26), 'ü'.repeat(13)]) {
    t.notOk(isClickToken(secret, { emailId, url, token: given }), JSON.stringify(given))
  }
  // The last character has two unused bits: only one spelling is ours.
  const last = alphabet.indexOf(token.at(-1) ?? '')
  for (const bits of [1, 2, 3]) {
    const spelled = token.slice(0, -1) + alphabet.charAt(last ^ bits)
    t.notOk(isClickToken(secret, { emailId, url, token: spelled }), spelled)
  }
  fc.assert(
    fc.property(fc.string({ unit: 'binary', maxLength: 40 }), (given) => {
      t.equal(isClickToken(secret, { emailId, url, token: given }), given.toLowerCase() === token)
    }),
  )
  t.end()
})
