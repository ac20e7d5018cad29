/** The client verifies what the daemon delivers, and refuses everything else. */
import t, { type Test } from 'tap'
import { verifyServiceSignature, verifyWebhook, WebhookError } from '../../../clients/js/src/webhooks.js'
import { TestClient } from '../../helpers/http/client-paths.js'
import { openPlainApi } from '../../helpers/http/plain-api.js'
import { type ReceivedRequest, webhookReceiver } from '../../helpers/http/webhook-receiver.js'
import { waitUntil } from '../../helpers/wait-until.js'

interface Delivered {
  readonly first: ReceivedRequest
  readonly rotated: ReceivedRequest
  readonly secret: string
  readonly newSecret: string
}

/** A test event, and another one after the secret was replaced. */
async function deliverTwice(t: Test): Promise<Delivered> {
  const settings = { webhooks: { allowed_private_networks: ['127.0.0.0/8'] } }
  const { app, host } = await openPlainApi(t, {}, { settings })
  const receiver = await webhookReceiver(t)
  const client = new TestClient(`http://${host}`, app.key)
  const hook = await client.request('POST', '/v1/webhooks', { body: { url: receiver.url, events: ['email.sent'] } })
  const path = { id: hook.id }
  await client.request('POST', '/v1/webhooks/{id}/test', { path })
  const first = await waitUntil('the first delivery', () => receiver.requests[0] ?? false)
  const { signing_secret: newSecret } = await client.request('POST', '/v1/webhooks/{id}/rotate-secret', { path })
  await client.request('POST', '/v1/webhooks/{id}/test', { path })
  const rotated = await waitUntil('the second delivery', () => receiver.requests[1] ?? false)
  return { first, rotated, secret: hook.signing_secret, newSecret }
}

t.test('a delivery is verified by both kinds of signature', async (t) => {
  const { first, rotated, secret, newSecret } = await deliverTwice(t)
  const { body, headers } = first
  const genuine = { body, headers, secret }
  t.match(verifyWebhook(genuine), { id: headers['webhook-id'], type: 'webhook.test', data: {} })
  t.match(verifyServiceSignature(genuine), { type: 'webhook.test' })
  t.match(verifyWebhook({ ...genuine, body: Buffer.from(body) }), { type: 'webhook.test' }, 'as bytes')
  const fields = new Headers(Object.entries(headers).map(([name, value]): [string, string] => [name, String(value)]))
  t.match(verifyWebhook({ ...genuine, headers: fields }), { type: 'webhook.test' }, 'with the fields of fetch')
  for (const one of [secret, newSecret, [newSecret, secret]]) {
    t.match(verifyWebhook({ ...rotated, secret: one }), { type: 'webhook.test' }, 'with either of two secrets')
  }
  t.throws(() => verifyServiceSignature({ ...rotated, secret }), WebhookError, 'which has one signature only')
  t.match(verifyServiceSignature({ ...rotated, secret: [secret, newSecret] }), { type: 'webhook.test' })
})

t.test('what is not genuine, or too old, is refused', async (t) => {
  const { first, newSecret, secret } = await deliverTwice(t)
  const { body, headers } = first
  const signature = String(headers['webhook-signature'])
  const sentAt = Number(headers['webhook-timestamp'])
  const refuse = (changes: object, message: RegExp, now = sentAt * 1_000): void => {
    t.throws(() => verifyWebhook({ body, headers, secret, ...changes }, { now }), { name: 'WebhookError', message })
  }
  refuse({ body: `${body} ` }, /is not the signature/)
  refuse({ secret: newSecret }, /is not the signature/)
  refuse({ headers: { ...headers, 'webhook-id': 'evt_other' } }, /is not the signature/)
  refuse({ headers: { ...headers, 'webhook-timestamp': `${sentAt + 1}` } }, /is not the signature/)
  refuse({ headers: { ...headers, 'webhook-signature': signature.replace('v1,', 'v1a,') } }, /is not the signature/)
  refuse({ headers: { ...headers, 'webhook-signature': '' } }, /^webhook-signature: is missing/)
  refuse({ headers: { 'x-service-signature': headers['x-service-signature'] } }, /^webhook-id: is missing/)
  refuse({ headers: { ...headers, 'webhook-timestamp': 'NaN' } }, /must be seconds/)
  refuse({}, /is more than 300 seconds/, (sentAt + 301) * 1_000)
  refuse({}, /is more than 300 seconds/, (sentAt - 301) * 1_000)
  t.ok(verifyWebhook({ body, headers, secret }, { now: (sentAt + 300) * 1_000 }))
  t.throws(() => verifyWebhook({ body, headers, secret: '' }), TypeError, 'an empty secret')
  t.throws(() => verifyWebhook({ body, headers, secret: [] }), TypeError)
  t.throws(() => verifyServiceSignature({ body, headers: {}, secret }), WebhookError)
  const mixed = { ...headers, 'webhook-signature': `v1,AAAA v2,BBBB ${signature}` }
  t.ok(verifyWebhook({ body, headers: mixed, secret }), 'one of several signatures is enough')
})
