import t from 'tap'
import type { InboundRecipient, SystemName } from '../../../../src/inbound/receiving/recipients/recipient-policy.js'
import { buildTooLarge, isTooLargeFor } from '../../../../src/inbound/receiving/recipients/system-mail.js'

const system = (name: SystemName): InboundRecipient => ({ kind: 'system', name, detail: '' })
const MB = 1_048_576

t.test('the largest messages to addresses of the service', async (t) => {
  for (const [name, limit] of [
    ['postmaster', MB],
    ['abuse', MB],
    ['unsubscribe', MB],
    ['dmarc', 15 * MB],
    ['tlsrpt', 15 * MB],
  ] as const) {
    t.notOk(isTooLargeFor(system(name), limit), name)
    t.ok(isTooLargeFor(system(name), limit + 1), name)
  }
  t.notOk(isTooLargeFor(system('fbl'), 30 * MB), 'complaints have the limit of all mail')
  t.notOk(isTooLargeFor({ kind: 'return-path', recipientId: 'one' }, 30 * MB))
  t.equal(
    buildTooLarge([system('fbl'), system('dmarc')]).message,
    `mail to this address may have at most ${15 * MB} octets`,
  )
  t.equal(
    buildTooLarge([system('dmarc'), system('abuse')]).message,
    `mail to this address may have at most ${MB} octets`,
  )
})
