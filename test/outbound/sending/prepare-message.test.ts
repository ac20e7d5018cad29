/** Header fields that are added to and removed from a submitted message, and its summary. */
import fc from 'fast-check'
import t from 'tap'
import { scanHeader } from '../../../src/base/mail/header-fields.js'
import { findRepeatedFields, prepareMessage, summarizeMessage } from '../../../src/outbound/sending/prepare-message.js'
import type { MessageSummary } from '../../../src/outbound/sending/submitted-message.js'

const now = Date.UTC(2026, 10, 21)

const origin = { hostname: 'mail.test', protocol: 'ESMTPSA', emailId: 'id-1', now }

const date = 'Sat, 21 Nov 2026 00:00:00 +0000'

const received = `Received: by mail.test with ESMTPSA id id-1;\r\n\t${date}\r\n`

function prepareLines(...lines: readonly string[]): { text: string; messageId: string } {
  const raw = Buffer.from(lines.join('\r\n'))
  const { pieces, messageId } = prepareMessage(raw, scanHeader(raw), origin)
  return { text: Buffer.concat(pieces).toString(), messageId }
}

t.test('missing fields are added, our own fields are removed', async (t) => {
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

t.test('of a field that a message has once, the last one is sent and shown', async (t) => {
  const lines = ['From: a@a.test', 'To: x@b.test', 'Date: one', 'Subject: one', 'Message-ID: <one@b.test>']
  const last = ['to: y@b.test', 'Date: two', 'SUBJECT: two', 'Message-ID: <two@b.test>', 'X-A: 1', 'X-A: 2', '', 'text']
  const kept = ['From: a@a.test', ...last].join('\r\n')
  t.same(prepareLines(...lines, ...last), { text: received + kept, messageId: '<two@b.test>' })
  const raw = Buffer.from([...lines, ...last].join('\r\n'))
  const header = scanHeader(raw)
  const { to, subject } = summarizeMessage(raw, header)
  t.same([to.map(({ address }) => address), subject], [['y@b.test'], 'two'])
  t.same(
    findRepeatedFields(header).map(({ name }) => name),
    ['to', 'date', 'subject', 'message-id'],
  )
})

t.test('for any input, everything that is not ours stays byte for byte', async (t) => {
  const line = fc.string({ unit: fc.constantFrom('a', 'B', ':', ' ', '\t', '.', 'ü', '-') })
  fc.assert(
    fc.property(fc.array(line, { maxLength: 8 }), fc.array(line), (head, body) => {
      const raw = Buffer.from(['From: a@a.test', 'Date: d', 'Message-ID: <x@y>', ...head, '', ...body, ''].join('\r\n'))
      const header = scanHeader(raw)
      const made = Buffer.concat(prepareMessage(raw, header, origin).pieces).toString()
      const separated = header.bodyStart > header.end || header.end === raw.length
      const [before, after] = [raw.subarray(0, header.end), raw.subarray(header.end)]
      const expected = `${received}${before.toString()}${separated ? '' : '\r\n'}${after.toString()}`
      if (made !== expected) throw new Error(made)
    }),
  )
  t.pass('as asserted')
})

t.test('a summary holds what lists show', async (t) => {
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
  'the length of From is limited by a refusal that names it; of longer recipient lists the first 8 KB are stored',
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
