/** Small modules of sending: release times, sender policy, fingerprints, custom fields, quoted-printable. */
import assert from 'node:assert/strict'
import fc from 'fast-check'
import { encode, wrap } from 'nodemailer/lib/qp'
import t from 'tap'
import { type DomainName, parseAddress } from '../../../src/base/mail/address.js'
import { encodeAscii } from '../../../src/outbound/sending/compose-plain.js'
import { findCustomFieldFault } from '../../../src/outbound/sending/custom-fields.js'
import { fingerprintInSteps, fingerprintOf } from '../../../src/outbound/sending/idempotency.js'
import { parseReleaseTime, parseTimestamp } from '../../../src/outbound/sending/schedule.js'
import { checkEnvelopeSender, checkSender } from '../../../src/outbound/sending/sender-policy.js'
import { createKeylessPrincipal } from '../../../src/workspaces/accounts/access/principal.js'
import type { SendingDomain } from '../../../src/workspaces/domains/rows/sending-domains.js'

const now = Date.UTC(2026, 10, 21)

const day = 86_400_000

t.test('times are parsed strictly', async (t) => {
  const at = Date.UTC(2026, 11, 1, 9, 0)
  const good: readonly (readonly [string, number])[] = [
    ['2026-12-01T09:00:00Z', at],
    ['2026-12-01T09:00Z', at],
    ['2026-12-01t09:00:00z', at],
    ['2026-12-01T10:00:00+01:00', at],
    ['2026-12-01T10:00:00+0100', at],
    ['2026-11-30T23:30:00-09:30', at],
    ['2026-12-01T09:00:00.250Z', at + 250],
    ['2028-02-29T00:00:00Z', Date.UTC(2028, 1, 29)],
  ]
  for (const [text, moment] of good) t.equal(parseTimestamp(text), moment, text)
  const bad = ['', 'tomorrow', '2026-12-01', '2026-12-01T09:00:00', '2026-12-01 09:00:00Z', '2026-13-01T09:00:00Z']
  const impossible = [
    '2026-02-30T09:00:00Z',
    '2027-02-29T09:00:00Z',
    '2026-04-31T09:00Z',
    '2026-12-01T25:00:00Z',
    '2026-12-00T00:00Z',
  ]
  for (const text of [...bad, ...impossible, `${now}`]) t.equal(parseTimestamp(text), null, text)
})

t.test('a release lies at most thirty days ahead; a time in the past means now', async (t) => {
  t.equal(parseReleaseTime('2026-11-21T00:00:00Z', now), null)
  t.equal(parseReleaseTime('2020-01-01T00:00:00Z', now), null)
  t.equal(parseReleaseTime('2026-11-21T00:00:00.001Z', now), now + 1)
  t.equal(parseReleaseTime(new Date(now + 30 * day).toISOString(), now), now + 30 * day)
  t.throws(() => parseReleaseTime(new Date(now + 30 * day + 1).toISOString(), now), {
    name: 'Refusal',
    kind: 'malformed-message',
  })
})

t.test('a key may use senders in its own verified domains only', async (t) => {
  const domain = { domain: 'a.test' } as SendingDomain
  const verified = {
    findVerified: async (workspace: string, name: string) =>
      workspace === 'ws_1' && name === 'a.test' ? domain : undefined,
    listVerified: async (workspace: string) => (workspace === 'ws_1' ? (['a.test', 'c.test'] as DomainName[]) : []),
  }
  const principal = createKeylessPrincipal('ws_1')
  const check = (from: string, more: object = {}): Promise<SendingDomain> =>
    checkSender({ ...principal, ...more }, parseAddress(from), 'From', verified)
  t.equal(await check('x@a.test'), domain)
  await t.resolves(() => check('x@A.TEST'))
  await t.rejects(() => check('x@sub.a.test'), { name: 'Refusal', kind: 'sender-not-verified' })
  await t.rejects(() => check('x@sub.a.test'), { message: /; send from a\.test, c\.test, or verify sub\.a\.test$/ })
  await t.rejects(() => check('x@b.test', { allowedDomains: ['b.test', 'a.test'] }), {
    message: /; send from a\.test, or verify b/,
  })
  await t.rejects(() => check('x@a.test', { workspaceId: 'ws_2' }), {
    ...{ name: 'Refusal', kind: 'sender-not-verified' },
    message: /; add a\.test, publish its DNS records and verify it$/,
  })
  await t.rejects(() => check('x@a.test', { allowedDomains: ['b.test'] }), { name: 'Refusal', kind: 'forbidden' })
  await t.rejects(() => check('x@b.test', { allowedDomains: ['b.test'] }), {
    name: 'Refusal',
    kind: 'sender-not-verified',
  })
  await t.resolves(() => checkEnvelopeSender(principal, '', verified), 'the null reverse-path needs no domain')
})

