/** Facts about a message for spam scoring: right for small messages, and bounded for any. */
import fc from 'fast-check'
import t from 'tap'
import { scanHeader } from '../../../../src/base/mail/header-fields.js'
import { findBrands, isBrandLookalike, isOneEditApart } from '../../../../src/inbound/spam/facts/brand-match.js'
import { collectHtmlFacts } from '../../../../src/inbound/spam/facts/html-facts.js'
import { scanMimeOutline } from '../../../../src/inbound/spam/facts/mime-outline.js'
import {
  countInvisibleInWords,
  countMixedWords,
  foldMixedWords,
  isHomograph,
} from '../../../../src/inbound/spam/facts/script-facts.js'
import { buildSpamMessage } from '../../../../src/inbound/spam/facts/spam-input.js'
import { findShownDomain, findTextUrls, parseSpamUrl } from '../../../../src/inbound/spam/facts/url-facts.js'
import { scoreByRules } from '../../../../src/inbound/spam/rules/spam-report.js'
import type { MimeParts } from '../../../../src/records/messages/mime/mime-parts-protocol.js'
import { parsedMessage } from '../../../helpers/parsed-message.js'

const noParts: MimeParts = { html: null, text: null, headers: [], attachments: [] }
const unknown = { receivedAt: null, origin: null, authentication: null }
const lines = (...all: readonly string[]): Buffer => Buffer.from([...all, ''].join('\r\n'))

t.test('HTML is read as people see it', async (t) => {
  const facts = collectHtmlFacts(
    '<title>no</title><style>p{}</style><p>One &amp; t<b>w</b>o</p><script>x</script><p hidden>gone</p>' +
      '<a href="http://a.test/?a&#61;1">here <i>and</i> there</a>' +
      '<div style="FONT-SIZE:0px">tiny<div>still</div></div><p>after</p>',
  )
  t.equal(facts.visibleText.replace(/\s+/g, ' ').trim(), 'One & two here and there after')
  t.same(facts.links, [{ href: 'http://a.test/?a=1', text: 'here and there' }])
  t.equal(facts.hiddenCharacters, 4)
  t.equal(facts.tinyCharacters, 9)
})

t.test('text in the colour of its background is invisible', async (t) => {
  const shown = (html: string): string => collectHtmlFacts(html).visibleText.trim()
  t.equal(shown('<body bgcolor="#000000" text="#fff"><font color="#010101">no</font>yes</body>'), 'yes')
  t.equal(shown('<p style="color: rgb(255, 255, 254)">no</p>yes'), 'yes')
  t.equal(shown('<td background="a.png"><font color=white>perhaps</font></td>'), 'perhaps')
  t.equal(shown('<p style="background-color:#eee;color:#333">yes</p>'), 'yes')
})

t.test('URLs are parsed', async (t) => {
  const url = parseSpamUrl('HTTP://user:pass@WWW.Shop.Example.co.uk:81/a?b', null)
  t.match(url, { scheme: 'http', user: 'user:pass', host: 'www.shop.example.co.uk', port: '81', path: '/a?b' })
  t.equal(url?.organization, 'example.co.uk')
  t.equal(parseSpamUrl('mailto:a@b.test', null), null)
  t.same(
    findTextUrls('see http://a.test/x, (https://b.test/y) or http://c.test.').map(({ href }) => href),
    ['http://a.test/x', 'https://b.test/y', 'http://c.test'],
  )
  t.equal(findShownDomain('https://login.bank.com/now'), 'bank.com')
  t.equal(findShownDomain('www.münchen.de'), 'xn--mnchen-3ya.de')
  t.equal(findShownDomain('read more'), null)
})

t.test('letters are read by their look', async (t) => {
  t.equal(foldMixedWords('p\u0430yp\u0430l vi\u200bta\u00admin'), 'paypal vitamin')
  t.equal(foldMixedWords('Привет, мир'), 'Привет, мир')
  t.equal(countMixedWords('p\u0430yp\u0430l и Привет'), 1)
  t.equal(countInvisibleInWords('vi\u200bta\u200bmin'), 2)
  t.ok(isHomograph('\u0440\u0430\u0443\u0440\u0430'))
  t.notOk(isHomograph('привет'))
})

t.test('each part of a message is listed as it declares itself', async (t) => {
  const raw = lines(
    'Content-Type: multipart/mixed; boundary=x',
    '',
    '--x',
    'Content-Type: Text/HTML;',
    '\tcharset="KOI8-R"',
    'Content-Transfer-Encoding: Base64',
    '',
    'AAAA',
    '-- ',
    'a signature',
    '--x--',
  )
  t.same(scanMimeOutline(raw, scanHeader(raw)).parts, [
    { contentType: 'multipart/mixed', charset: '', encoding: '', attached: false },
    { contentType: 'text/html', charset: 'koi8-r', encoding: 'base64', attached: false },
  ])
})

