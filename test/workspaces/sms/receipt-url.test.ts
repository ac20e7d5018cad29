/** URLs of receipts: only ours are right, for one code each. */
import { createSecretKey } from 'node:crypto'
import fc from 'fast-check'
import t from 'tap'
import { buildReceiptUrl, isReceiptToken } from '../../../src/workspaces/sms/receipt-url.js'

const secret = createSecretKey(Buffer.alloc(32, 1))
const ID = '0197b9e5-5c1c-7cf4-8d1f-0b6a2f6f4a10'
const url = buildReceiptUrl(secret, 'https://mail.example.test', ID)
const token = url.slice(url.lastIndexOf('/') + 1)

t.test('the token is 128 bits in 26 characters, of the secret and the id', async (t) => {
  t.match(url, /^https:\/\/mail\.example\.test\/v1\/sms\/receipts\/[0-9a-f-]{36}\/[a-z2-7]{26}$/)
  t.ok(isReceiptToken(secret, ID, token))
  t.equal(isReceiptToken(createSecretKey(Buffer.alloc(32, 2)), ID, token), false)
  t.equal(isReceiptToken(secret, ID.replace(/.$/, '1'), token), false)
})

t.test('no other text is right', async (t) => {
  const other = fc.oneof(
    fc.string({ unit: 'binary', maxLength: 60 }),
    fc
      .tuple(fc.nat(25), fc.constantFrom(...'abcdefghijklmnopqrstuvwxyz234567A='))
      .map(([place, char]) => token.slice(0, place) + char + token.slice(place + 1)),
    fc.constantFrom('', token.toUpperCase(), `${token} `, `${token}a`, token.slice(0, -1), `é${token.slice(2)}`),
  )
  fc.assert(fc.property(other, (text) => isReceiptToken(secret, ID, text) === (text === token)))
  t.pass()
})
