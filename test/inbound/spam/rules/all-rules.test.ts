/** Spam rules: each fires on a message of its own and none on legitimate mail; and the status that a score gives. */
import t from 'tap'
import { parseAuthors, parseMailboxList } from '../../../../src/base/mail/mailbox-list.js'
import type {
  SpamAuthentication,
  SpamField,
  SpamMessage,
  SpamOrigin,
} from '../../../../src/inbound/spam/facts/spam-message.js'
import { spamRules } from '../../../../src/inbound/spam/rules/all-rules.js'
import { scoreByRules, spamStatusOf } from '../../../../src/inbound/spam/rules/spam-report.js'

const receivedAt = Date.UTC(2026, 10, 21, 12, 0, 5)

const honestFields: Readonly<Record<string, string>> = {
  received: 'from mail.orchard.example by mx.service.example; Sat, 21 Nov 2026 12:00:05 +0000',
  'message-id': '<a1@orchard.example>',
  date: 'Sat, 21 Nov 2026 13:00:00 +0100',
  from: 'Anna Berg <anna@orchard.example>',
  to: 'Tom <tom@service.example>',
  subject: 'Minutes of the meeting',
  'mime-version': '1.0',
  'content-type': 'multipart/alternative; boundary=b',
}

const honestText =
  'Hi Tom, here is what we agreed on yesterday. The notes are at https://orchard.example/notes and I added yours.'

const honestOrigin: SpamOrigin = {
  envelopeFrom: 'anna@orchard.example',
  clientAddress: '192.0.2.10',
  helo: 'mail.orchard.example',
  reverseName: 'mail.orchard.example',
}

const passed: SpamAuthentication = { spf: 'pass', dkim: 'pass', dmarc: 'none', iprev: 'pass' }

/** A legitimate message, with fields set, changed, or removed (null), and any other difference. */
function message(fields: Readonly<Record<string, string | null>> = {}, rest: Partial<SpamMessage> = {}): SpamMessage {
  const all: SpamField[] = Object.entries({ ...honestFields, ...fields }).flatMap(([name, value]) =>
    value === null ? [] : [{ name, value }],
  )
  const value = (name: string): string => all.find((field) => field.name === name)?.value ?? ''
  return {
    fields: all,
    subject: value('subject'),
    from: parseAuthors(value('from')),
    replyTo: parseMailboxList(value('reply-to')),
    to: parseMailboxList(value('to')),
    text: honestText,
    html: `<html><body><p>${honestText}</p></body></html>`,
    attachments: [],
    parts: [
      { contentType: 'multipart/alternative', charset: '', encoding: '', attached: false },
      { contentType: 'text/plain', charset: 'utf-8', encoding: '8bit', attached: false },
      { contentType: 'text/html', charset: 'utf-8', encoding: '8bit', attached: false },
    ],
    pages: [],
    isAmbiguous: false,
    size: 2_000,
    receivedAt,
    origin: honestOrigin,
    authentication: passed,
    ...rest,
  }
}

const field = (name: string, value: string | null): SpamMessage => message({ [name]: value })
const subject = (words: string): SpamMessage => field('subject', words)
const text = (words: string): SpamMessage => message({}, { text: words, html: null })
const html = (inner: string): SpamMessage =>
  message({}, { html: `<html><body><p>${honestText}</p>${inner}</body></html>` })
const link = (href: string): SpamMessage => html(`<a href="${href}">notes</a>`)
const results = (change: Partial<SpamAuthentication>): SpamMessage =>
  message({}, { authentication: { ...passed, ...change } })
const origin = (change: Partial<SpamOrigin>): SpamMessage => message({}, { origin: { ...honestOrigin, ...change } })
const messageWithFile = (filename: string, contentType = 'application/octet-stream'): SpamMessage =>
  message({}, { attachments: [{ filename, contentType, size: 5_000 }] })

const words = (count: number): string => Array.from({ length: count }, (_, at) => `word${at}x`).join(' ')
const picture = '<img src="https://orchard.example/a.png">'

const asks = (href: string): string => `Please verify your account at ${href}`

