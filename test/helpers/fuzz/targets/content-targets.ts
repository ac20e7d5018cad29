/** The content of messages: MIME parts, HTML, templates, tracking, spam facts, records of inbound mail. */
import { createSecretKey } from 'node:crypto'
import { parseAddress, parseDomainName } from '../../../../src/base/mail/address.js'
import { scanHeader, scanHeaderOrEmpty } from '../../../../src/base/mail/header-fields.js'
import { readHtml } from '../../../../src/base/mail/html/read-html.js'
import { escapeHtml } from '../../../../src/base/mail/markup.js'
import { toJson } from '../../../../src/base/storage/tables/columns.js'
import { summarizeInbound } from '../../../../src/inbound/receiving/analysis/inbound-content.js'
import { analyzeContent } from '../../../../src/inbound/spam/content-analysis.js'
import { composeFrame } from '../../../../src/outbound/broadcasts/compose-frame.js'
import { ContactMessages } from '../../../../src/outbound/broadcasts/contact-message.js'
import { findCopyFrame } from '../../../../src/outbound/sending/token-places.js'
import { createOwnUrls, linkUrlOf } from '../../../../src/outbound/tracking/link-url.js'
import { toLocation } from '../../../../src/outbound/tracking/resolve-click.js'
import { restoreHtml } from '../../../../src/outbound/tracking/restore-html.js'
import { rewriteHtml } from '../../../../src/outbound/tracking/rewrite-html.js'
import { rewriteMessage } from '../../../../src/outbound/tracking/rewrite-message.js'
import { buildClickUrl, buildPixel } from '../../../../src/outbound/tracking/tracked-urls.js'
import { textOfHtml } from '../../../../src/records/messages/mime/text-of-html.js'
import { renderPreview } from '../../../../src/workspaces/content/render-template.js'
import {
  insertUnsubscribeUrl,
  MAX_PLACES,
  parseBoundedText,
  parseTemplateText,
} from '../../../../src/workspaces/content/template-text.js'
import { plainFooter } from '../../mail/plain-footer.js'
import { parsedMessage } from '../../parsed-message.js'
import { check, checkEqual, type FuzzTarget } from '../target.js'
import { messageSeeds, messageWords } from './message-seeds.js'
import { isRefusal } from './refusals.js'

const htmlSeeds = [
  '<!doctype html><html><head><style>a{}</style></head><body><p>hello <a href="https://b.test/?a=1&amp;b=2">link</a></p></body></html>',
  `<a href='https://b.test/x'>x</a><area href=https://b.test/y><!--[if mso]><a href="https://b.test">z</a><![endif]--><img src="cid:a">`,
  '<table><tr><td>1<td>2</table><svg><style><a href="x"></style></svg><textarea></body></textarea>&#x41;&notit;&#0;&#x110000;',
  '<a href="{{unsubscribe_url}}">{{ name|friend }}</a> {{{metadata.x}}}',
]
const htmlWords = [
  '<a href="',
  '<a href=',
  '">',
  '</a>',
  '<!--',
  '-->',
  '<![CDATA[',
  '<svg>',
  '<style>',
  '</style>',
  '<script>',
  '</body>',
  '<plaintext>',
  '<title/>',
  '&amp;',
  '&#x41;',
  '&#',
  '&lt',
  "'",
  '{{',
  '}}',
  '{{{',
  '}}}',
  'unsubscribe_url',
  'name',
  '|',
  'https://b.test/',
  '//b.test',
  'javascript:',
  'mailto:',
  '<?',
  '<!',
  '/>',
  '\t',
  '\0',
]
const emailId = '0192aaaa-bbbb-7ccc-8ddd-eeeeeeeeeeee'
const linkId = '0'.repeat(36)
const base = 'https://mail.a.test'
const ownUrls = { hosts: ['mail.a.test'], path: '' }

function trackHtml(html: string): string {
  const tracked = rewriteHtml(html, {
    pixel: buildPixel(base, emailId),
    trackLink: (href) => {
      const url = linkUrlOf(href, ownUrls)
      if (url === null) return null
      check(/^[!-~]+$/.test(url), 'a stored URL is visible ASCII')
      check(toLocation(url) !== null, 'a stored URL can be followed')
      return { id: linkId, href: escapeHtml(buildClickUrl(base, linkId)) }
    },
  })
  // What was tracked already is restored as well.
  if (!html.includes('/v1/track/'))
    checkEqual(restoreHtml(tracked.html, emailId, tracked.edits), html, 'restore(track(x)) = x')
  return tracked.html
}

function checkHtml(input: Buffer): void {
  const html = input.toString()
  trackHtml(html)
  let at = 0
  readHtml(html, {
    onOpenTag: ({ start, end, attributes }) => {
      check(start >= at && end > start && html[start] === '<' && html[end - 1] === '>', 'a tag is where it says')
      at = end
      for (const attribute of attributes)
        check(attribute.end <= end && attribute.start <= attribute.end, 'a value is within its tag')
    },
    onCloseTag: () => undefined,
    onText: () => undefined,
  })
  const text = textOfHtml(html)
  check(text.length <= 200_001, 'the text of HTML is bounded')
}

