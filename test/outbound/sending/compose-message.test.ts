/** Messages composed from the fields of a request, parsed again by mailparser. */
import assert from 'node:assert/strict'
import fc from 'fast-check'
import { type ParsedMail, simpleParser } from 'mailparser'
import t from 'tap'
import { parseAddress } from '../../../src/base/mail/address.js'
import { scanHeader } from '../../../src/base/mail/header-fields.js'
import type { NamedAddress } from '../../../src/base/mail/named-address.js'
import { composeMessage, composeMimeTree } from '../../../src/outbound/sending/compose-message.js'
import type { MessageContent } from '../../../src/outbound/sending/message-content.js'
import { summarizeMessage } from '../../../src/outbound/sending/prepare-message.js'
import type { MessageSummary } from '../../../src/outbound/sending/submitted-message.js'
import { checkForm } from '../../helpers/mail/check-form.js'

const composing = {
  emailId: '0192aaaa-bbbb-7ccc-8ddd-eeeeeeeeeeee',
  hostname: 'mail.test',
  now: Date.UTC(2026, 10, 21),
}

const mailbox = (address: string, name = ''): NamedAddress => ({ address: parseAddress(address), name })

const plain: MessageContent = {
  from: mailbox('app@a.test', 'App'),
  to: [mailbox('bob@b.test', 'Bob')],
  cc: [],
  bcc: [],
  replyTo: [],
  subject: 'hello',
  html: null,
  text: 'a line\n',
  fields: [],
  attachments: [],
  inlineImages: [],
}

interface Composed {
  readonly raw: Buffer
  readonly text: string
  readonly summary: MessageSummary
  readonly mail: ParsedMail
}

/** Composed, checked for its form, and parsed by our own reader and by another. */
async function composeAndParse(content: Partial<MessageContent>): Promise<Composed> {
  const { raw } = composeMessage({ ...plain, ...content }, composing)
  assert.equal(checkForm(raw, { maxLineOctets: 998 }).kind, 'ok')
  const header = scanHeader(raw)
  assert.doesNotMatch(raw.toString('latin1', 0, header.end), /^[ \t]+\r$/m, 'no line of blanks in the header')
  const options = { skipHtmlToText: true, skipTextToHtml: true, skipImageLinks: true, skipTextLinks: true }
  return { raw, text: raw.toString(), summary: summarizeMessage(raw, header), mail: await simpleParser(raw, options) }
}

t.test('a text alone is one part', async (t) => {
  const { text } = await composeAndParse({})
  t.equal(
    text,
    [
      'From: App <app@a.test>',
      'To: Bob <bob@b.test>',
      'Subject: hello',
      'Message-ID: <0192aaaa-bbbb-7ccc-8ddd-eeeeeeeeeeee@mail.test>',
      'Date: Sat, 21 Nov 2026 00:00:00 +0000',
      'MIME-Version: 1.0',
      'Content-Type: text/plain; charset=utf-8',
      'Content-Transfer-Encoding: 7bit',
      '',
      'a line',
      '',
      '',
    ].join('\r\n'),
  )
})

t.test('text, HTML, images and attachments form the tree that mail clients expect', async (t) => {
  const { text, mail } = await composeAndParse({
    cc: [mailbox('cc@b.test')],
    bcc: [mailbox('blind@b.test')],
    replyTo: [mailbox('reply@a.test', 'Reply, please')],
    html: '<p>See <img src="cid:logo"></p>',
    inlineImages: [{ cid: 'logo', content: Buffer.from('png'), contentType: 'image/png', filename: null }],
    attachments: [
      { filename: 'Größe 日本.pdf', content: Buffer.from([0, 255, 13, 10]), contentType: 'application/pdf' },
      { filename: `mail${' '.repeat(200)}.eml`, content: Buffer.from('From: x\n\ny'), contentType: 'message/rfc822' },
    ],
  })
  t.same(
    [...text.matchAll(/^Content-Type: ([^;\r]+)/gm)].map(([, type]) => type),
    [
      'multipart/mixed',
      'multipart/alternative',
      'text/plain',
      'multipart/related',
      'text/html',
      'image/png',
      'application/pdf',
      'message/rfc822',
    ],
  )
  t.notMatch(text, /blind|X-Mailer/i)
  const [image, pdf, message] = mail.attachments
  t.match(image, { cid: 'logo', related: true, contentDisposition: 'inline' })
  t.same(image?.content, Buffer.from('png'))
  t.match(pdf, { filename: 'Größe 日本.pdf', contentDisposition: 'attachment' })
  t.same(pdf?.content, Buffer.from([0, 255, 13, 10]))
  t.match(text, /Content-Transfer-Encoding: 7bit\r\n[\s\S]*From: x\r\n\r\ny/, 'a message is not in base64')
  t.equal(message?.filename, 'mail .eml')
  t.match(mail.replyTo, { value: [{ address: 'reply@a.test', name: 'Reply, please' }] })
})

