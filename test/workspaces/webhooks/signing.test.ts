/** Signatures, checked by another implementation and by values that were computed apart. */
import { createHmac } from 'node:crypto'
import fc from 'fast-check'
import { Webhook } from 'standardwebhooks'
import t from 'tap'
import { signRequest } from '../../../src/workspaces/webhooks/signing.js'

const secret = `whsec_${Buffer.alloc(32, 7).toString('base64')}`
const previousSecret = `whsec_${Buffer.alloc(32, 9).toString('base64')}`

t.test('both signatures are those of the specifications', async (t) => {
  const fields = signRequest({ id: 'evt_1', at: 1_700_000_000_999, body: '{"a":"é"}', secret, previousSecret: null })
  t.equal(fields['X-Service-Signature'], `sha256=${createHmac('sha256', secret).update('{"a":"é"}').digest('hex')}`)
  const own = createHmac('sha256', Buffer.alloc(32, 7)).update('evt_1.1700000000.{"a":"é"}').digest('base64')
  t.equal(fields['webhook-signature'], `v1,${own}`)
  t.match(fields, { 'webhook-id': 'evt_1', 'webhook-timestamp': '1700000000' })
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
