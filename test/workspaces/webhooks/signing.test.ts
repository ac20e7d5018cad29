/** Signatures, checked by another implementation and by values that were computed apart. */
import { createHmac, createPublicKey, createVerify } from 'node:crypto'
import fc from 'fast-check'
import { Webhook } from 'standardwebhooks'
import t from 'tap'
import { generateVerificationKeys } from '../../../src/workspaces/webhooks/settings/verification-key.js'
import { signRequest, signWithKeyPair } from '../../../src/workspaces/webhooks/signing.js'

const secret = `whsec_${Buffer.alloc(32, 7).toString('base64')}`
const previousSecret = `whsec_${Buffer.alloc(32, 9).toString('base64')}`

t.test('both signatures are those of the specifications', async (t) => {
  const fields = signRequest({ id: 'evt_1', at: 1_700_000_000_999, body: '{"a":"é"}', secret, previousSecret: null })
  t.equal(fields['X-Service-Signature'], `sha256=${createHmac('sha256', secret).update('{"a":"é"}').digest('hex')}`)
  const own = createHmac('sha256', Buffer.alloc(32, 7)).update('evt_1.1700000000.{"a":"é"}').digest('base64')
  t.equal(fields['webhook-signature'], `v1,${own}`)
  t.match(fields, { 'webhook-id': 'evt_1', 'webhook-timestamp': '1700000000' })
  for (const name of ['id', 'timestamp', 'signature']) t.equal(fields[`svix-${name}`], fields[`webhook-${name}`])
  const bytes = signRequest({
    ...{ id: 'evt_1', at: 1_700_000_000_999, secret, previousSecret: null },
    body: Buffer.from('{"a":"é"}'),
  })
  t.same(bytes, fields, 'bytes are signed as their text')
})

t.test('the key pair signs the timestamp and the bytes of the body', async (t) => {
  const keys = generateVerificationKeys()
  const fields = signWithKeyPair(keys.verification_secret, 1_700_000_000_999, '[{}]')
  const key = createPublicKey({ key: Buffer.from(keys.verification_key, 'base64'), format: 'der', type: 'spki' })
  const signature = fields['X-Twilio-Email-Event-Webhook-Signature'] ?? ''
  t.equal(fields['X-Twilio-Email-Event-Webhook-Timestamp'], '1700000000')
  t.ok(createVerify('sha256').update('1700000000[{}]').verify(key, signature, 'base64'))
  t.notOk(createVerify('sha256').update('1700000001[{}]').verify(key, signature, 'base64'))
})

t.test('the library of Standard Webhooks verifies any body, with either secret', async (t) => {
  const property = fc.property(fc.json(), fc.boolean(), (body, isRotated) => {
    const previous = isRotated ? previousSecret : null
    const fields = { ...signRequest({ id: 'evt_2', at: Date.now(), body, secret, previousSecret: previous }) }
    new Webhook(secret).verify(body, fields)
    if (isRotated) new Webhook(previousSecret).verify(body, fields)
    t.throws(() => new Webhook(isRotated ? `whsec_${'A'.repeat(43)}=` : previousSecret).verify(body, fields))
    t.throws(() => new Webhook(secret).verify(`${body} `, fields))
  })
  fc.assert(property, { numRuns: 50 })
})
