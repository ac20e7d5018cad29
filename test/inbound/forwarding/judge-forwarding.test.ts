import t from 'tap'
import type { DmarcVerdict } from '../../../src/base/mail/authentication-results.js'
import { scanHeader } from '../../../src/base/mail/header-fields.js'
import { countOwnHops, judgeForwarding, readDeliveredTo } from '../../../src/inbound/forwarding/judge-forwarding.js'

const dmarc = (result: DmarcVerdict['result'], policy: DmarcVerdict['policy']): DmarcVerdict => ({
  ...{ result, policy, domain: 'b.test', policyDomain: 'b.test', disposition: 'none', reason: null },
})
const honest = {
  spamStatus: 'clean',
  dmarc: dmarc('pass', 'reject'),
  deliveredTo: new Set<string>(),
  ownHops: 1,
  address: 'A@in.test',
} as const

const cases = [
  ['an honest message', {}, null],
  ['spam', { spamStatus: 'spam' }, 'spam'],
  ['what may be spam', { spamStatus: 'suspicious' }, null],
  ['a message without a verdict', { spamStatus: null }, null],
  ['DMARC fails, reject', { dmarc: dmarc('fail', 'reject') }, 'dmarc'],
  ['DMARC fails, quarantine', { dmarc: dmarc('fail', 'quarantine') }, 'dmarc'],
  ['DMARC fails, none', { dmarc: dmarc('fail', 'none') }, null],
  ['no DMARC record', { dmarc: dmarc('none', null) }, null],
  ['DNS gave no answer', { dmarc: dmarc('temperror', null) }, null],
  ['no results', { dmarc: undefined }, null],
  ['it was here', { deliveredTo: new Set(['a@in.test']) }, 'loop'],
  ['it was received three times here', { ownHops: 3 }, null],
  ['it was received four times here', { ownHops: 4 }, 'loop'],
  ['it was at another address', { deliveredTo: new Set(['b@in.test']) }, null],
  ['spam that loops', { spamStatus: 'spam', deliveredTo: new Set(['a@in.test']) }, 'spam'],
] as const

for (const [name, more, reason] of cases) {
  t.test(name, async (t) => t.equal(judgeForwarding({ ...honest, ...more }), reason))
}

t.test('Delivered-To fields are read in any case, the first hundred', async (t) => {
  const fields = Array.from({ length: 101 }, (_, place) => `Delivered-To:  U${place}@in.test\r\n`)
  const long = `Delivered-To: ${'x'.repeat(1_000)}\r\n`
  const raw = Buffer.from(`Subject: x\r\n${long}${fields.join('')}\r\n`)
  const found = readDeliveredTo(raw, scanHeader(raw))
  t.equal(found.size, 100)
  t.ok(found.has('u0@in.test'))
})

t.test('our Received fields are counted, in the form that we write them', async (t) => {
  const own = 'Received: from a.test (a.test [192.0.2.1])\r\n\tby MX.home.test with ESMTPS;\r\n\tdate\r\n'
  const other = 'Received: from mx.home.test by mx.home.test.evil.test with ESMTP; date\r\n'
  const raw = Buffer.from(`${own}${other}${own}Subject: by mx.home.test with x\r\n\r\n`)
  t.equal(countOwnHops(raw, scanHeader(raw), 'mx.home.test'), 2)
})

t.test('of very long fields the beginning is read', async (t) => {
  const raw = Buffer.from(
    `Received: ${'x '.repeat(500_000)}by mx.home.test with y\r\nDelivered-To: ${'u'.repeat(5_000)}\r\n\r\n`,
  )
  t.equal(countOwnHops(raw, scanHeader(raw), 'mx.home.test'), 0)
  t.equal([...readDeliveredTo(raw, scanHeader(raw))][0]?.length, 1_023, 'with the blank before it')
})