/** A message of its own for each rule; `fires` compares it with the list of all rules. */
const cases: Readonly<Record<string, SpamMessage>> = {
  GTUBE: text(['XJS*C4JDBQADN1.NSBN3*2IDNEN', 'GTUBE-STANDARD-ANTI-UBE-TEST-EMAIL', 'C.34X'].join('*')),

  EMPTY_MESSAGE: message({}, { text: ' ', html: null }),
  AMBIGUOUS_STRUCTURE: message({}, { isAmbiguous: true }),
  HTML_ONLY: message({}, { text: null }),
  IMAGE_ONLY: message({}, { text: null, html: `<html><body>${picture}</body></html>` }),
  PICTURES_FOR_WORDS: html(picture.repeat(6)),
  BASE64_PLAIN_TEXT: message(
    {},
    { parts: [{ contentType: 'text/plain', charset: 'us-ascii', encoding: 'base64', attached: false }] },
  ),
  BODIES_DIFFER: message({}, { html: `<html><body>${words(30)}</body></html>` }),
  LONG_LINES: text('a word '.repeat(200)),
  ONE_PART_MULTIPART: message({}, { parts: message().parts.slice(0, 2) }),
  HTML_DECLARED_MIXED: message(
    {},
    {
      parts: [
        { contentType: 'multipart/related', charset: '', encoding: '', attached: false },
        { contentType: 'text/html', charset: 'utf-8', encoding: '8bit', attached: false },
      ],
    },
  ),

  NO_SUBJECT: field('subject', null),
  NO_MESSAGE_ID: field('message-id', null),
  ODD_MESSAGE_ID: field('message-id', '<12345>'),
  NO_AUTHOR: field('from', 'somebody'),
  NO_RECIPIENT: field('to', null),
  UNREADABLE_RECIPIENT: field('to', 'all of you'),
  UNDISCLOSED: field('to', 'undisclosed-recipients:;'),
  REPEATED_FIELDS: message({}, { fields: [...message().fields, { name: 'subject', value: 'Another' }] }),
  SUBJECT_SHOUTS: subject('READ THIS AT ONCE'),
  SUBJECT_EXCLAIMS: subject('It is here!'),
  SUBJECT_EXCLAIMS_MUCH: subject('Here! And there! And so on'),
  SUBJECT_MONEY: subject('Yours: $500'),
  SUBJECT_PERCENT: subject('Now 50% of it'),
  SUBJECT_TAIL: subject('Hello there          xk3jf'),
  SUBJECT_SPACED: subject('l o a n s to all'),
  SUBJECT_NAMES_RECIPIENT: message({ to: 'tomwood@service.example', subject: 'tomwood, look at it' }),
  SUBJECT_AD: subject('ADV: new carpets'),
  SUBJECT_OFFER: subject('Lower your mortgage'),
  FALSE_REPLY: subject('Re: what you asked'),
  AUTHOR_DIGITS: field('from', 'Anna <anna48213@orchard.example>'),
  AUTHOR_RANDOM: field('from', 'Anna <xkcdfgbt@orchard.example>'),
  AUTHOR_NAME_IS_OTHER_ADDRESS: field('from', '"help@bank.example.com" <anna@orchard.example>'),
  AUTHOR_NAME_SHOUTS: field('from', 'Best Loans <anna@orchard.example>'),
  AUTHOR_IS_RECIPIENT: field('to', 'anna@orchard.example'),
  FREE_MAIL_AUTHOR: field('from', 'Anna <anna@gmail.com>'),
  REPLY_TO_FREE_MAIL: field('reply-to', 'anna@gmail.com'),
  REPLY_TO_ELSEWHERE: field('reply-to', 'anna@elsewhere.example.com'),
  MANY_RECIPIENTS: field('to', Array.from({ length: 12 }, (_, at) => `tom${at}@service.example`).join(', ')),
  HIGH_PRIORITY: field('x-priority', '1 (Highest)'),
  NO_MIME_VERSION: field('mime-version', null),
  ANSWER_IN_THREAD: message({ 'in-reply-to': '<q@service.example>' }, { text: 'Yes.\n> Is it so?\n' }),

  NO_DATE: field('date', null),
  DATE_UNREADABLE: field('date', 'yesterday at tea'),
  DATE_ODD_ZONE: field('date', 'Sat, 21 Nov 2026 13:00:00 -1900'),
  DATE_AHEAD: field('date', 'Sat, 21 Nov 2026 20:00:00 +0000'),
  DATE_FAR_AHEAD: field('date', 'Sat, 28 Nov 2026 20:00:00 +0000'),
  DATE_LATE: field('date', 'Fri, 20 Nov 2026 12:00:00 +0000'),
  DATE_FAR_LATE: field('date', 'Sat, 7 Nov 2026 12:00:00 +0000'),

  SPF_FAIL: results({ spf: 'fail' }),
  SPF_SOFTFAIL: results({ spf: 'softfail' }),
  SPF_PERMERROR: results({ spf: 'permerror' }),
  DKIM_FAIL: results({ dkim: 'fail' }),
  DKIM_PERMERROR: results({ dkim: 'permerror' }),
  DMARC_FAIL: results({ dmarc: 'fail' }),
  DMARC_PASS: results({ dmarc: 'pass' }),
  UNAUTHENTICATED: results({ spf: 'none', dkim: 'none' }),
  IPREV_FAIL: results({ iprev: 'fail' }),
  CLIENT_GENERIC_NAME: origin({ reverseName: 'host-192-0-2-10.dial.example' }),
  HELO_LITERAL: origin({ helo: '[192.0.2.10]' }),
  HELO_NO_DOMAIN: origin({ helo: 'desktop' }),
  ENVELOPE_ELSEWHERE: origin({ envelopeFrom: 'bounce@elsewhere.example.com' }),

  URL_IP_ADDRESS: link('http://203.0.113.7/x'),
  URL_NUMERIC_HOST: link('http://3405803783/x'),
  URL_USER: link('http://www.bank.example@orchard.example/x'),
  URL_ODD_PORT: link('http://orchard.example:8888/x'),
  URL_ESCAPED: link('http://orchard.example/%70%61ge'),
  URL_REDIRECTS: link('http://orchard.example/go?http://elsewhere.example/'),
  URL_SHORTENED: link('https://bit.ly/3xyz'),
  URL_HOMOGRAPH: link('https://раура.example/'),
  URL_PUNYCODE: link('https://xn--mnchen-3ya.example/'),
  URL_TEXT_MISMATCH: html('<a href="https://orchard.example/x">https://www.bank.com/login</a>'),
  URL_CHEAP_DOMAIN: link('https://orchard.top/x'),
  URL_DIGITS: link('https://shop24x7.example/x'),
  URL_PROGRAM: link('https://orchard.example/setup.exe'),
  URL_REMOVAL: link('https://orchard.example/remove.php'),
  URL_NAMES_RECIPIENT: link('https://orchard.example/?to=tom%40service.example'),
  URL_LONG_HOST: link('https://a.b.c.d.e.f.orchard.example/'),
  URL_AFFILIATE: link('https://orchard.example/?affid=7'),
  URL_SCRIPT: link('javascript:run()'),
  IMAGE_LINKS: html(`<a href="https://orchard.example/">${picture}</a>`),
  URL_OWN: html('<a href="https://orchard.example/1">one</a>'.repeat(4)),

  HTML_HIDDEN_TEXT: html(`<div style="display: none">${words(100)}</div>`),
  HTML_TINY_TEXT: html(`<span style="font-size:1px">${words(10)}</span>`),
  HTML_CAMOUFLAGED_TEXT: html(`<font color="#fefefe">${words(10)}</font>`),
  HTML_BROKEN_WORDS: html('vi<!-- a -->tam<!-- b -->ins'),
  HTML_ENCODED_LETTERS: html('&#118;&#105;&#116;&#97;&#109;&#105;&#110;'),
  HTML_SCRIPT: html('<script>run()</script>'),
  HTML_HANDLERS: html('<p onmouseover="run()">here</p>'),
  HTML_FRAMES: html('<iframe src="https://orchard.example/"></iframe>'),
  HTML_FORM: html('<form action="https://orchard.example/"></form>'),
  HTML_PASSWORD: html('<input type="PassWord">'),
  HTML_REFRESH: html('<meta http-equiv="refresh" content="0;url=https://orchard.example/">'),
  HTML_LOUD: html('<font size="+3">a</font>'.repeat(5)),
  HTML_CENTERED: html('<center>poster</center>'),
  HTML_FRAGMENT: message({}, { html: `<p>${honestText}</p>` }),
  HTML_LETTERS_IN_TABLE: html('<td>a</td>'.repeat(120)),

  MIXED_ALPHABETS: text('Your pаypal and your bаnk'),
  AUTHOR_MIXED_ALPHABETS: field('from', 'Pаypal <anna@orchard.example>'),
  UNSEEN_CHARACTERS: text('vi\u200bta\u200bmi\u200bns'),
  TEXT_REVERSED: subject('Bill \u202efdp.exe'),
  HEADER_RAW_8BIT: subject('Grüße'),
  CHARSET_MISSING: message(
    {},
    { text: 'ÃÄÅÆ', parts: [{ contentType: 'text/plain', charset: '', encoding: '', attached: false }] },
  ),
  CHARSET_UNKNOWN: message(
    {},
    { parts: [{ contentType: 'text/plain', charset: '%charset', encoding: '', attached: false }] },
  ),
  SHOUTING: text('THIS IS ALL IN CAPITALS '.repeat(10)),
  SHOUTED_LINES: text('READ ALL OF THIS NOW\nand then\nREAD IT ALL AGAIN TOO\n'),
  MANY_EXCLAMATIONS: text('There it is!!! So it goes'),
  GAPPED_WORDS: text('They have L O A N S for all'),

  ATTACHED_PROGRAM: messageWithFile('setup.exe'),
  ATTACHED_DOUBLE_EXTENSION: messageWithFile('bill.pdf.html'),
  ATTACHED_HIDDEN_EXTENSION: messageWithFile('bill.pdf               .zip'),
  ATTACHED_TYPE_MISMATCH: messageWithFile('song.scr', 'audio/x-wav'),
  ATTACHED_MACROS: messageWithFile('plan.xlsm'),
  ATTACHED_PAGE: messageWithFile('login.html', 'text/html'),

  SAYS_CLICK_HERE: text('Click here for more'),
  SAYS_REMOVE: text('To be removed, write to us'),
  SAYS_NO_FURTHER_MAIL: text('If you do not wish to receive these letters'),
  SAYS_OPTED_IN: text('because you have registered with one of our friends'),
  SAYS_NOT_SPAM: text('This is not spam at all'),
  SAYS_FREE: text('Ask for a free sample of it'),
  SAYS_NO_OBLIGATION: text('There is no obligation'),
  SAYS_GUARANTEE: text('It is guaranteed to work'),
  SAYS_ACT_NOW: text('Act now'),
  SAYS_SAVE: text('The lowest prices of all'),
  SAYS_TOLL_FREE: text('Call 1-800-555-0199'),
  SAYS_CREDIT_CARD: text('We take visa and mastercard'),
  SAYS_ORDER: text('Fill in the order form'),
  SAYS_BULK_MAIL: text('We sell targeted leads'),
  SAYS_AS_SEEN: text('As seen on television'),
  SAYS_AMAZING: text('It is a miracle'),
  SAYS_DEAR: text('Dear friend, how are you'),
  SAYS_WIN: text('You have won a car'),
  SAYS_TELLS_FRIENDS: text('Please tell your friends about it'),
  SAYS_PRICE: text('It is only $ 5'),

  WARE_MORTGAGE: text('Our lenders offer good rates'),
  WARE_DEBT: text('Get out of debt'),
  WARE_INCOME: text('Work from home like others do'),
  WARE_INVESTMENT: text('A strong buy this week'),
  WARE_MEDICINE: text('Buy viagra there'),
  WARE_BODY: text('Lose twenty pounds soon'),
  WARE_SEX: text('Hot girls near you'),
  WARE_GAMBLING: text('Our casino is open'),
  WARE_DEGREE: text('Earn your degree by mail'),
  WARE_INSURANCE: text('Ask for insurance quotes'),
  WARE_GOODS: text('Replica clocks and bags'),
  WARE_SERVICES: text('Increase your sales with us'),

  FRAUD_ADVANCE_FEE: text('I am the next of kin and need your account'),
  FRAUD_CONFIDENTIAL: text('This is strictly confidential'),
  FRAUD_AFAR: text('I write to you from Lagos'),
  FRAUD_ACCOUNT: text('Please verify your account within the day'),
  FRAUD_EXTORTION: text('I recorded you; send me bitcoin'),
  FRAUD_GIFT_CARDS: text('I need you to buy gift cards'),
  FRAUD_CHAIN: text('This is 100% legal'),
  FRAUD_ACCOUNT_ABROAD: text('Bitte bestätigen Sie Ihre Daten'),
  FRAUD_MAILBOX: text('We hold 7 pending messages for you'),
  FRAUD_PROTECTION: text('Your antivirus protection has expired'),
  FRAUD_WALLET: text('Enter your recovery phrase there'),
  FRAUD_REWARD: text('Claim your free reward before noon'),
  FRAUD_PARCEL: text('Your parcel is on hold at the depot'),
  GREETS_ADDRESS: text('Dear tom@service.example, good morning'),
  SAYS_DEAR_ABROAD: text('Sehr geehrter Kunde, guten Morgen'),

  PICTURE_IS_LINK: message(
    {},
    { html: '<html><body><a href="https://orchard.example/x"><img src="cid:a"></a></body></html>' },
  ),
  HEADER_UNSEEN_CHARACTERS: subject('A mes\u200bsage'),
  SUBJECT_MIXED_ALPHABETS: subject('Your pаypal'),
  STYLED_LETTERS: subject('\u{1d5d4}\u{1d5d5}\u{1d5d6} for you'),
  ATTACHED_PAGE_ASKS: message({}, { pages: ['<form action="https://x.example/"><input type="password"></form>'] }),
  ATTACHED_PAGE_UNFOLDS: message({}, { pages: ['<script>document.write(atob("YQ=="))</script>'] }),
  LURE_IN_ATTACHMENT: message(
    {},
    {
      text: 'Please verify your account',
      attachments: [{ filename: 'account.htm', contentType: 'text/html', size: 900 }],
    },
  ),

  AUTHOR_POSES_AS_BRAND: field('from', 'Netflix <anna@orchard.example>'),
  AUTHOR_DOMAIN_LIKE_BRAND: field('from', 'Anna <anna@paypa1.com>'),
  BRAND_DISGUISED: subject('Your Amaz0n order'),
  SUBJECT_NAMES_BRAND: message({ subject: 'Your Netflix account' }, { html: null }),
  LURE_OF_BRAND: message({ subject: 'Your Netflix account' }, { text: asks('https://orchard.example/x'), html: null }),
  URL_LIKE_BRAND: link('https://netflix.com.login.example.net/'),
  LURE_AT_FREE_HOST: text(asks('https://check-x.web.app/')),
  LURE_FEIGNS_TARGET: html('Verify your account: <a href="https://elsewhere.example.com/">www.bank.com</a>'),
  LURE_IN_HASTE: message({ from: 'DHL <anna@orchard.example>' }, { text: 'Verify your account within 24 hours' }),
  LURE_AT_THROWAWAY_DOMAIN: text(asks('https://orchard.top/x')),
  AUTHOR_POSES_AS_RECIPIENT: field('from', '"service.example mail" <anna@orchard.example>'),
  LURE_OF_OFFICE: message({ from: 'IT Helpdesk <anna@orchard.example>' }, { text: 'You have 3 pending messages' }),
  OFFICE_AT_FREE_MAIL: field('from', 'Refund Department <anna@gmail.com>'),
  QR_TO_LOG_IN: message(
    {},
    {
      text: 'Scan the QR code to authenticate',
      attachments: [{ filename: 'qr.png', contentType: 'image/png', size: 900 }],
    },
  ),
  LURE_WITH_FORM: html('Verify your account <form action="https://elsewhere.example.com/"></form>'),

  URL_FREE_HOST: link('https://anna.weebly.com/'),
  URL_REDIRECTOR: link('https://www.google.com/url?q=https://elsewhere.example/'),
  URL_THROWAWAY_DOMAIN: link('https://anna.click/'),
  AUTHOR_THROWAWAY_DOMAIN: field('from', 'Anna <anna@orchard.click>'),
  URL_INSIDE_WORDPRESS: link('https://orchard.example/wp-includes/x/'),
  URL_FRAGMENT_NAMES_RECIPIENT: link('https://elsewhere.example/x#dG9tQHNlcnZpY2UuZXhhbXBsZQ=='),
  AUTHOR_RANDOM_DOMAIN: field('from', 'Anna <anna@xkvbtrw.example>'),
}