t.test('a fingerprint distinguishes values that are equal when joined', async (t) => {
  t.equal(fingerprintOf(['a', 'bc']), fingerprintOf(['a', Buffer.from('bc')]))
  t.not(fingerprintOf(['a', 'bc']), fingerprintOf(['ab', 'c']))
  t.not(fingerprintOf(['a', 'b', 'c']), fingerprintOf(['a', 'b1:c']))
})

t.test('reserved and malformed fields are refused', async (t) => {
  const good: readonly (readonly [string, string])[] = [
    ['X-Campaign', 'spring'],
    ['List-Unsubscribe', '<https://a.test/u>'],
    ['Message-ID', '<a@b.test>'],
    ['In-Reply-To', '<a@b.test>'],
    ['References', '<a@b.test> <c@d.test>'],
    ['X-Empty', ''],
    ['X-Long', 'ä'.repeat(4000)],
    ['X-Pieces', `${'x'.repeat(800)} ${'y'.repeat(800)}`],
  ]
  for (const [name, value] of good) t.equal(findCustomFieldFault(name, value), null, name)
  const ours = 'From To CC bcc Resent-Bcc Reply-To Subject Date Sender DKIM-Signature Return-Path Received MIME-Version'
  const steering = 'Content-Type content-x X-Service-Tag x-pm-tag X-Mailgun-Tag'
  for (const name of `${ours} ${steering}`.split(' '))
    t.match(findCustomFieldFault(name, 'x'), /cannot be set here/, name)
  for (const name of ['', 'X Y', 'X:', 'X-Ä', 'X\r\nY', 'x'.repeat(77)])
    t.match(findCustomFieldFault(name, 'x'), /name/, name)
  for (const value of ['a\r\nBcc: x', 'a\nb', 'a\0']) t.match(findCustomFieldFault('X-A', value), /one line/)
  for (const value of ['\udc00', 'a \ud83d b']) t.match(findCustomFieldFault('X-A', value), /half of a surrogate pair/)
  t.equal(findCustomFieldFault('In-Reply-To', '<20261127.app-7>'), null, 'a foreign id without an at sign')
  t.match(findCustomFieldFault('X-A', 'ä'.repeat(4097)), /8192 octets/)
  t.match(findCustomFieldFault('X-A', 'x'.repeat(901)), /folded/)
  t.match(findCustomFieldFault('X-A', `x${' '.repeat(901)}y`), /folded/)
  for (const value of ['x', '<a>', '<a@b> <c@d>', '<ä@b.test>', '']) {
    t.match(findCustomFieldFault('Message-ID', value), /one message id/, value)
  }
  for (const value of ['x', '<>', '<a b>', '<a@b.test>,<c@d.test>', '']) {
    t.match(findCustomFieldFault('References', value), /message ids/, value)
  }
})

t.test('plain ASCII is encoded as nodemailer encodes it', (t) => {
  const unit = fc.constantFrom('a', '=', ' ', '\t', '\r\n', '~', '. ', '?', 'word '.repeat(6), 'x'.repeat(23))
  const property = fc.property(fc.string({ unit, maxLength: 60, size: 'max' }), (text) => {
    assert.equal(encodeAscii(text), wrap(encode(text)))
  })
  fc.assert(property)
  t.end()
})

t.test('a fingerprint in steps is the same, and lets others run', async (t) => {
  const parts = ['/path', Buffer.alloc(5_500_000, 'a'), 'ü', '', Buffer.alloc(0), 'x'.repeat(1_048_576)]
  let turns = 0
  let ended = false
  const count = (): void => {
    turns += 1
    if (!ended) setImmediate(count)
  }
  setImmediate(count)
  t.equal(await fingerprintInSteps(parts), fingerprintOf(parts))
  ended = true
  t.ok(turns >= 5, `${turns} turns`)
})
