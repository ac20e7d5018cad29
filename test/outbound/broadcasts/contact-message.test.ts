/** The values of one contact: limits, defaults, and what the record of the email gets. */
import { createSecretKey } from 'node:crypto'
import t from 'tap'
import { parseAddress } from '../../../src/base/mail/address.js'
import { toJson } from '../../../src/base/storage/tables/columns.js'
import { composeFrame } from '../../../src/outbound/broadcasts/compose-frame.js'
import {
  type BroadcastContact,
  type ContactMessage,
  ContactMessages,
} from '../../../src/outbound/broadcasts/contact-message.js'
import { plainFooter } from '../../helpers/mail/plain-footer.js'

const base = 'https://links.test'
const settings = {
  broadcastId: 'b',
  audienceId: 'a',
  footer: plainFooter,
  hostname: 'mail.test',
  publicUrl: base,
  base,
}
const messages = new ContactMessages(createSecretKey(Buffer.alloc(32, 7)), base)
const ids = {
  emailId: 'bc-0192aaaa-bbbb-7ccc-8ddd-ffffffffffff',
  recipientId: '0192aaaa-bbbb-7ccc-8ddd-111111111111',
  now: Date.UTC(2026, 10, 21),
}
const nameless: BroadcastContact = {
  email: parseAddress('bob@b.test'),
  first_name: null,
  last_name: null,
  metadata: toJson({}),
}

function build(
  content: { subject?: string; text?: string; from?: string },
  contact: Partial<BroadcastContact> = {},
): ContactMessage {
  const { subject = 'News', text = 'x', from = 'news@a.test' } = content
  const sender = { address: parseAddress(from), name: '' }
  const { frame } = composeFrame({ sender, replyTo: [], subject, html: null, text }, settings)
  return messages.build(frame, { ...nameless, ...contact }, ids)
}

const values: readonly [name: string, variable: string, contact: Partial<BroadcastContact>, value: string][] = [
  ['a name', '{{first_name}}', { first_name: 'Bob' }, 'Bob'],
  ['null without a default', '{{first_name}}', {}, ''],
  ['null with a default', '{{first_name|friend}}', {}, 'friend'],
  ['empty with a default', '{{ last_name | you there }}', { last_name: '' }, 'you there'],
  ['the address', '{{email}}', {}, 'bob@b.test'],
  ['text of metadata', '{{metadata.a.b}}', { metadata: toJson({ a: { b: 'x' } }) }, 'x'],
  ['a number', '{{metadata.n}}', { metadata: toJson({ n: 0 }) }, '0'],
  ['false', '{{metadata.n}}', { metadata: toJson({ n: false }) }, 'false'],
  ['an object', '{{metadata.a|none}}', { metadata: toJson({ a: { b: 'x' } }) }, 'none'],
  ['a list', '{{metadata.a|none}}', { metadata: toJson({ a: ['x'] }) }, 'none'],
  ['what every object inherits', '{{metadata.constructor.name|none}}', {}, 'none'],
  ['a variable in a value', '{{first_name}}', { first_name: '{{email}}' }, '{{email}}'],
  ['the longest value', '{{metadata.a}}', { metadata: toJson({ a: 'é'.repeat(2_000) }) }, 'é'.repeat(2_000)],
  ['one more', '{{metadata.a}}', { metadata: toJson({ a: 'é'.repeat(2_001) }) }, 'é'.repeat(2_000)],
  ['cut before a pair', '{{metadata.a}}', { metadata: toJson({ a: `${'a'.repeat(1_999)}😀` }) }, 'a'.repeat(1_999)],
]

t.test('all values of a message are cut together', async (t) => {
  const text = Array.from({ length: 490 }, (_, n) => `{{metadata.a|${n}}}`).join('\n')
  const { slots } = build({ text }, { metadata: toJson({ a: '😀'.repeat(1_000) }) })
  const length = slots.filter((slot) => /^(😀)*$/u.test(slot)).join('').length
  t.equal(length, 40_000)
})

for (const [name, variable, contact, value] of values) {
  t.test(`value: ${name}`, async (t) => {
    const { slots } = build({ text: `${variable} {{unsubscribe_url}}` }, contact)
    t.equal(slots.at(-1), value)
  })
}

const subjects: readonly [template: string, firstName: string, subject: string, field: string][] = [
  ['Hi {{first_name}}', 'Bob\r\nBcc: x@y.test', 'Hi BobBcc: x@y.test', 'Subject: Hi BobBcc: x@y.test\r\n'],
  ['{{first_name}}!', '\0\u0085\ud800', '   !', 'Subject: =?UTF-8?Q?___!?=\r\n'],
  ['{{{first_name}}}', '<b>', '<b>', 'Subject: <b>\r\n'],
  ['{{first_name}} {{unsubscribe_url}}', 'Zoë', 'Zoë ', 'Subject: =?UTF-8?Q?Zo=C3=AB=20?=\r\n'],
]

t.test('a subject is one line, whatever the values are', async (t) => {
  for (const [template, first_name, subject, field] of subjects) {
    const message = build({ subject: template }, { first_name })
    t.equal(message.subject, subject)
    t.ok(message.slots.includes(field), JSON.stringify(message.slots))
  }
  const long = build({ subject: '{{metadata.a}}x' }, { metadata: toJson({ a: 'a b '.repeat(500) }) })
  t.equal(long.subject.length, 998)
  t.ok(
    long.slots
      .find((slot) => slot.startsWith('Subject'))
      ?.split('\r\n')
      .every((line) => line.length <= 76),
  )
})

t.test('the record of the email', async (t) => {
  t.match(build({}), { messageId: `<${ids.emailId}@mail.test>`, subject: 'News', toName: '', smtputf8: false })
  t.match(build({}, { first_name: ' Bob\r\n', last_name: 'B\tC' }), { toName: 'Bob B C' })
  t.match(build({}, { last_name: 'Only' }), { toName: 'Only' })
  t.equal(build({}, { first_name: 'é'.repeat(255), last_name: 'x' }).toName.length, 256)
  t.equal(build({}, { email: parseAddress('jörg@b.test') }).smtputf8, true)
  t.equal(build({ from: 'jörg@a.test' }).smtputf8, true)
})
