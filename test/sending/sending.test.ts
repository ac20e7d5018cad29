/** Reading what an app asks of us, and making its message ready: pure, by tables. */

import fc from 'fast-check'
import t from 'tap'
import { createKeylessPrincipal } from '../../src/accounts/principal.js'
import type { SendingDomain } from '../../src/domains/sending-domains.js'
import { parseAddress } from '../../src/mail/address.js'
import { scanHeader } from '../../src/mail/header-fields.js'
import { Refusal } from '../../src/mail/refusal.js'
import { fingerprintOf } from '../../src/sending/idempotency.js'
import { prepareMessage, summarizeMessage } from '../../src/sending/prepare-message.js'
import { parseReleaseTime, parseTimestamp } from '../../src/sending/schedule.js'
import { checkEnvelopeSender, checkSender } from '../../src/sending/sender-policy.js'
import { type HeaderOptions, isServiceField, readServiceFields } from '../../src/sending/service-headers.js'
import type { MessageSummary } from '../../src/sending/submitted-message.js'

const now = Date.UTC(2026, 10, 21)
const day = 86_400_000

const none: HeaderOptions = {
  trackOpens: null,
  trackClicks: null,
  tags: [],
  priority: 'normal',
  scheduledFor: null,
  idempotencyKey: null,
}

const read = (...fields: readonly (readonly [name: string, value: string])[]): HeaderOptions =>
  readServiceFields(
    fields.map(([name, value]) => ({ name, value })),
    now,
  )

