/** Frames filled for a contact, parsed by another library and compared with a plain rendering of the same content. */
import assert from 'node:assert/strict'
import { createSecretKey } from 'node:crypto'
import fc from 'fast-check'
import { type ParsedMail, simpleParser } from 'mailparser'
import t from 'tap'
import { parseAddress } from '../../../src/base/mail/address.js'
import { isClickToken } from '../../../src/base/mail/click-token.js'
import { escapeHtml } from '../../../src/base/mail/markup.js'
import { createUnsubscribeToken } from '../../../src/base/mail/recipient-token.js'
import { Refusal } from '../../../src/base/mail/refusal.js'
import { toJson } from '../../../src/base/storage/tables/columns.js'
import type { BroadcastContent } from '../../../src/outbound/broadcasts/broadcast-content.js'
import { BroadcastComposer } from '../../../src/outbound/broadcasts/compose-broadcast.js'
import { composeFrame } from '../../../src/outbound/broadcasts/compose-frame.js'
import { type BroadcastContact, ContactMessages } from '../../../src/outbound/broadcasts/contact-message.js'
import { decodeFrame, encodeFrame } from '../../../src/records/messages/frames/encode-frame.js'
import { buildFramed, type MessageFrame } from '../../../src/records/messages/frames/message-frame.js'
import { checkForm } from '../../helpers/mail/check-form.js'
import { plainFooter } from '../../helpers/mail/plain-footer.js'

const base = 'https://links.test/posthorn'
const secret = createSecretKey(Buffer.alloc(32, 7))
const composer = new BroadcastComposer('mail.test', base, { baseFor: () => base })
const messages = new ContactMessages(secret, base)
const ids = {
  broadcastId: '0192aaaa-bbbb-7ccc-8ddd-eeeeeeeeeeee',
  audienceId: '0192aaaa-bbbb-7ccc-8ddd-aaaaaaaaaaaa',
  footer: plainFooter,
}
const message = {
  emailId: 'bc-0192aaaa-bbbb-7ccc-8ddd-ffffffffffff',
  recipientId: '0192aaaa-bbbb-7ccc-8ddd-111111111111',
  now: Date.UTC(2026, 10, 21),
}
const unsubscribeUrl = `${base}/v1/unsubscribe/${createUnsubscribeToken(secret, message.recipientId)}`

const plain: BroadcastContent = {
  sender: { address: parseAddress('news@a.test'), name: 'A & B' },
  replyTo: [],
  subject: 'News',
  html: '<p>{{first_name}}</p>',
  text: 'text',
}

const bob: BroadcastContact = {
  email: parseAddress('bob@b.test'),
  first_name: 'Bob',
  last_name: null,
  metadata: toJson({}),
}

interface Sent {
  readonly raw: Buffer
  readonly frame: MessageFrame
  readonly mail: ParsedMail
  readonly html: string
  readonly text: string
  readonly links: readonly string[]
}

/** A message as it is sent: its frame was stored and read back. Its form is checked, and the size that was promised. */
async function send(
  content: Partial<BroadcastContent>,
  contact: Partial<BroadcastContact> = {},
  isTracked = true,
): Promise<Sent> {
  const { frame, links } = await composer.compose({ ...plain, ...content }, { ...ids, isTracked })
  const stored = decodeFrame(encodeFrame(frame))
  const { slots, size } = messages.build(stored, { ...bob, ...contact }, message)
  const raw = buildFramed(stored, JSON.parse(JSON.stringify(slots)))
  assert.equal(raw.length, size)
  assert.equal(checkForm(raw, { maxLineOctets: 998 }).kind, 'ok')
  const body = raw.toString('latin1').slice(raw.indexOf('\r\n\r\n'))
  assert.ok(body.split('\r\n').every((line) => line.length <= 76))
  const options = { skipHtmlToText: true, skipTextToHtml: true, skipImageLinks: true, skipTextLinks: true }
  const mail = await simpleParser(raw, options)
  return { raw, frame: stored, mail, links, html: mail.html || '', text: mail.text ?? '' }
}

t.test('the fields that all messages have', async (t) => {
  const replyTo = [{ address: parseAddress('answers@a.test'), name: 'Zoë' }]
  const { raw } = await send({ replyTo }, { last_name: 'B. "Builder"' })
  const token = createUnsubscribeToken(secret, message.recipientId)
  t.equal(
    raw.toString().slice(0, raw.indexOf('Content-Type')),
    [
      'From: "A & B" <news@a.test>',
      'To: "Bob B. \\"Builder\\"" <bob@b.test>',
      'Reply-To: =?UTF-8?Q?Zo=C3=AB?= <answers@a.test>',
      'Subject: News',
      `List-Unsubscribe: <${unsubscribeUrl}>,`,
      ` <mailto:unsubscribe+${token}@posthorn.a.test>`,
      'List-Unsubscribe-Post: List-Unsubscribe=One-Click',
      `List-Id: <${ids.audienceId}.posthorn.a.test>`,
      'Precedence: bulk',
      `Message-ID: <${message.emailId}@mail.test>`,
      'Date: Sat, 21 Nov 2026 00:00:00 +0000',
      'MIME-Version: 1.0',
      '',
    ].join('\r\n'),
  )
})