/** Messages that nearly match these rules, and must not. */
const nearMisses: Readonly<Record<string, readonly SpamMessage[]>> = {
  AUTHOR_POSES_AS_BRAND: [
    field('from', 'Netflix <info@mailer.netflix.com>'),
    field('from', 'PayPal <service@paypal.de>'),
    field('from', 'Office 365 <no-reply@sharepointonline.com>'),
    field('from', 'Sparkasse Leipzig <info@sparkasse-leipzig.de>'),
    field('from', 'Chase Miller <chase@orchard.example>'),
    field('from', 'Apple Orchard <anna@orchard.example>'),
  ],
  AUTHOR_DOMAIN_LIKE_BRAND: [
    field('from', 'Anna <anna@paypal.co.uk>'),
    field('from', 'Anna <anna@amazonia-trees.example>'),
    field('from', 'Anna <anna@apple-orchard.example>'),
    field('from', 'Anna <anna@finance.example>'),
  ],
  BRAND_DISGUISED: [subject('Your Amazon order'), subject('Crédit Agricole, Société Générale'), subject('Rn 100 1l')],
  SUBJECT_NAMES_BRAND: [
    message({ subject: 'Re: Netflix', 'in-reply-to': '<a@b.example>' }),
    message({ subject: 'Your Netflix bill' }, { text: 'See https://www.netflix.com/account', html: null }),
  ],
  LURE_OF_BRAND: [text(asks('https://orchard.example/x'))],
  URL_LIKE_BRAND: [
    link('https://www.netflix.com/'),
    link('https://appleton.example/'),
    link('https://docs.orchard.example/netflix'),
  ],
  LURE_AT_FREE_HOST: [text('See https://anna.web.app/'), text(asks('https://orchard.example/'))],
  LURE_FEIGNS_TARGET: [html('Verify your account: <a href="https://ct.mailer.example.net/x">www.orchard.example</a>')],
  AUTHOR_POSES_AS_RECIPIENT: [
    field('from', 'Service Orchard <anna@orchard.example>'),
    message({ from: 'service.example mail <mail@service.example>' }),
  ],
  LURE_OF_OFFICE: [
    message({ from: 'IT Helpdesk <it@service.example>' }, { text: 'You have 3 pending messages' }),
    message({ from: 'Orchard Helpdesk <anna@orchard.example>' }, { text: 'You have 3 pending messages' }),
  ],
  OFFICE_AT_FREE_MAIL: [
    field('from', 'Anna Berg <anna@gmail.com>'),
    field('from', 'Refund Department <a@orchard.example>'),
  ],
  QR_TO_LOG_IN: [
    text('Scan the QR code to authenticate'),
    message(
      {},
      {
        text: 'Show the QR code at the entrance',
        attachments: [{ filename: 'qr.png', contentType: 'image/png', size: 900 }],
      },
    ),
  ],
  URL_FREE_HOST: [link('https://weebly.com.example/'), link('https://docs.google.com/document/d/1')],
  URL_REDIRECTOR: [link('https://www.google.com/search?q=x')],
  URL_INSIDE_WORDPRESS: [link('https://orchard.example/wp-content/uploads/a.pdf')],
  URL_FRAGMENT_NAMES_RECIPIENT: [
    link('https://orchard.example/x#tom'),
    link('https://orchard.example/?e=tom@service.example'),
  ],
  PICTURE_IS_LINK: [html(`${words(60)}<a href="https://orchard.example/x"><img src="cid:a"></a>`)],
  IMAGE_ONLY: [
    message(
      {},
      {
        html: `<html><body>${picture}<p>Hi Tom, the notes of the meeting are ready, and Anna has added hers to them.</p><a href="https://orchard.example/n">Read them</a></body></html>`,
      },
    ),
  ],
  URL_TEXT_MISMATCH: [
    message(
      {},
      {
        html: `<html><body><p>${honestText}</p><a href="https://ct.mailer.example.net/x">www.orchard.example</a></body></html>`,
        authentication: { ...passed, dmarc: 'pass' },
      },
    ),
  ],
  STYLED_LETTERS: [subject('Grüße, Ⅳ and ½')],
  HEADER_UNSEEN_CHARACTERS: [subject('An emoji \u{1f468}\u200d\u{1f33e}'), subject('می\u200cخواهم')],
  ATTACHED_PAGE_ASKS: [message({}, { pages: ['<p>a report</p><form action="#"></form>'] })],
  ATTACHED_PAGE_UNFOLDS: [message({}, { pages: ['<script>chart(1)</script>'] })],
  BASE64_PLAIN_TEXT: [
    message({}, { parts: [{ contentType: 'text/plain', charset: 'us-ascii', encoding: 'base64', attached: true }] }),
  ],
  FRAUD_ACCOUNT_ABROAD: [
    text('Ihr Konto wurde erstellt'),
    text('Su cuenta ha sido creada'),
    text('Votre compte est prêt'),
  ],
  FRAUD_MAILBOX: [text('I have read all of your messages')],
  FRAUD_WALLET: [text('I left my wallet at your house')],
  FRAUD_REWARD: [text('The survey of the land is done')],
  FRAUD_PARCEL: [text('Your parcel was delivered today')],
  GREETS_ADDRESS: [text('Dear Tom, write to anna@orchard.example')],
}