t.test('moments are read strictly', async (t) => {
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

t.test('a release lies at most thirty days ahead; the past is now', async (t) => {
  t.equal(parseReleaseTime('2026-11-21T00:00:00Z', now), null)
  t.equal(parseReleaseTime('2020-01-01T00:00:00Z', now), null)
  t.equal(parseReleaseTime('2026-11-21T00:00:00.001Z', now), now + 1)
  t.equal(parseReleaseTime(new Date(now + 30 * day).toISOString(), now), now + 30 * day)
  t.throws(() => parseReleaseTime(new Date(now + 30 * day + 1).toISOString(), now), {
    name: 'Refusal',
    kind: 'malformed-message',
  })
})

t.test('our fields and their dialects', async (t) => {
  t.same(read(), none)
  t.same(
    read(
      ['x-service-track-opens', 'True'],
      ['x-service-track-clicks', 'FALSE'],
      ['x-service-tag', 'a=b=c'],
      ['x-service-tag', ' a = d '],
      ['x-service-priority', 'Low'],
      ['x-service-scheduled-for', '2026-12-01T09:00:00Z'],
      ['x-service-idempotency-key', 'k'],
    ),
    {
      trackOpens: true,
      trackClicks: false,
      tags: [
        { name: 'a', value: 'b=c' },
        { name: 'a', value: 'd' },
      ],
      priority: 'low',
      scheduledFor: Date.UTC(2026, 11, 1, 9),
      idempotencyKey: 'k',
    },
  )
  t.same(read(['x-pm-tag', 'welcome'], ['x-pm-trackopens', 'true']), {
    ...none,
    trackOpens: true,
    tags: [{ name: 'tag', value: 'welcome' }],
  })
  t.same(read(['x-mailgun-tag', 'a'], ['x-mailgun-tag', 'b'], ['x-mailgun-track-clicks', 'htmlonly']).trackClicks, true)
  t.same(read(['x-mailgun-track-opens', 'no']).trackOpens, false)
  t.same(read(['x-ses-message-tags', 'a=1, b = 2=3 ,c,=d,e=']).tags, [
    { name: 'a', value: '1' },
    { name: 'b', value: '2=3' },
  ])
  t.same(read(['x-pm-trackopens', 'true'], ['x-service-track-opens', 'false']).trackOpens, false, 'ours wins')
  const many = Array.from({ length: 25 }, (_, n) => ['x-mailgun-tag', `t${n}`] as const)
  t.equal(read(...many).tags.length, 20, 'a dialect refuses nothing')
})

t.test('no field and no value makes it fail otherwise than by a refusal', async (t) => {
  const names = [
    'x-service-tag',
    'x-service-',
    'x-pm-tag',
    'x-ses-message-tags',
    '__proto__',
    'constructor',
    'x-service-priority',
  ]
  fc.assert(
    fc.property(fc.array(fc.tuple(fc.constantFrom(...names), fc.string({ unit: 'binary' }))), (drawn) => {
      try {
        read(...drawn)
      } catch (error) {
        if (!(error instanceof Refusal)) throw error
      }
    }),
  )
  t.same(['subject', 'constructor', '__proto__', 'x-services', 'x-pm-tagged'].filter(isServiceField), [])
  t.same(
    ['x-service-anything', 'x-pm-tag', 'x-ses-message-tags'].filter((name) => !isServiceField(name)),
    [],
  )
})

const origin = { hostname: 'mail.test', protocol: 'ESMTPSA', emailId: 'id-1', now }
const date = 'Sat, 21 Nov 2026 00:00:00 +0000'
const received = `Received: by mail.test with ESMTPSA id id-1;\r\n\t${date}\r\n`

function prepareLines(...lines: readonly string[]): { text: string; messageId: string } {
  const raw = Buffer.from(lines.join('\r\n'))
  const { raw: made, messageId } = prepareMessage(raw, scanHeader(raw), origin)
  return { text: made.toString(), messageId }
}

t.test('what is missing is added, what is ours is taken out', async (t) => {
  t.same(prepareLines('From: a@a.test', '', 'text', ''), {
    text: `${received}From: a@a.test\r\nDate: ${date}\r\nMessage-ID: <id-1@mail.test>\r\n\r\ntext\r\n`,
    messageId: '<id-1@mail.test>',
  })
  const whole = ['From: a@a.test', 'Date: never', 'Message-ID: <x@y>', '', 'text', '']
  t.same(prepareLines(...whole), { text: received + whole.join('\r\n'), messageId: '<x@y>' })
  const steering = ['bCC: x', 'Resent-Bcc: y', 'return-PATH: <z>', 'X-Service-Tag: a=b', 'x-PM-tag: c,', ' folded']
  t.equal(prepareLines(...steering, ...whole).text, received + whole.join('\r\n'))
  t.equal(
    prepareLines('Message-ID: ', 'From: a@a.test', 'Date: d', '', '').messageId,
    '<id-1@mail.test>',
    'an empty id is none',
  )
  t.notMatch(prepareLines('Message-ID: ', 'From: a@a.test', 'Date: d', '', '').text, /Message-ID: \r/)
  t.equal(prepareLines('From: a@a.test').text.endsWith('Message-ID: <id-1@mail.test>\r\n'), true, 'without a body too')
})

t.test('whatever comes, everything that is not ours stays byte for byte', async (t) => {
  const line = fc.string({ unit: fc.constantFrom('a', 'B', ':', ' ', '\t', '.', 'ü', '-') })
  fc.assert(
    fc.property(fc.array(line, { maxLength: 8 }), fc.array(line), (head, body) => {
      const raw = Buffer.from(['From: a@a.test', 'Date: d', 'Message-ID: <x@y>', ...head, '', ...body, ''].join('\r\n'))
      const header = scanHeader(raw)
      const made = prepareMessage(raw, header, origin).raw.toString()
      const separated = header.bodyStart > header.end || header.end === raw.length
      const [before, after] = [raw.subarray(0, header.end), raw.subarray(header.end)]
      const expected = `${received}${before.toString()}${separated ? '' : '\r\n'}${after.toString()}`
      if (made !== expected) throw new Error(made)
    }),
  )
  t.pass('as asserted')
})

t.test('a summary shows what lists show', async (t) => {
  const raw = Buffer.from(
    'From: =?utf-8?q?J=C3=BC?= <j@a.test>, k@a.test\r\nTo: x@b.test, broken, Group: y@b.test;\r\nReply-To: r@a.test\r\n\r\n',
  )
  const { from, to, cc, replyTo, subject } = summarizeMessage(raw, scanHeader(raw))
  t.same(from, [
    { address: 'j@a.test', name: 'Jü' },
    { address: 'k@a.test', name: '' },
  ])
  t.same(
    to.map(({ address }) => address),
    ['x@b.test', null, 'y@b.test'],
  )
  t.same([cc.length, replyTo[0]?.address, subject], [0, 'r@a.test', ''])
})

t.test(
  'From has a limit, and the refusal names it; of longer lists of recipients the first 8 KB are noted',
  async (t) => {
    const list = (size: number): string => `${'a@b.test,'.repeat(900)}${'c@d.test'.padStart(size - 8100)}`
    const summary = (field: string, size: number): MessageSummary => {
      const raw = Buffer.from(`${field === 'From' ? '' : 'From: a@b.test\r\n'}${field}: ${list(size)}\r\n\r\n`)
      return summarizeMessage(raw, scanHeader(raw))
    }
    t.equal(summary('From', 8192).from.length, 901)
    t.throws(() => summary('From', 8193), {
      kind: 'malformed-message',
      message: 'From: 8193 characters of addresses, at most 8192 are allowed',
      details: { field: 'from' },
    })
    t.equal(summary('To', 8192).to.length, 901)
    t.equal(summary('To', 8193).to.length, 900, 'whole entries')
    t.equal(summary('To', 1_000_000).to.length, 900)
    t.equal(summary('Cc', 8193).cc.length, 900)
    t.equal(summary('Reply-To', 8193).replyTo.length, 900)
  },
)

t.test('a key may name senders in its own verified domains alone', async (t) => {
  const domain = { domain: 'a.test' } as SendingDomain
  const verified = (workspace: string, name: string): SendingDomain | undefined =>
    workspace === 'ws_1' && name === 'a.test' ? domain : undefined
  const principal = createKeylessPrincipal('ws_1')
  const check = (from: string, more: object = {}): SendingDomain =>
    checkSender({ ...principal, ...more }, parseAddress(from), 'From', verified)
  t.equal(check('x@a.test'), domain)
  t.doesNotThrow(() => check('x@A.TEST'))
  t.throws(() => check('x@sub.a.test'), { name: 'Refusal', kind: 'sender-not-verified' })
  t.throws(() => check('x@a.test', { workspaceId: 'ws_2' }), { name: 'Refusal', kind: 'sender-not-verified' })
  t.throws(() => check('x@a.test', { allowedDomains: ['b.test'] }), { name: 'Refusal', kind: 'forbidden' })
  t.throws(() => check('x@b.test', { allowedDomains: ['b.test'] }), { name: 'Refusal', kind: 'sender-not-verified' })
  t.doesNotThrow(() => checkEnvelopeSender(principal, '', () => undefined), 'the null reverse-path needs no domain')
})

t.test('a fingerprint tells apart what only looks alike when joined', async (t) => {
  t.equal(fingerprintOf(['a', 'bc']), fingerprintOf(['a', Buffer.from('bc')]))
  t.not(fingerprintOf(['a', 'bc']), fingerprintOf(['ab', 'c']))
  t.not(fingerprintOf(['a', 'b', 'c']), fingerprintOf(['a', 'b1:c']))
})