t.test('a body without an unsubscribe link has it at its end', async (t) => {
  const { html, text } = await send({ html: '<body><p>x</p></body>', text: 'x' })
  t.match(
    html,
    new RegExp(`<p>x</p><div [^>]*>.*<a href="${unsubscribeUrl}"[^>]*>Unsubscribe</a></div><img [^>]*></body>`),
  )
  t.ok(text.startsWith('x\n\n'))
  t.ok(text.includes(`${unsubscribeUrl}\n`))
  const own = await send({ html: '<a href="{{ unsubscribe_url }}">stop</a>', text: 'stop: {{{unsubscribe_url}}}!' })
  t.ok(own.html.startsWith(`<a href="${unsubscribeUrl}">stop</a><img `), 'and its link is not tracked')
  t.equal(own.text.trimEnd(), `stop: ${unsubscribeUrl}!`)
  t.same(own.links, [])
  const one = await send({ html: null, text: 'x {{first_name}}' })
  t.equal(one.mail.html, false)
  t.ok(one.raw.includes('Content-Type: text/plain'))
  t.ok(one.text.startsWith('x Bob\n'))
})

t.test('text is made from the HTML if there is none', async (t) => {
  const html =
    '<h1>Hello {{first_name|friend}} &amp; all</h1><p>{{{metadata.teaser}}}</p><a href="{{unsubscribe_url}}">stop</a>'
  const metadata = toJson({ teaser: '<b>new</b> &lt;things&gt;' })
  const { text, mail } = await send({ html, text: null }, { metadata })
  t.equal(text.trimEnd().replaceAll('stop\n', 'stop '), `Hello Bob & all\n\nnew <things>\n\nstop [${unsubscribeUrl}]`)
  t.ok((mail.html || '').includes('<p><b>new</b> &lt;things&gt;</p>'))
})

t.test('text that is made from long HTML is cut, never within a variable', async (t) => {
  // The text of HTML has at most 200,000 characters.
  for (let length = 199_930; length <= 200_000; length += 1) {
    const { frame } = composeFrame(
      { ...plain, html: `${'a'.repeat(length)}{{email}}`, text: null },
      { ...ids, hostname: 'mail.test', publicUrl: base, base },
    )
    const { slots } = messages.build(frame, bob, message)
    const mail = await simpleParser(buildFramed(frame, slots), { skipHtmlToText: true })
    const [line = ''] = mail.text?.split('\n') ?? []
    const rest = line.replace(/^a+/, '')
    if (rest !== 'bob@b.test' && rest.length > 1) t.fail(`${length}: ${rest}`)
  }
  t.pass('all lengths')
})

t.test('links without variables are tracked as links of the broadcast', async (t) => {
  const kept = ['mailto:x@a.test', 'tel:+123', '#top', '/relative', `${base}/v1/unsubscribe/abc`]
  const html = [
    '<a href="https://shop.test/?a=1&amp;b=2">1</a>',
    "<a href='https://shop.test/?a=1&amp;b=2'>2</a>",
    '<area href=http://shop.test/x>',
    ...kept.map((href) => `<a href="${href}">kept</a>`),
  ]
  const { html: sent, links } = await send({ html: html.join('') })
  t.same(links, ['https://shop.test/?a=1&b=2', 'http://shop.test/x'])
  const urls = [...sent.matchAll(/<a(?:rea)? href=["']([^"']*)["']/g)].map(([, href = '']) => href)
  const tracked = (url: string): string =>
    `${base}/v1/track/click/${message.emailId}?url=${encodeURIComponent(url)}&amp;bid=${ids.broadcastId}`
  t.same(urls.slice(0, -1), [tracked(links[0] ?? ''), tracked(links[0] ?? ''), tracked(links[1] ?? ''), ...kept])
  t.ok(sent.includes(`<img src="${base}/v1/track/open/${message.emailId}?bid=${ids.broadcastId}" `))
})