const names = (one: SpamMessage): readonly string[] => scoreByRules(one).contributions.map(({ name }) => name)

t.test(
  'names of entries without an address are read, and a local part that breaks the rules is an author',
  async (t) => {
    const hits = (from: string): readonly string[] => names(field('from', from))
    t.ok(hits('=?utf-8?q?help=40bank.example.com?=, <anna@orchard.example>').includes('AUTHOR_NAME_IS_OTHER_ADDRESS'))
    t.notOk(hits('anna..b@orchard.example').includes('NO_AUTHOR'))
  },
)

t.test('every rule fires on a message of its own, and none on legitimate mail', async (t) => {
  t.same(names(message()), [])
  t.same(Object.keys(cases).toSorted(), spamRules.map(({ name }) => name).toSorted(), 'each rule has one case')
  for (const [name, one] of Object.entries(cases)) t.ok(names(one).includes(name), name, { names: names(one) })
})

t.test('near misses do not fire', async (t) => {
  for (const [name, all] of Object.entries(nearMisses))
    for (const [at, one] of all.entries()) t.notOk(names(one).includes(name), `${name} ${at}`)
})

t.test('a score is the sum of the named rules, the heaviest first', async (t) => {
  const { score, contributions } = scoreByRules(message({ subject: 'READ THIS AT ONCE', date: null }))
  t.same(contributions.map(({ name }) => name).toSorted(), ['NO_DATE', 'SUBJECT_SHOUTS'])
  t.equal(score, Math.round(contributions.reduce((sum, one) => sum + one.score, 0) * 100) / 100)
  t.same(
    contributions,
    contributions.toSorted((a, b) => b.score - a.score),
  )
  t.ok(contributions.every(({ description }) => description !== ''))
})

