/** Header fields of a webhook: which are allowed, and how their values stay secret. */
import t from 'tap'
import { findHeaderFault, maskHeaders, mergeHeaders } from '../../../../src/workspaces/webhooks/settings/own-headers.js'

t.test('fields that frame or sign the request are refused, and bytes that could end a field', async (t) => {
  for (const [name, value] of [
    ['Authorization', 'Bearer abc'],
    ['X-Token', ''],
  ] as const) {
    t.equal(findHeaderFault(name, value), null, name)
  }
  for (const name of ['Host', 'content-type', 'Transfer-Encoding', 'X-Service-Attempt', 'svix-id', 'Webhook-Id']) {
    t.match(findHeaderFault(name, 'x'), /must not set/, name)
  }
  for (const name of ['', 'a b', 'a:', 'ä', 'x'.repeat(101)]) t.match(findHeaderFault(name, 'x'), /must have the name/)
  for (const value of ['a\r\nb: c', 'ä', '\0', 'x'.repeat(2001)]) {
    t.match(findHeaderFault('X-Token', value), /must have values/)
  }
})

t.test('a mask keeps the stored value', async (t) => {
  const stored = { 'X-One': '1', 'X-Two': '2' }
  t.same(maskHeaders(stored), { 'X-One': '***', 'X-Two': '***' })
  t.same(mergeHeaders(stored, { 'x-one': '***', 'X-Two': 'new', 'X-Three': '***' }), { 'x-one': '1', 'X-Two': 'new' })
})