t.test('a link with variables is made for the contact, with a token of its own', async (t) => {
  const html = '<a href="https://shop.test/{{metadata.path}}?e={{email}}&amp;x=1">1</a><a href="{{metadata.url}}">2</a>'
  const metadata = toJson({ path: 'a b"><i>', url: 'https://other.test/ü' })
  const { html: sent, links } = await send({ html }, { metadata })
  t.same(links, [])
  const urls = [...sent.matchAll(/<a href="([^"]*click[^"]*)"/g)].map(
    ([, href = '']) => new URL(href.replaceAll('&amp;', '&')),
  )
  t.same(
    urls.map(({ searchParams }) => searchParams.get('url')),
    ['https://shop.test/a%20b%22%3E%3Ci%3E?e=bob%40b.test&x=1', 'https://other.test/%C3%BC'],
  )
  for (const { searchParams, pathname } of urls) {
    const click = { emailId: message.emailId, url: searchParams.get('url') ?? '', token: searchParams.get('tid') ?? '' }
    t.ok(isClickToken(secret, click))
    t.equal(searchParams.get('bid'), ids.broadcastId)
    t.ok(pathname.endsWith(`/v1/track/click/${message.emailId}`))
  }
})

t.test('a value in a part of a URL is encoded for it', async (t) => {
  const html =
    '<a href="https://shop.test/?q={{first_name}}&amp;x=1">1</a><img src="https://shop.test/{{first_name}}.png">'
  const text = 'https://shop.test/?q={{first_name}} {{first_name}} {{unsubscribe_url}}'
  const { html: sent, text: plain } = await send({ html, text }, { first_name: 'A&B C?' })
  const [, href = ''] = /<a href="([^"]*click[^"]*)"/.exec(sent) ?? []
  t.equal(new URL(href.replaceAll('&amp;', '&')).searchParams.get('url'), 'https://shop.test/?q=A%26B%20C%3F&x=1')
  t.match(sent, '<img src="https://shop.test/A&amp;B%20C%3F.png">')
  t.match(plain, `https://shop.test/?q=A%26B%20C%3F A&B C? ${base}/v1/unsubscribe/`)
})

t.test('a URL of a contact that is not followed through us stays as it is', async (t) => {
  const html = '<a href="{{metadata.url}}">1</a><a href="tel:{{metadata.phone}}">2</a>'
  for (const url of ['mailto:x@a.test', 'https://u:p@a.test/', `${base}/v1/unsubscribe/x`, 'nothing', '']) {
    const { html: sent } = await send({ html }, { metadata: toJson({ url, phone: '+1"' }) })
    t.ok(sent.startsWith(`<a href="${url}">1</a><a href="tel:+1%22">2</a>`), url)
  }
})

const refusals: readonly [name: string, content: Partial<BroadcastContent>, kind: string, field?: string][] = [
  ['an unknown variable', { html: '{{name}} {{metadata}} {{email.x}}' }, 'invalid-template-variables'],
  ['no body', { html: null, text: null }, 'invalid-parameter', 'html'],
  ['empty bodies', { html: '', text: '' }, 'invalid-parameter', 'html'],
  ['a subject of two lines', { subject: 'a\nb' }, 'invalid-parameter', 'subject'],
  ['a subject that is too long', { subject: 'a'.repeat(999) }, 'invalid-parameter', 'subject'],
  ['HTML that is too long', { html: 'a'.repeat(500_001) }, 'too-large', 'html'],
  ['text that is too long', { text: 'a'.repeat(500_001) }, 'too-large', 'text'],
  ['too many tags', { html: '<b>'.repeat(10_001) }, 'too-large', 'html'],
  ['too many links', { html: '<a href="https://a.test/">x'.repeat(1_001) }, 'too-large', 'html'],
  ['too many variables', { text: '{{email}}'.repeat(500), html: '{{email}}' }, 'too-large'],
]

async function findRefusal(content: Partial<BroadcastContent>, isTracked = true): Promise<Refusal> {
  const composed = composer.compose({ ...plain, ...content }, { ...ids, isTracked })
  const error: unknown = await composed.catch((reason: unknown) => reason)
  if (error instanceof Refusal) return error
  throw new Error('not refused', { cause: error })
}

for (const [name, content, kind, field] of refusals) {
  t.test(`refused: ${name}, of a test copy too`, async (t) => {
    for (const isTracked of [true, false]) {
      const refusal = await findRefusal(content, isTracked)
      t.equal(refusal.kind, kind)
      t.equal(refusal.details['field'], field)
    }
  })
}

t.test('long content is composed on a thread, with the same result', async (t) => {
  const paragraph = `<p>${'Grüße '.repeat(20)}{{first_name}}</p>\n`
  const { html, links } = await send({ html: `${paragraph.repeat(100)}<a href="https://shop.test/">x</a>`, text: null })
  t.ok(html.startsWith(paragraph.repeat(100).replaceAll('{{first_name}}', 'Bob')))
  t.same(links, ['https://shop.test/'])
  const contents = ['{{x}}', '{{y}}'].map((variable) => ({ html: paragraph.repeat(100) + variable }))
  const refused = await Promise.all(contents.map((content) => findRefusal(content)))
  t.same(
    refused.map(({ kind, details }) => [kind, details['variables']]),
    [
      ['invalid-template-variables', ['x']],
      ['invalid-template-variables', ['y']],
    ],
  )
})

