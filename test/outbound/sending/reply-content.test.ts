/** The recipient of a reply, its subject, and its place in the thread. */
import t from 'tap'
import { parseAddress } from '../../../src/base/mail/address.js'
import { Refusal } from '../../../src/base/mail/refusal.js'
import { toJson } from '../../../src/base/storage/tables/columns.js'
import { buildReplyContent } from '../../../src/outbound/sending/reply-content.js'

const email: Parameters<typeof buildReplyContent>[0] = {
  envelope_to: toJson(['info@a.test', 'sales@a.test'].map(parseAddress)),
  from_email: 'bob@b.test',
  from_name: 'Bob',
  message_id: '<9@b.test>',
  reference_ids: toJson(['<1@b.test>', '<2@b.test>']),
  subject: 'Hello',
}
const body = { html: null, text: 'x', attachments: [] }
const raw = (...fields: readonly string[]): Buffer => Buffer.from(`${fields.join('\r\n')}\r\n\r\ntext\r\n`)
const field = (of: Partial<typeof email>, name: string): string | undefined =>
  buildReplyContent({ ...email, ...of }, undefined, body).fields.find((one) => one.name === name)?.value

t.test('it goes to Reply-To, or else to the author', async (t) => {
  const to = (bytes: Buffer | undefined): unknown => buildReplyContent(email, bytes, body).to
  const bob = [{ address: 'bob@b.test', name: 'Bob' }]
  t.same(to(undefined), bob)
  t.same(to(raw('Subject: x')), bob)
  t.same(to(raw('Reply-To: nobody')), bob)
  t.same(to(raw('Reply-To: "List, the" <list@b.test>, x@c.test')), [
    { address: 'list@b.test', name: 'List, the' },
    { address: 'x@c.test', name: '' },
  ])
  const crowd = Array.from({ length: 30 }, (_, n) => `x${n}@c.test`).join(', ')
  t.equal((to(raw(`Reply-To: ${crowd}`)) as unknown[]).length, 5)
  t.throws(() => buildReplyContent({ ...email, from_email: '' }, undefined, body), Refusal)
  t.same(buildReplyContent(email, undefined, body).from, { address: 'info@a.test', name: '' })
})

t.test('its subject has one Re:', async (t) => {
  const subject = (given: string): string => buildReplyContent({ ...email, subject: given }, undefined, body).subject
  t.equal(subject('Hello'), 'Re: Hello')
  for (const given of ['Re: Hello', 'RE:Hello', 're[2]: Hello']) t.equal(subject(given), given)
  t.equal(subject('Regards'), 'Re: Regards')
  t.equal(subject(''), 'Re:')
  t.equal(subject('x'.repeat(998)).length, 998)
})

t.test('its references end with its parent, and fit a header field at any length of the thread', async (t) => {
  t.equal(field({}, 'In-Reply-To'), '<9@b.test>')
  t.equal(field({}, 'References'), '<1@b.test> <2@b.test> <9@b.test>')
  t.equal(field({ reference_ids: toJson(['<9@b.test>']) }, 'References'), '<9@b.test>')
  t.equal(field({ message_id: null }, 'References'), undefined, 'a mail without an id begins no thread')
  t.equal(field({ message_id: '<ü@b.test>' }, 'References'), undefined)
  const long = Array.from({ length: 50 }, (_, n) => `<${String(n).padStart(400, 'x')}@b.test>`)
  const value = field({ reference_ids: toJson(long) }, 'References') ?? ''
  t.ok(value.length <= 8_192)
  t.ok(value.startsWith(`${long[0]} `) && value.endsWith(`${long.at(-1)} <9@b.test>`))
})
