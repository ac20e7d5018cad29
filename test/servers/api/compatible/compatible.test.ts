/** Requests of other services' clients become emails, or are refused with the field at fault. */
import t from 'tap'
import type { Refusal } from '../../../../src/base/mail/refusal.js'
import { mailgunFields } from '../../../../src/servers/api/compatible/mailgun-fields.js'
import { MailgunMail } from '../../../../src/servers/api/compatible/mailgun-mail.js'
import { postmarkEmail } from '../../../../src/servers/api/compatible/postmark.js'
import { SendGridEmails, sendGridMail } from '../../../../src/servers/api/compatible/sendgrid-mail.js'
import { sesEmail } from '../../../../src/servers/api/compatible/ses-email.js'
import { ZeptoMailEmails, zeptoMail } from '../../../../src/servers/api/compatible/zeptomail-request.js'
import type { EmailRequest } from '../../../../src/servers/api/emails/email-request.js'
import { parseInput } from '../../../../src/servers/api/http/input/parse-input.js'
import { catchRefusal } from '../../../helpers/catch-refusal.js'

type Fields = Readonly<Record<string, unknown>>

async function readSendGrid(more: Fields): Promise<EmailRequest | Refusal | undefined> {
  const content = [{ type: 'text/plain', value: 'a line' }]
  const personalizations = [{ to: [{ email: 'bob@b.test' }] }]
  const given = { personalizations, from: { email: 'app@a.test' }, subject: 'hello', content, ...more }
  for await (const email of new SendGridEmails(parseInput(sendGridMail, given))) return email
  return undefined
}

const readPostmark = (more: Fields): EmailRequest =>
  parseInput(postmarkEmail, { From: 'app@a.test', To: 'bob@b.test', Subject: 'hello', TextBody: 'a line', ...more })

function readSes(more: Fields): EmailRequest | null {
  const Simple = { Subject: { Data: 'hello' }, Body: { Text: { Data: 'a line' } }, ...more }
  const Destination = { ToAddresses: ['bob@b.test'] }
  const read = parseInput(sesEmail, { FromEmailAddress: 'app@a.test', Destination, Content: { Simple } })
  return read.kind === 'email' ? read.email : null
}

t.test('an empty list of addresses for answers leaves the single one', async (t) => {
  const [one, other] = [{ email: 'one@a.test' }, { email: 'other@a.test' }]
  const answersTo = async (more: Fields): Promise<unknown> => {
    const email = await readSendGrid(more)
    return email !== undefined && 'reply_to' in email ? email.reply_to?.map(({ address }) => address) : []
  }
  t.same(await answersTo({ reply_to: one, reply_to_list: [] }), ['one@a.test'])
  t.same(await answersTo({ reply_to: one, reply_to_list: [other] }), ['other@a.test'])
  t.same(await answersTo({ reply_to: one }), ['one@a.test'])
  t.same(await answersTo({}), [])
})

t.test('a list has each header field once', async (t) => {
  const pair = (first: string, second: string): Fields => ({
    Headers: [first, second].map((Name, place) => ({ Name, Value: String(place) })),
  })
  const readers = { Headers: readPostmark, 'Content.Simple.Headers': readSes }
  for (const [field, read] of Object.entries(readers)) {
    t.same(read(pair('X-Tag', 'X-Other'))?.headers, { 'X-Tag': '0', 'X-Other': '1' })
    for (const second of ['X-Tag', 'x-tag']) {
      const refusal = await catchRefusal(() => read(pair('X-Tag', second)))
      t.match(refusal, { kind: 'invalid-parameter', message: `${field}.${second}: is given twice` })
    }
  }
  t.same(readPostmark(pair('Received', 'Received')).headers, {}, 'those that are left out may be there twice')
})

const content = 'iVBORw0KGgo='

/** An image with the id that is given, or without one, by the field of the id. */
const imageReaders = {
  'attachments[0].content_id': (id?: string, filename = 'a.png') =>
    readSendGrid({ attachments: [{ content, filename, disposition: 'inline', content_id: id }] }),
  'Content.Simple.Attachments[0].ContentId': async (id?: string, FileName = 'a.png') =>
    readSes({ Attachments: [{ RawContent: content, FileName, ContentDisposition: 'INLINE', ContentId: id }] }),
  'Attachments[0].ContentID': async (id?: string) =>
    readPostmark({ Attachments: [{ Content: content, Name: 'a.png', ContentID: id }] }),
  'inline_images[0].cid': (id?: string) => readZepto({ inline_images: [{ content, cid: id }] }),
} as const

async function readZepto(more: Fields): Promise<EmailRequest> {
  const to = [{ email_address: { address: 'bob@b.test' } }]
  const given = { from: { address: 'app@a.test' }, to, subject: 'hello', textbody: 'a line', ...more }
  return new ZeptoMailEmails(parseInput(zeptoMail, given)).toOne()
}

function idsOf(email: EmailRequest | Refusal | null | undefined): readonly string[] {
  return email != null && 'inline_images' in email ? (email.inline_images ?? []).map(({ cid }) => cid) : []
}

