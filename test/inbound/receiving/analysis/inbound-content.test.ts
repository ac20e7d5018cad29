/** The stored fields of an inbound header: valid values for any input. */
import fc from 'fast-check'
import t from 'tap'
import { parseAddress } from '../../../../src/base/mail/address.js'
import { toJson } from '../../../../src/base/storage/tables/columns.js'
import {
  buildReceivedData,
  type InboundSummary,
  parseReferenceIds,
  summarizeInbound,
} from '../../../../src/inbound/receiving/analysis/inbound-content.js'
import { parsedMessage } from '../../../helpers/parsed-message.js'

const attachment = {
  filename: null,
  content_type: 'a/b',
  size: 1,
  content_id: null,
  disposition: 'attachment',
} as const
const unscored = { spam_status: null, spam_score: null }
const summaryOf = (raw: Buffer): InboundSummary => summarizeInbound(parsedMessage(raw))
const message = (...lines: readonly string[]): Buffer => Buffer.from([...lines, '', 'text', ''].join('\r\n'))

t.test('the fields that lists and replies need are stored, decoded', async (t) => {
  const raw = message(
    'From: =?utf-8?q?M=C3=BCller?= <mueller@b.test>',
    'To: info@a.test, "Sales, all" <sales@a.test>',
    'Cc: undisclosed-recipients:;',
    'Subject: =?utf-8?b?R3LDvMOfZQ==?=',
    'Message-ID: <3@b.test>',
    'References: <1@b.test>',
    ' <2@b.test>',
  )
  const content = summarizeInbound(parsedMessage(raw, { html: '<p>', attachments: [attachment] }))
  t.same(content, {
    message_id: '<3@b.test>',
    reference_ids: '["<1@b.test>","<2@b.test>"]',
    from_email: 'mueller@b.test',
    from_name: 'Müller',
    to_emails: '["info@a.test","sales@a.test"]',
    cc_emails: '[]',
    subject: 'Grüße',
    has_html: 1,
    has_text: 0,
    attachment_count: 1,
    in_reply_to: null,
    attachments: [{ filename: 'attachment-1', content_type: 'a/b', size: 1 }],
  })
  const email = { id: 'in_1', envelope_to: toJson([parseAddress('info@a.test'), parseAddress('sales+7+8@a.test')]) }
  t.same(buildReceivedData(email, content, { spam_status: 'suspicious', spam_score: 431 }), {
    inbound_email_id: 'in_1',
    from: 'mueller@b.test',
    from_name: 'Müller',
    to: ['info@a.test', 'sales@a.test'],
    cc: null,
    subject: 'Grüße',
    has_html: true,
    has_text: false,
    attachment_count: 1,
    message_id: '<3@b.test>',
    in_reply_to: null,
    references: ['<1@b.test>', '<2@b.test>'],
    envelope_to: ['info@a.test', 'sales+7+8@a.test'],
    plus: '7+8',
    spam_status: 'suspicious',
    spam_score: 4.31,
    attachments: [{ id: 'in_1.0', filename: 'attachment-1', content_type: 'a/b', size: 1 }],
  })
})