t.test('the limits are about the content as it was submitted', async (t) => {
  const variables = '{{email}}'.repeat(100)
  const links = '<a href="https://a.test/">x'.repeat(1_000)
  const html = links + variables + 'a'.repeat(500_000 - links.length - variables.length)
  const { html: sent } = await send({ html, text: 'x' })
  t.ok(sent.includes(`${'bob@b.test'.repeat(100)}aaa`))
})

t.test('a refusal names each unknown variable and where it stands', async (t) => {
  const content = { subject: '{{x}}', html: '{{metadata}}', text: '{{metadata.x}} {{x|default}}' }
  const { details } = await findRefusal(content)
  t.same(details['variables'], ['x', 'metadata'])
  const errors = [
    ['subject', 'x'],
    ['html', 'metadata'],
    ['text', 'x'],
  ]
  t.same(
    details['errors'],
    errors.map(([field, value]) => ({ field, message: 'contacts have no variable with this name', value })),
  )
})

const nasty = fc.constantFrom(
  ...[
    '',
    '=',
    '=\r\n',
    '.',
    '\r\n.\r\n',
    '..',
    '\r',
    '\n',
    '\r\n',
    ' ',
    '  \r\n',
    '\t',
    '"',
    "'",
    '<b>',
    '</body>',
    '&amp;',
  ],
  ...[
    '😀',
    'é',
    '=?utf-8?q?x?=',
    '{{email}}',
    '{{{',
    '}}',
    'a'.repeat(100),
    '\u2028',
    '\ufffd',
    '--=_',
    'Bcc: x@y.test',
    'x1n0e',
  ],
)
const value = fc
  .array(fc.oneof(nasty, fc.string({ unit: 'grapheme' })), { maxLength: 6 })
  .map((parts) => parts.join(''))
const literal = fc
  .array(fc.oneof(nasty, fc.string({ unit: 'grapheme' })), { maxLength: 4 })
  .map((parts) => parts.join('').replace(/[{}]/g, ''))

const variables = [
  'first_name',
  'last_name|you = <me>',
  'metadata.a.b',
  'metadata.none|',
  'metadata.list|none',
  'email',
]

/** What a variable stands for, by rules of their own. */
function valuesOf(contact: { first: string | null; last: string | null; meta: string }): readonly string[] {
  return [contact.first ?? '', contact.last || 'you = <me>', contact.meta, '', 'none', 'bob@b.test']
}

const lines = (text: string): string => text.replace(/\r\n|\r|\n/g, '\n')
/** Pieces have their line ends each for itself. */
const join = (pieces: readonly string[]): string => pieces.map(lines).join('')

t.test('a framed message is what composing it as a whole gives', async (t) => {
  const contact = fc.record({ first: fc.option(value), last: fc.option(value), meta: value })
  const template = fc.array(fc.tuple(literal, fc.nat({ max: variables.length - 1 }), fc.boolean()), { maxLength: 8 })
  await fc.assert(
    fc.asyncProperty(template, contact, async (pieces, values) => {
      const known = valuesOf(values)
      const source = pieces.map(([text, at, raw]) => `${text}${raw ? '{' : ''}{{${variables[at]}}}${raw ? '}' : ''}`)
      const end = '\n{{unsubscribe_url}}'
      const subject = source
        .join('')
        .replace(/[\r\n\0]|\p{Cs}/gu, '')
        .slice(0, 500)
      const metadata = toJson({ a: { b: values.meta }, list: ['x'] })
      const sent = await send(
        { subject, html: source.join('') + end, text: source.join('') + end },
        { first_name: values.first, last_name: values.last, metadata },
        false,
      )
      const html = join(
        pieces.flatMap(([text, at, raw]) => [text, raw ? (known[at] ?? '') : escapeHtml(known[at] ?? '')]),
      )
      assert.equal(sent.html.trimEnd(), `${html}\n${unsubscribeUrl}`)
      const text = join(pieces.flatMap(([text, at]) => [text, known[at] ?? '']))
      assert.equal(sent.text.trimEnd(), `${text}\n${unsubscribeUrl}`)
      assert.equal([...sent.mail.headerLines].filter(({ key }) => key === 'to' || key === 'subject').length, 2)
      assert.equal(sent.mail.headers.has('bcc'), false)
      const [to, ...others] = [sent.mail.to].flat().flatMap((field) => field?.value ?? [])
      assert.deepEqual([to?.address, others], ['bob@b.test', []])
    }),
    { numRuns: 300 },
  )
  t.pass('300 templates')
})
