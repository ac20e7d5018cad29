/** Signed references to a recipient, as return path, reference field and unsubscribe address. */

import { createHmac, createSecretKey } from 'node:crypto'
import fc from 'fast-check'
import t from 'tap'
import { parseDomainName, tryParseAddress } from '../../../src/base/mail/address.js'
import {
  createReferenceField,
  createReturnPath,
  createUnsubscribeAddress,
  recipientOfReference,
  recipientOfReturnPath,
  recipientOfUnsubscribe,
} from '../../../src/base/mail/recipient-token.js'

const secret = createSecretKey(Buffer.alloc(32, 7))

const id = '0193a111-2222-7333-8444-555566667777'

const host = parseDomainName('mail.example.test')

t.test('a return path leads back to its recipient', (t) => {
  const path = createReturnPath(secret, id, host)
  t.match(path, /^bounce\+[a-z2-7]{42}@mail\.example\.test$/)
  const local = path.split('@')[0] ?? ''
  t.equal(recipientOfReturnPath(secret, local), id)
  t.equal(recipientOfReturnPath(secret, local.toUpperCase()), id)
  t.throws(() => createReturnPath(secret, 'no uuid', host))
  t.end()
})

t.test('the token is base32 of the id and of 80 bits of its HMAC', (t) => {
  const bytes = Buffer.from(id.replaceAll('-', ''), 'hex')
  const mac = createHmac('sha256', secret).update(bytes).digest().subarray(0, 10)
  const bits = (part: Buffer, size: number): string => {
    const all = [...part]
      .map((byte) => byte.toString(2).padStart(8, '0'))
      .join('')
      .padEnd(size * 5, '0')
    return Array.from(
      { length: size },
      (_, at) => 'abcdefghijklmnopqrstuvwxyz234567'[Number.parseInt(all.slice(at * 5, at * 5 + 5), 2)],
    ).join('')
  }
  t.equal(createReturnPath(secret, id, host), `bounce+${bits(bytes, 26)}${bits(mac, 16)}@${host}`)
  t.end()
})

t.test('any other local part is refused', (t) => {
  const local = createReturnPath(secret, id, host).split('@')[0] ?? ''
  for (let at = 0; at < local.length; at++) {
    for (const char of ['a', 'b', '7', '1', 'ü']) {
      const changed = local.slice(0, at) + char + local.slice(at + 1)
      if (changed !== local) t.equal(recipientOfReturnPath(secret, changed), null, changed)
    }
  }
  t.equal(recipientOfReturnPath(createSecretKey(Buffer.alloc(32, 8)), local), null)
  for (const other of ['', 'bounce+', local.slice(1), `${local}a`, local.slice(0, -1)]) {
    t.equal(recipientOfReturnPath(secret, other), null)
  }
  fc.assert(
    fc.property(fc.string({ unit: 'binary', minLength: 40, maxLength: 50 }), (text) =>
      t.equal(recipientOfReturnPath(secret, text), null),
    ),
    { numRuns: 200, seed: 4 },
  )
  fc.assert(
    fc.property(fc.uuid(), (uuid) =>
      t.equal(recipientOfReturnPath(secret, createReturnPath(secret, uuid, host).slice(0, 49)), uuid),
    ),
    { numRuns: 200, seed: 4 },
  )
  t.end()
})

t.test('a token is valid for its own purpose only', (t) => {
  const tokens = {
    bounce: createReturnPath(secret, id, host).slice('bounce+'.length, -1 - host.length),
    reference: createReferenceField(secret, id).slice('X-Posthorn-Reference: '.length, -2),
    unsubscribe: createUnsubscribeAddress(secret, id, host).slice('unsubscribe+'.length, -1 - host.length),
  }
  const readers: Readonly<Record<keyof typeof tokens, (token: string) => string | null>> = {
    bounce: (token) => recipientOfReturnPath(secret, `bounce+${token}`),
    reference: (token) => recipientOfReference(secret, token),
    unsubscribe: (token) => recipientOfUnsubscribe(secret, token),
  }
  for (const [purpose, token] of Object.entries(tokens)) {
    t.match(token, /^[a-z2-7]{42}$/)
    for (const [reader, read] of Object.entries(readers)) {
      t.equal(read(token), purpose === reader ? id : null, `${purpose} read as ${reader}`)
    }
  }
  t.equal(recipientOfReference(secret, ` ${tokens.reference.toUpperCase()}\t`), id)
  t.equal(recipientOfUnsubscribe(createSecretKey(Buffer.alloc(32, 8)), tokens.unsubscribe), null)
  t.equal(tryParseAddress(createUnsubscribeAddress(secret, id, host)), createUnsubscribeAddress(secret, id, host))
  t.end()
})