t.test('missing or empty fields are stored as empty', async (t) => {
  const content = summaryOf(Buffer.from('no header at all\r\n'))
  t.match(content, { message_id: null, reference_ids: '[]', from_email: '', to_emails: '[]', subject: '' })
  t.match(buildReceivedData({ id: 'in_1', envelope_to: toJson([parseAddress('info@a.test')]) }, content, unscored), {
    to: ['info@a.test'],
    from: '',
  })
  t.match(summaryOf(message('From: nobody', 'Message-ID: bare')), {
    from_email: '',
    message_id: null,
  })
  const many = message(`To: ${Array.from({ length: 5001 }, () => 'x@b.test').join(', ')}`, 'Subject: still here')
  t.match(summaryOf(many), { to_emails: /^\["x@b.test"/, subject: 'still here' })
  t.match(summaryOf(message(...Array.from({ length: 10_001 }, () => 'X: y'))), { subject: '' })
})

t.test('the author has an address, in whichever field and entry it is', async (t) => {
  const base64 = Buffer.from('admin@legit.test, x').toString('base64')
  t.match(summaryOf(message(`From: =?utf-8?B?${base64}?=,`, ' <second@attack.test>')), {
    from_email: 'second@attack.test',
    from_name: '',
  })
  t.match(summaryOf(message('From: admin at legit.test, Bob', 'From: "Eve" <second@attack.test>')), {
    from_email: 'second@attack.test',
    from_name: 'Eve',
  })
  t.match(summaryOf(message('From: "Admin" <nobody>')), { from_email: '', from_name: '' })
  t.match(summaryOf(message('From: Ann <a..b@c.test>')), { from_email: 'a..b@c.test', from_name: 'Ann' })
})

t.test('the first and the last message ids of a long thread are stored', async (t) => {
  const ids = Array.from({ length: 80 }, (_, n) => `<${n}@b.test>`)
  const kept = parseReferenceIds(ids.join(' '), '')
  t.equal(kept.length, 50)
  t.same([kept[0], kept[1], kept.at(-1)], ['<0@b.test>', '<31@b.test>', '<79@b.test>'])
  const ofBroadcast = '<bc-0193a111-2222-7333-8444-555566667777@mail.service.test>'
  t.same(parseReferenceIds(`${ofBroadcast} <1@b.test>`, ''), [ofBroadcast, '<1@b.test>'])
  t.same(parseReferenceIds('', 'your message <7@b.test> of Monday'), ['<7@b.test>'])
  t.same(parseReferenceIds('<1@b.test> <1@b.test> <no> junk', '<2@b.test>'), ['<1@b.test>'])
})

t.test('the beginning of endless lists is read, complete addresses only', async (t) => {
  const raw = message(
    ...Array.from({ length: 9_000 }, () => `To: ${'a@b.test,'.repeat(100)}`),
    `Cc: ${Array.from({ length: 180 }, (_, n) => `c${n}@${`${'x'.repeat(48)}.`.repeat(4)}test`).join(',')}`,
  )
  const { to_emails, cc_emails } = summaryOf(raw)
  t.equal((JSON.parse(to_emails) as unknown[]).length, 200)
  const cc = JSON.parse(cc_emails) as readonly string[]
  t.equal(cc.length, 40, 'of 8 KB')
  t.ok(cc.every((address) => address.endsWith('.test')))
})

t.test('names and subjects are decoded from their octets', async (t) => {
  const japanese = `=?iso-2022-jp?B?${Buffer.from('\x1b$B%F%9%H\x1b(B').toString('base64')}?=`
  const raw = Buffer.from(
    `From: ${japanese} ${japanese} <a@b.test>\r\nSubject: ${japanese}\r\n ${japanese} =?iso-8859-1?q?Fr\xf6sche?=\r\n\r\n`,
    'latin1',
  )
  t.match(summaryOf(raw), { from_name: 'テストテスト', subject: 'テストテストFrösche' })
  const sender = Buffer.from('From: =?iso-8859-1?q?Fr\xf6sche?= <a@b.test>\r\n\r\n', 'latin1')
  t.match(summaryOf(sender), { from_name: 'Frösche', from_email: 'a@b.test' })
})

t.test('no bytes make it throw', (t) => {
  const name = fc.constantFrom('From', 'To', 'Cc', 'Subject', 'References', 'Message-ID', 'In-Reply-To', 'from ', '')
  const value = fc.oneof(
    fc.string({ unit: 'binary' }),
    fc.constantFrom('<a@b.test>', '=?x?q?=ff?=', '"', ':;,', '<<>>', '@'),
  )
  const property = fc.property(fc.array(fc.tuple(name, value), { maxLength: 8 }), (fields) => {
    const raw = Buffer.from(fields.map(([field, text]) => `${field}:${text}\r\n`).join(''))
    const content = summaryOf(raw)
    JSON.stringify(buildReceivedData({ id: 'in_1', envelope_to: toJson([]) }, content, unscored))
  })
  fc.assert(property)
  t.end()
})