function trackMessage(input: Buffer): void {
  const header = scanHeader(input)
  const rewritten = rewriteMessage(input, header, trackHtml)
  if (typeof rewritten === 'string') return
  const again = scanHeader(Buffer.concat(rewritten))
  checkEqual(
    again.fields.filter(({ name }) => name !== 'content-transfer-encoding').map(({ name }) => name),
    header.fields.filter(({ name }) => name !== 'content-transfer-encoding').map(({ name }) => name),
    'tracking adds no field but one of the encoding',
  )
  for (const encoding of ['quoted-printable', 'base64'] as const)
    findCopyFrame(input, [{ encoding, startFromEnd: input.length, endFromEnd: 0 }], 'a2'.repeat(21))
}

const ownUrlsOf = createOwnUrls('https://a.test:8443/p')

function renderTemplates(input: Buffer): void {
  const text = input.toString()
  const parsed = parseBoundedText('html', text, MAX_PLACES)
  checkEqual(
    parsed.pieces
      .filter((piece) => typeof piece === 'string')
      .reduce((sum, piece) => sum + Buffer.byteLength(piece), 0),
    parsed.literalBytes,
    'literal bytes are counted',
  )
  const template = {
    id: 't',
    subject: parseBoundedText('subject', text.slice(0, 200), MAX_PLACES),
    html: parsed,
    text: parsed,
  }
  const data = JSON.parse(
    '{"name":"<b>\\"x\\"</b>","a":{"b":"&","__proto__":{"c":1}},"n":1,"metadata":{"x":"\\r\\n"}}',
  ) as Record<string, unknown>
  const { subject } = renderPreview(template, data, 'https://a.test/v1/unsubscribe/x')
  check(!/[\r\n\0]/.test(subject) && subject.length <= 998, 'a subject is one line')
  const values = renderPreview(
    {
      ...template,
      subject: parseTemplateText('subject', ''),
      html: parseTemplateText('html', '<p title="{{name}}">'),
      text: null,
    },
    { name: text },
    '',
  )
  check(/^<p title="[^"<>]*">$/.test(values.html ?? ''), 'a value is escaped')
  insertUnsubscribeUrl(text, 'https://a.test/v1/unsubscribe/x', 'html', () => undefined)
}

const ids = {
  broadcastId: 'b',
  audienceId: 'c',
  hostname: 'mail.a.test',
  publicUrl: 'https://a.test',
  base: 'https://a.test',
  footer: plainFooter,
}
const secret = createSecretKey(Buffer.alloc(32))
const messageIds = { emailId: 'bc-x', recipientId: emailId, now: 0 }

function composeBroadcast(input: Buffer): void {
  const text = input.toString()
  const content = { subject: text.slice(0, 60).replace(/[\r\n\0]/g, ' ') || 'x', html: text, text }
  const { frame } = composeFrame(
    { sender: { address: parseAddress('x@a.test'), name: '' }, replyTo: [], ...content },
    ids,
  )
  const contact = {
    email: parseAddress('x@b.test'),
    first_name: text.slice(0, 200),
    last_name: '"',
    metadata: toJson({ x: text.slice(-200) }),
  }
  const slots = new ContactMessages(secret, 'https://a.test').build(frame, contact, messageIds)
  check(slots !== null, 'a message is made')
  linkUrlOf(text, ownUrlsOf(parseDomainName('mail.a.test')))
}

const circumstances = { receivedAt: 0, origin: null, authentication: null }

function analyzeMessage(input: Buffer): void {
  const { bodyStart } = scanHeaderOrEmpty(input)
  const body = input.toString('utf8', bodyStart)
  const message = parsedMessage(input, { html: body, text: body })
  const summary = summarizeInbound(message)
  check(!/[\p{Cc}]/u.test(summary.subject + summary.from_name), 'a record has no control characters')
  const { rules, keys } = analyzeContent(message, circumstances)
  check(
    rules.every(({ score }) => Number.isFinite(score)),
    'points are numbers',
  )
  check(keys.length <= 8_000, 'tokens are bounded')
}

export const contentTargets: readonly FuzzTarget[] = [
  {
    name: 'html',
    checks: 'restore(track(x)) = x; tags are where they say; stored URLs can be followed',
    seeds: htmlSeeds,
    words: htmlWords,
    run: checkHtml,
  },
  {
    name: 'tracked-messages',
    checks: 'no field is added but one of the encoding',
    seeds: messageSeeds,
    words: [...messageWords, ...htmlWords],
    run: trackMessage,
    refuses: isRefusal,
  },
  {
    name: 'templates',
    checks: 'a subject is one line; values are escaped; bytes are counted',
    seeds: htmlSeeds,
    words: [
      '{{',
      '}}',
      '{{{',
      '}}}',
      '|',
      'name',
      'a.b',
      'metadata.x',
      'unsubscribe_url',
      '.',
      '__proto__',
      'constructor',
      ' ',
      'ä',
    ],
    run: renderTemplates,
    refuses: isRefusal,
  },
  {
    name: 'broadcast-content',
    checks: 'a message is made for any contact',
    seeds: htmlSeeds,
    words: htmlWords,
    maxSize: 16_384,
    run: composeBroadcast,
    refuses: isRefusal,
  },
  {
    name: 'inbound-content',
    checks: 'records are printable; points are numbers; tokens are bounded',
    seeds: [...messageSeeds, ...htmlSeeds],
    words: [...messageWords, ...htmlWords, 'viagra', 'http://192.0.2.1/', 'www.', 'xn--', 'paypal.com'],
    maxTime: 1_500,
    run: analyzeMessage,
  },
]