t.test('a message is attached in the encodings that its type allows, else as a file', async (t) => {
  const attach = async (content: string): Promise<string> => {
    const file = { filename: 'a.eml', content: Buffer.from(content), contentType: 'message/rfc822' }
    const { text } = await composeAndParse({ attachments: [file] })
    const [, type, encoding] =
      /Content-Type: (message|application)[\s\S]*?Content-Transfer-Encoding: (\w+)/.exec(text) ?? []
    return `${type} ${encoding}`
  }
  t.equal(await attach('Subject: a\n\nb\n'), 'message 7bit')
  t.equal(await attach('Subject: ä\r\n\r\nb'), 'message 8bit')
  t.equal(await attach(`Subject: a\n\n${'x'.repeat(999)}`), 'application base64', 'a line that is too long')
  t.equal(await attach('Subject: a\n\n\0'), 'application base64', 'NUL')
})

t.test('an image without HTML is attached', async (t) => {
  const { text, mail } = await composeAndParse({
    inlineImages: [{ cid: 'a', content: Buffer.from('x'), contentType: 'image/png', filename: 'a.png' }],
  })
  t.match(text, 'Content-Type: multipart/mixed')
  t.match(mail.attachments, [{ filename: 'a.png' }])
})

t.test('fields of the app are kept as written', async (t) => {
  const references = Array.from({ length: 60 }, (_, n) => `<${n}.${'x'.repeat(60)}@a.test>`).join(' ')
  const { text, mail } = await composeAndParse({
    fields: [
      { name: 'X-MyApp-ID', value: '  "a"  b ' },
      { name: 'message-id', value: '<own@a.test>' },
      { name: 'References', value: references },
      { name: 'X-Note', value: 'für alle' },
      { name: 'List-Unsubscribe', value: `<https://a.test/${'u'.repeat(300)}>` },
    ],
  })
  t.match(text, '\r\nX-MyApp-ID: "a"  b\r\n')
  t.match(text, /^List-Unsubscribe: <https:/m)
  t.equal(mail.messageId, '<own@a.test>')
  t.equal(text.match(/^message-id:/gim)?.length, 1)
  t.same(mail.references, references.split(' '))
  t.match(text, '\r\nX-Note: =?UTF-8?Q?f=C3=BCr_alle?=\r\n')
})

t.test('addresses with UTF-8 or quotes are read back unchanged', async (t) => {
  const to = [mailbox('jürgen@münchen.test', 'Jürgen'), mailbox('"a, b"@b.test'), mailbox('"c@d"@b.test', 'C "D" \\')]
  const { summary } = await composeAndParse({ to })
  t.same(summary.to, to)
})

/** The part of a text that a header can carry and show: no controls, no spaces around it. */
const shownText = fc
  .string({ unit: 'grapheme', maxLength: 250 })
  .map((text) => text.replace(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/gu, '').trim())

const sly = fc.constantFrom(
  ...[
    '=?utf-8?Q?=41?=',
    '=?',
    'a"b',
    '"',
    '\\',
    'a  b',
    ' x'.repeat(90),
    'y'.repeat(240),
    '(',
    '<a@b.test>',
    ',',
    'a:;',
  ],
  ' '.repeat(200),
)

const words = fc.oneof(
  shownText,
  fc.array(sly, { maxLength: 4 }).map((list) => list.join(' ').slice(0, 250).trim()),
)

t.test('names and subjects survive', async () => {
  await fc.assert(
    fc.asyncProperty(words, fc.array(words, { minLength: 1, maxLength: 5 }), words, async (author, names, subject) => {
      const to = names.map((name, n) => mailbox(`u${n}@b.test`, name))
      const from = mailbox('app@a.test', author)
      const { summary, mail } = await composeAndParse({ from, to, subject })
      assert.deepEqual({ ...summary, cc: [], replyTo: [] }, { from: [from], to, cc: [], replyTo: [], subject })
      assert.equal(mail.subject ?? '', subject)
    }),
  )
})