t.test('the id of an image has the form that our own interface wants', async (t) => {
  for (const [field, read] of Object.entries(imageReaders)) {
    for (const id of ['logo', 'cid:logo', '<logo>', 'CID:logo']) t.same(idsOf(await read(id)), ['logo'], field)
    for (const id of ['my logo', 'schön', 'a\r\nX-Injected: 1', 'a>b', 'cid:', '\0']) {
      const message = `${field}: must be printable ASCII without blanks and angle brackets, such as logo.png`
      t.match(await catchRefusal(() => read(id)), { kind: 'invalid-parameter', message }, `${field} ${id}`)
    }
    const long = await catchRefusal(() => read('x'.repeat(256)))
    t.match(long, { kind: 'invalid-parameter', message: `${field}: must have at most 255 characters` })
  }
  const stored = await catchRefusal(() => readZepto({ inline_images: [{ file_cache_key: 'key', cid: 'my logo' }] }))
  t.match(stored, { message: /^inline_images\[0\]\.cid: must be printable ASCII/ })
})

t.test('an inline image without an id has that of its filename', async (t) => {
  const readers = [imageReaders['attachments[0].content_id'], imageReaders['Content.Simple.Attachments[0].ContentId']]
  for (const read of readers) {
    t.same(idsOf(await read(undefined, 'logo.png')), ['logo.png'])
    t.same(idsOf(await read('', 'logo.png')), ['logo.png'])
    t.same(idsOf(await read(undefined, 'my schöne <1>.png')), ['my%20sch%C3%B6ne%20%3C1%3E.png'])
    const [id = '', ...others] = idsOf(await read(undefined, 'ö'.repeat(255)))
    t.match([id, others], [/^[0-9a-f]{64}$/, []])
    t.same(idsOf(await read(undefined, 'ö'.repeat(255))), [id], 'it is always the same')
  }
})

t.test('a file that is no inline image may have an id of any form', async (t) => {
  const file = { content, filename: 'a.png', content_id: 'Example Content ID' }
  for (const more of [{}, { disposition: 'attachment' }])
    t.match(await readSendGrid({ attachments: [{ ...file, ...more }] }), {
      attachments: [{ filename: 'a.png' }],
      inline_images: [],
    })
  const ofSes = readSes({ Attachments: [{ RawContent: content, FileName: 'a.png', ContentId: 'Example Content ID' }] })
  t.match(ofSes, { attachments: [{ filename: 'a.png' }], inline_images: [] })
  const ofPostmark = readPostmark({ Attachments: [{ Content: content, Name: 'a.png', ContentID: '' }] })
  t.match(ofPostmark, { attachments: [{ filename: 'a.png' }], inline_images: [] })
})

/** So many entries of an object. */
const entries = (count: number, name = 'k'): Readonly<Record<string, string>> =>
  Object.fromEntries(Array.from({ length: count }, (_, place) => [`${name}${place}`, 'x']))

t.test('tags are as short and as few as those of our own interface', async (t) => {
  const readers = { custom_args: readSendGrid, Metadata: async (more: Fields) => readPostmark(more) }
  for (const [field, read] of Object.entries(readers)) {
    const refusalOf = (values: Fields, more: Fields = {}) => catchRefusal(() => read({ [field]: values, ...more }))
    t.match(await read({ [field]: { n: 1, b: true, t: 'x'.repeat(256) } }), {
      tags: [
        { name: 'n', value: '1' },
        { name: 'b', value: 'true' },
        { name: 't', value: 'x'.repeat(256) },
      ],
    })
    t.match(await refusalOf({ a: 'x'.repeat(257) }), { message: new RegExp(`^${field}\\.a: .*at most 256 characters`) })
    t.match(await refusalOf({ ['x'.repeat(257)]: 'a' }), { kind: 'invalid-parameter' })
    t.match(await refusalOf({ '': 'a' }), { kind: 'invalid-parameter' })
    t.match(await refusalOf(entries(21)), { message: `${field}: at most 20 entries` })
    t.match(await read({ [field]: entries(19), categories: ['a'], Tag: 'a' }), { tags: { length: 20 } })
    const [word] = field === 'Metadata' ? ['Tag'] : ['categories']
    t.match(await refusalOf(entries(20), { categories: ['a'], Tag: 'a' }), {
      message: `${field}: at most 20 tags with ${word}`,
    })
  }
})

t.test('arguments of a request and of a personalization count together', async (t) => {
  const to = [{ email: 'bob@b.test' }]
  const own = { to, custom_args: entries(11, 'own') }
  const read = (count: number) =>
    readSendGrid({ personalizations: [{ to }, own], custom_args: entries(count), categories: ['a'] })
  t.match(await read(8), { tags: { length: 9 } })
  t.match(await catchRefusal(() => read(9)), {
    message: 'personalizations[1].custom_args: at most 20 tags with categories',
  })
})

t.test('names of variables in the header field of Mailgun are as short as tags', async (t) => {
  const given = { from: 'app@a.test', to: ['bob@b.test'], subject: 'hello', text: 'a line' }
  const read = (name: string, more: Fields = {}) => {
    const h = { 'X-Mailgun-Variables': JSON.stringify({ [name]: 'x' }) }
    return new MailgunMail(parseInput(mailgunFields, { ...given, h, ...more })).single
  }
  t.match(read('x'.repeat(256)), { tags: [{ name: 'x'.repeat(256) }] })
  for (const name of ['x'.repeat(257), '']) {
    const refusal = await catchRefusal(() => read(name))
    t.match(refusal, { kind: 'invalid-parameter', message: /characters, and 1 to 256 in its name$/ })
    t.match(read(name, { template: 'welcome' }), { tags: { length: 0 } }, 'it is a value of the template')
  }
})
