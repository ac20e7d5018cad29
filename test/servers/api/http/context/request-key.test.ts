/** The key of a request, where client libraries put it. */
import t from 'tap'
import { findKey, requireKey } from '../../../../../src/servers/api/http/context/request-key.js'
import { catchRefusal } from '../../../../helpers/catch-refusal.js'

const key = `ph_${'aB3-_'.repeat(8)}xyz`
const basic = (pair: string): string => `Basic ${Buffer.from(pair).toString('base64')}`

t.test('each form has the key', async (t) => {
  for (const headers of [
    { authorization: `Bearer ${key}` },
    { authorization: basic(`api:${key}`) },
    { authorization: basic(`:${key}`) },
    { authorization: `Zoho-enczapikey ${key}` },
    {
      authorization: `AWS4-HMAC-SHA256 Credential=${key}/20301231/eu-west-1/ses/aws4_request, SignedHeaders=host, Signature=0f`,
    },
    { 'x-postmark-server-token': key },
    { 'api-key': key },
  ])
    t.equal(requireKey(headers), key, String(Object.values(headers)[0]))
})

t.test('a field with another form is refused, and does not count as absent', async (t) => {
  for (const authorization of [
    'Bearer',
    `Digest ${key}`,
    basic('no colon'),
    basic('api:'),
    'Basic ====',
    `Basic ${'A'.repeat(2_000)}`,
    'AWS4-HMAC-SHA256 Credential=',
    `Bearer ${'x'.repeat(201)}`,
  ]) {
    t.match(
      await catchRefusal(() => requireKey({ authorization })),
      { kind: 'bad-credentials' },
      authorization.slice(0, 40),
    )
    t.equal(findKey({ authorization, 'api-key': key }), null, 'Authorization counts first')
  }
})

t.test('without any, there is no key', async (t) => {
  t.match(await catchRefusal(() => requireKey({})), { kind: 'authentication-required' })
  t.match(await catchRefusal(() => requireKey({ authorization: '' })), { kind: 'authentication-required' })
})