t.test('a score at a threshold has its status', async (t) => {
  t.equal(spamStatusOf(3.99), 'clean')
  t.equal(spamStatusOf(4), 'suspicious')
  t.equal(spamStatusOf(7.99), 'suspicious')
  t.equal(spamStatusOf(8), 'spam')
  t.equal(spamStatusOf(5, { suspicious: 2, spam: 5 }), 'spam')
})

t.test('the GTUBE line is spam in a text part and in HTML', async (t) => {
  const line = ['XJS*C4JDBQADN1.NSBN3*2IDNEN', 'GTUBE-STANDARD-ANTI-UBE-TEST-EMAIL', 'C.34X'].join('*')
  t.equal(spamStatusOf(scoreByRules(text(line)).score), 'spam')
  t.equal(spamStatusOf(scoreByRules(html(line)).score), 'spam')
})

t.test('a message from a file gets no rule about its origin', async (t) => {
  const filed = message({}, { authentication: null, origin: null })
  t.same(names(filed), [])
})

t.test('legitimate mail is not taken for a trick', async (t) => {
  const honest: readonly (readonly [why: string, one: SpamMessage])[] = [
    [
      'a Russian name that could be read as Latin',
      field('from', '=?utf-8?q?=D0=92=D0=B5=D1=80=D0=B0?= <anna@orchard.example>'),
    ],
    ['a name of another alphabet under its own top-level domain', link('https://xn--m1apb.xn--p1ai/')],
    ['a line of preview', html('<div style="display:none">What we agreed on, in short</div>')],
    [
      'white letters on a dark ground',
      html('<div style="background:#112233"><font color="white">Minutes</font></div>'),
    ],
    ['a link that shows its own address', html('<a href="https://www.orchard.example/x">www.orchard.example</a>')],
    ['a picture with its proper name', messageWithFile('garden.2026.jpg', 'image/jpeg')],
    ['a reply to a thread', message({ subject: 'Re: Minutes', references: '<a@b.example>' })],
    ['hours on the way', field('date', 'Sat, 21 Nov 2026 05:00:00 +0000')],
  ]
  const mild = ['URL_PUNYCODE']
  for (const [why, one] of honest)
    t.same(
      names(one).filter((name) => !mild.includes(name)),
      [],
      why,
    )
})