t.test('attachments are distinguished from bodies, and attached pages are read', async (t) => {
  const form = '<form action="https://x.example/"><input type=password></form>'
  const raw = lines(
    'Content-Type: multipart/mixed; boundary=x',
    '',
    '--x',
    'Content-Type: text/plain; charset=us-ascii',
    'Content-Transfer-Encoding: base64',
    'Content-Disposition: attachment; filename=notes.txt',
    '',
    'bm90ZXM=',
    '--x',
    'Content-Type: text/plain; charset=us-ascii; name="notes.txt"',
    'Content-Transfer-Encoding: base64',
    '',
    'bm90ZXM=',
    '--x',
    'Content-Type: application/octet-stream',
    "Content-Disposition: attachment; filename*=utf-8''invoice.HTML",
    'Content-Transfer-Encoding: base64',
    '',
    Buffer.from(form).toString('base64'),
    '--x',
    'Content-Type: text/html; name=a.html',
    'Content-Transfer-Encoding: quoted-printable',
    '',
    '<script>window.loc=',
    'ation=3D1</script>',
    '--x--',
  )
  const { parts, pages } = scanMimeOutline(raw, scanHeader(raw))
  t.same(
    parts.map(({ attached }) => attached),
    [false, true, true, true, true],
  )
  t.same(
    pages.map((page) => page.trim()),
    [form, '<script>window.location=1</script>'],
  )
  const names = (bytes: Buffer): readonly string[] =>
    scoreByRules(buildSpamMessage(parsedMessage(bytes, { ...noParts, text: 'x' }), unknown)).contributions.map(
      ({ name }) => name,
    )
  t.ok(names(raw).includes('ATTACHED_PAGE_ASKS'))
  t.ok(names(raw).includes('ATTACHED_PAGE_UNFOLDS'))
  t.notOk(names(raw).includes('BASE64_PLAIN_TEXT'), 'text files are attached in base64')
  const body = Buffer.from(raw.toString().replace('Content-Disposition: attachment; filename=notes.txt\r\n', ''))
  t.ok(names(body).includes('BASE64_PLAIN_TEXT'))
})

t.test('brands are recognized in any spelling, and in names made to look like theirs', async (t) => {
  const found = (text: string): readonly string[] => findBrands(text).map(({ brand }) => brand.names[0] ?? '')
  t.same(found('PayPal'), ['paypal'])
  t.same(found('P\u0430yPaI Service'), ['paypal'])
  t.ok(findBrands('P\u0430yPal')[0]?.disguised)
  t.notOk(findBrands('PAYPAL')[0]?.disguised)
  t.same(found('Wells  Fargo Online'), ['wells fargo'])
  t.same(found('Chase'), [], 'a name of people')
  t.same(found('Chase Alerts'), ['chase'])
  t.same(found('paypalooza'), [])
  const alike =
    'paypa1.com rnicrosoft.com netfliix.com paypal-login.example paypalsecure.example apple-id-support.example '
  const nested = 'paypal.com.example.net xn--pypal-4ve.com microsoft-login.web.app paypal.xyz'
  for (const host of `${alike}${nested}`.split(' ')) t.ok(isBrandLookalike(host), host)
  const own = 'paypal.com www.paypal.co.uk amazon.de email.apple.com office.com amazonia.org finance.com apple.example'
  for (const host of `${own} github.io example.org medicloud.com localhost com ..`.split(' '))
    t.notOk(isBrandLookalike(host), host)
  t.ok(
    isOneEditApart('netflix', 'netfliix') &&
      isOneEditApart('netflix', 'netlfix') &&
      isOneEditApart('netflix', 'netflex'),
  )
  t.notOk(isOneEditApart('netflix', 'netflix') || isOneEditApart('netflix', 'nettflixx'))
})

t.test('the facts hold the fields unchanged and the decoded subject', async (t) => {
  const raw = lines(
    'Received: from a by b; Sat, 21 Nov 2026 12:00:00 +0000 (UTC)',
    'From: =?utf-8?q?J=C3=B6rg?= <joerg@a.test>',
    'To: a@b.test,',
    ' c@d.test',
    'Subject: =?utf-8?q?Gr=C3=BC=C3=9Fe?=',
    'Date: Sat, 21 Nov 2026 11:00:00 +0000',
    '',
    'text',
  )
  const parts = { ...noParts, text: 'text', attachments: [] }
  const spamMessage = buildSpamMessage(parsedMessage(raw, parts), unknown)
  t.equal(spamMessage.subject, 'Grüße')
  t.same(spamMessage.from, [{ address: 'joerg@a.test', name: 'Jörg', written: 'joerg@a.test' }])
  t.equal(spamMessage.to.length, 2)
  t.match(spamMessage.fields[3], { name: 'subject', value: '=?utf-8?q?Gr=C3=BC=C3=9Fe?=' })
  t.equal(spamMessage.receivedAt, Date.UTC(2026, 10, 21, 12), 'of a file: its topmost Received field')
  t.equal(buildSpamMessage(parsedMessage(raw, parts), { ...unknown, receivedAt: 5 }).receivedAt, 5)
  t.equal(
    buildSpamMessage(parsedMessage(lines('Date: Sat, 21 Nov 2026 11:00:00 +0000', ''), parts), unknown).receivedAt,
    Date.UTC(2026, 10, 21, 11),
  )
})