const body = fc.oneof(
  fc.string({ unit: 'binary', maxLength: 3000 }),
  fc.string({ maxLength: 3000 }),
  fc
    .array(fc.constantFrom('\r', '\n', '\r\n', ' ', '.', '=', 'From ', '\t', 'ä', '😀', 'z'.repeat(400), '--'), {
      maxLength: 60,
    })
    .map((list) => list.join('')),
)

const asRead = (text: string): string => Buffer.from(text.replace(/\r\n?/g, '\n')).toString()

t.test('bodies, file names and bytes survive', async () => {
  const file = fc.tuple(
    fc.string({ unit: 'grapheme', minLength: 1, maxLength: 255 }),
    fc.uint8Array({ maxLength: 500 }),
  )
  await fc.assert(
    fc.asyncProperty(body, body, fc.array(file, { maxLength: 3 }), async (text, html, files) => {
      const attachments = files.map(([filename, bytes]) => ({
        filename: filename.replace(/\s+/g, '_'),
        content: Buffer.from(bytes),
        contentType: 'application/octet-stream',
      }))
      const { mail } = await composeAndParse({ text: `${text}.`, html: `${html}.`, attachments })
      assert.equal(mail.text, asRead(`${text}.`))
      assert.equal(mail.html, asRead(`${html}.`))
      assert.deepEqual(
        mail.attachments.map(({ filename, content }) => ({ filename, content })),
        attachments.map(({ filename, content }) => ({ filename, content })),
      )
    }),
  )
})

t.test('a body of megabytes is encoded in base64 and survives', async (t) => {
  const html = 'größer\n'.repeat(150_000)
  const { mail, text } = await composeAndParse({ html })
  t.equal(mail.html, html)
  t.match(text, 'Content-Type: text/html; charset=utf-8\r\nContent-Transfer-Encoding: base64\r\n')
})

t.test('a message that is written directly is read like one that is built from a tree of parts', async () => {
  const options = { skipHtmlToText: true, skipTextToHtml: true, skipImageLinks: true, skipTextLinks: true }
  const body = fc.array(fc.oneof(fc.string({ unit: 'binary' }), fc.constantFrom('\r\n', 'a '.repeat(60), '.', '--=_')))
  const bodies = body.map((parts) =>
    Buffer.from(parts.join(''))
      .toString()
      .replace(/\0/g, '')
      .replace(/\r\n|\r|\n/g, '\r\n'),
  )
  await fc.assert(
    fc.asyncProperty(bodies, bodies, async (text, html) => {
      const straight = await simpleParser(
        composeMessage({ ...plain, text, html: html || null }, composing).raw,
        options,
      )
      const messageId = `<${composing.emailId}@mail.test>`
      const rest = { text, html, messageId, date: new Date(composing.now) }
      const tree = await simpleParser(composeMimeTree(plain, rest).raw, options)
      // The message's own last line end, after those of the text, belongs to a body that is not in base64.
      const body = (given: string | false | undefined): string => (given || '').replace(/\n+$/, '')
      assert.equal(body(straight.text), body(tree.text))
      assert.equal(body(straight.html), body(tree.html))
      for (const name of ['subject', 'messageId', 'date'] as const) assert.deepEqual(straight[name], tree[name], name)
      assert.deepEqual([straight.from?.value, straight.to], [tree.from?.value, tree.to])
    }),
  )
})

t.test('text is generated from HTML if there is none', async (t) => {
  const html = `<html><head><title>no</title><style>p { }</style></head><body><h1>Hello Bob</h1>
    <p>Your <b>order</b> &amp; more: <a href="https://a.test/1">see here</a>
    <a href="https://a.test/2">https://a.test/2</a></p><img src="x.png" alt="Logo"><script>no()</script></body></html>`
  const { mail } = await composeAndParse({ html, text: null })
  t.equal(mail.text, 'Hello Bob\n\nYour order & more: see here [https://a.test/1] https://a.test/2\n\nLogo')
  t.equal(mail.html, html)
  const pictures = await composeAndParse({ html: '<img src="a.png">', text: null })
  t.same(pictures.text.match(/^Content-Type:.*/gm), ['Content-Type: text/html; charset=utf-8'], 'nothing to read')
})