t.test('an address list beyond all limits counts as empty, and the message is scored', async (t) => {
  const endless = Array.from({ length: 1_500 }, (_, at) => `a${at}`).join(',')
  const spamMessage = buildSpamMessage(
    parsedMessage(lines(...Array(1_200).fill(`To: ${endless}`), '', 'x'), noParts),
    unknown,
  )
  t.equal(spamMessage.fields.length, 1_000)
  t.ok(spamMessage.to.length <= 200)
  t.ok(scoreByRules(spamMessage).score > 0)
  t.same(buildSpamMessage(parsedMessage(lines(...Array(10_001).fill('A: b'), '', 'x'), noParts), unknown).fields, [])
})

const fragment = fc.oneof(
  fc.constantFrom(
    '<a href="',
    '">',
    '</a>',
    '<div style="',
    'display:none',
    'color:#fff',
    '<!--',
    '-->',
    '&#118;',
    '<',
  ),
  fc.constantFrom(
    'http://',
    '@',
    '%41',
    'xn--',
    '\u0430',
    '\u200b',
    '$ 5',
    '!',
    '<table><td>',
    '</td>',
    '=',
    '\r\n--',
    '\0',
  ),
  fc.string({ unit: 'binary', maxLength: 12 }),
)
const mess = fc.array(fragment, { maxLength: 60 }).map((all) => all.join(''))

t.test('no content makes scoring fail', async (t) => {
  const property = fc.property(mess, mess, mess, mess, (head, text, html, name) => {
    const raw = Buffer.from(`From: ${head}\r\nDate: ${name}\r\nSubject: ${head}\r\n${name}: x\r\n\r\n${text}`)
    const attachments = [
      { filename: name, content_type: 'text/plain', size: 1, content_id: null, disposition: 'attachment' as const },
    ]
    const { score, contributions } = scoreByRules(
      buildSpamMessage(parsedMessage(raw, { text, html, headers: [], attachments }), unknown),
    )
    return Number.isFinite(score) && new Set(contributions.map((one) => one.name)).size === contributions.length
  })
  fc.assert(property)
  t.pass('every message has a score')
})

t.test('visible text was in the page, and counts never exceed it', async (t) => {
  const property = fc.property(mess, (html) => {
    const facts = collectHtmlFacts(html)
    const seen = facts.visibleText.replace(/\s/g, '').length
    return (
      seen + facts.hiddenCharacters + facts.tinyCharacters + facts.camouflagedCharacters <= html.length * 2 &&
      facts.brokenWords <= html.length
    )
  })
  fc.assert(property)
  t.pass('held')
})

const KB = 1_024
const bombs: Readonly<Record<string, string>> = {
  'nested tables': '<table><tr><td>'.repeat((800 * KB) / 15),
  'nested styles': '<div style="color:#fff"><p style="display:none">'.repeat(KB * 16),
  'open links': '<a'.repeat(512 * KB),
  'links with targets': '<a href="http://a.test/">x'.repeat(KB * 40),
  'comments in words': 'a<!---->'.repeat(128 * KB),
  'attributes without end': `<a ${'a=b '.repeat(256 * KB)}`,
  'one attribute': `<a href="${'http://'.repeat(150 * KB)}`,
  'character references': '&#97;'.repeat(200 * KB),
  'blanks alone': ' '.repeat(KB * KB),
  'blanks and marks': `${' '.repeat(KB)}!`.repeat(KB),
  amounts: `$${'1'.repeat(300)}`.repeat(3 * KB),
  'the same word': 'deceased '.repeat(100 * KB),
  lenders: 'mortgage '.repeat(100 * KB),
  addresses: 'http://a.test/?to=http://'.repeat(40 * KB),
  'names of brands': 'pay pal bank of america '.repeat(40 * KB),
  lures: `your account ${'a '.repeat(40)}`.repeat(10 * KB),
  'links to many hosts': Array.from({ length: 20 * KB }, (_, at) => `http://paypal${at}.a.test/`).join(' '),
  capitals: 'A'.repeat(KB * KB),
  'mixed letters': 'a\u0430'.repeat(512 * KB),
  boundaries: '\r\n--x\r\nContent-Type: a/b\r\n'.repeat(30 * KB),
}

/**
 * Most take some hundredths of a second; with such sizes, anything more than linear exceeds the runner's time limit.
 */
t.test('every bomb gets a score', async (t) => {
  for (const [name, bomb] of Object.entries(bombs)) {
    const raw = Buffer.from(`Subject: ${bomb.slice(0, 900 * KB)}\r\nFrom: ${bomb.slice(0, 50 * KB)}\r\n\r\n${bomb}`)
    const spamMessage = buildSpamMessage(parsedMessage(raw, { ...noParts, text: bomb, html: bomb }), unknown)
    const report = scoreByRules({ ...spamMessage, pages: [bomb, bomb, bomb] })
    t.ok(Number.isFinite(report.score), name)
  }
})
