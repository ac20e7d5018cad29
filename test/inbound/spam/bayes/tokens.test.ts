/** Tokens of a message, and their hashes. */
import fc from 'fast-check'
import t from 'tap'
import { tryParseAddress } from '../../../../src/base/mail/address.js'
import { hashWordToken, packKeys, unpackKeys } from '../../../../src/inbound/spam/bayes/token-keys.js'
import { packTokenKeys, tokenizeMessage } from '../../../../src/inbound/spam/bayes/tokens.js'
import type { SpamMessage } from '../../../../src/inbound/spam/facts/spam-message.js'
import { emptyMessage, messageWithText } from '../../../helpers/spam/spam-messages.js'

const mailbox = (address: string, name = ''): SpamMessage['from'][number] => ({
  address: tryParseAddress(address),
  name,
  written: address,
})

const found: readonly (readonly [what: string, message: Partial<SpamMessage>, ...tokens: readonly string[]])[] = [
  ['words in lower case', { text: 'Cheap WATCHES, now.' }, 'cheap', 'watches', 'now'],
  ['prices and shouts', { text: 'only $99.50 today!!!!' }, '$99.50', 'today!!'],
  ['words of other scripts', { text: 'Дёшево купить' }, 'дёшево', 'купить'],
  ['letters in twos where nothing parts words', { text: '免费赠品' }, '免费', '费赠', '赠品'],
  ['long runs by their length', { text: `${'q'.repeat(37)} ${'z'.repeat(3000)}` }, 'skip:q3', 'skip:z'],
  ['the subject, marked', { subject: 'Last chance' }, 'subject:last', 'subject:chance'],
  ['names of fields', { fields: [{ name: 'x-campaign', value: '7' }] }, 'field:x-campaign'],
  ['fields of lists as one', { fields: [{ name: 'list-id', value: '<a.test>' }] }, 'field:list'],
  ['the mailer', { fields: [{ name: 'x-mailer', value: 'Blaster 2.0' }] }, 'mailer:blaster', 'mailer:2.0'],
  [
    'type and charset without the boundary',
    { fields: [{ name: 'content-type', value: 'text/html; boundary="a1b2"; charset="koi8-r"' }] },
    'type:text/html',
    'type:charset=',
    'type:koi8-r',
  ],
  ['the zone of the date', { fields: [{ name: 'date', value: 'Mon, 02 Sep 2002 12:00:00 -0700' }] }, 'zone:-0700'],
  [
    'the sender and its domains',
    { from: [mailbox('Offers@mail.shop.test', 'Big Sale')] },
    'from:mail.shop.test',
    'from:shop.test',
    'sender:offers@mail.shop.test',
    'from-name:big',
    'from-name:sale',
  ],
  ['who is to be answered', { replyTo: [mailbox('a@elsewhere.test')] }, 'reply-to:elsewhere.test'],
  [
    'hosts and words of links in text',
    { text: 'see http://u@www.Deals.test:80/win-prize/index.html?id=3' },
    'link:www.deals.test',
    'link:deals.test',
    'path:win',
    'path:prize',
  ],
  ['links to numbers', { text: 'http://192.0.2.7/a' }, 'link:number'],
  [
    'links and images of HTML',
    {
      html: '<a href="https://go.click.test/unsub&#115;cribe">x</a><img src=cid:part1><a href="MAILTO:a@b.test">y</a>',
    },
    'link:click.test',
    'path:unsubscribe',
    'link:cid:',
    'link:mailto:',
  ],
  [
    'what a reader sees of HTML',
    { html: '<p>Pro<b></b>fi<!-- x -->ts</p>gua&#114;anteed<br>fast' },
    'profits',
    'guaranteed',
    'fast',
  ],
  [
    'attachments',
    { attachments: [{ filename: 'a.PDF.exe', contentType: 'application/x-msdownload', size: 1 }] },
    'attached:application/x-msdownload',
    'attached:.exe',
  ],
  ['of which parts it is made', { text: '', html: '' }, 'parts:text+html+'],
]

t.test('tokens follow the table', async (t) => {
  for (const [what, message, ...tokens] of found) {
    const all = tokenizeMessage({ ...emptyMessage, ...message })
    for (const token of tokens) t.ok(all.includes(token), `${what}: ${token}`, { all })
  }
})

t.test('text written for filters, and trace fields, give no tokens', async (t) => {
  const hidden = [
    '<html><head><title>meadow</title><style>.meadow{}</style></head><body>seen',
    '<div style="color:red; Display : NONE"><div>meadow</div>meadow</div>',
    '<span style="font-size:0px">meadow</span><font style="font-size: 1px">meadow</font>',
    '<script>var meadow</script><!-- meadow --><td style="font-size:1em">also <i style="font-size:10px">these</i></td>',
  ].join('')
  const fields = ['received', 'x-spam-status', 'delivered-to', 'authentication-results'].map((name) => ({
    name,
    value: 'meadow',
  }))
  const tokens = tokenizeMessage({ ...emptyMessage, html: hidden, fields })
  t.notOk(tokens.some((token) => token.includes('meadow')))
  t.notOk(tokens.some((token) => token.startsWith('field:')))
  t.ok(['seen', 'also', 'these'].every((word) => tokens.includes(word)))
})

t.test('hidden text ends where a reader would see words again', async (t) => {
  const htmls: readonly string[] = [
    '<head><style>x</style>after',
    '<br style="display:none">after',
    '<p style="display:none">meadow<p>after',
    '<p style="display:none">meadow<b>meadow</b><div>after',
    '<ul><li style="display:none">meadow<li>after',
    '<div><span style="display:none">meadow</div>after',
    '<div style="display:none"><i>meadow</i><br>meadow</div>after',
    '<div style="display:none"/>after',
  ]
  for (const html of htmls) {
    const tokens = tokenizeMessage({ ...emptyMessage, html })
    t.ok(tokens.includes('after') && !tokens.includes('meadow'), html, { tokens })
  }
})

t.test('the origin of a message gives no token, since files have none', async (t) => {
  const text = messageWithText('hello there')
  const origin = { envelopeFrom: 'a@b.test', clientAddress: '192.0.2.1', helo: 'b.test', reverseName: null }
  const authentication = { spf: 'pass', dkim: 'fail', dmarc: 'none', iprev: 'pass' }
  t.same(tokenizeMessage({ ...text, origin, authentication, receivedAt: 9, size: 9 }), tokenizeMessage(text))
})

const anyText = fc.oneof(fc.string({ unit: 'binary' }), fc.string(), fc.stringMatching(/^[<>a-z&#;="' /!-]{0,80}$/))

const anyMailbox = fc.record({
  address: fc.constantFrom(null, tryParseAddress('a@b.example.test')),
  name: anyText,
  written: anyText,
})

const anyMessage: fc.Arbitrary<SpamMessage> = fc.record({
  fields: fc.array(
    fc.record({ name: fc.oneof(anyText, fc.constantFrom('date', 'content-type', 'message-id')), value: anyText }),
  ),
  subject: anyText,
  from: fc.array(anyMailbox),
  replyTo: fc.array(anyMailbox),
  to: fc.array(anyMailbox),
  text: fc.option(anyText),
  html: fc.option(anyText),
  attachments: fc.array(fc.record({ filename: fc.option(anyText), contentType: anyText, size: fc.nat() })),
  size: fc.nat(),
  receivedAt: fc.nat(),
  origin: fc.constant(null),
  authentication: fc.constant(null),
  parts: fc.constant([]),
  pages: fc.constant([]),
  isAmbiguous: fc.boolean(),
})

function isBounded(tokens: readonly string[]): boolean {
  return tokens.length <= 1000 && new Set(tokens).size === tokens.length && tokens.every((token) => token.length <= 64)
}

t.test('any message has few, short and distinct tokens', async (t) => {
  fc.assert(fc.property(anyMessage, (message) => isBounded(tokenizeMessage(message))))
  const many = Array.from({ length: 30_000 }, (_, n) => `word${n}`).join(' ')
  const large: readonly Partial<SpamMessage>[] = [
    { text: many, html: many },
    { text: '-'.repeat(1e6), html: '<a '.repeat(1e5) },
    { html: '<table><tr><td style="display:none">'.repeat(3e4) },
    { html: `<p style="${'font-size:0'.repeat(1e5)}">${'&#x41;'.repeat(1e5)}`, subject: '漢'.repeat(1e6) },
    { text: 'http://'.repeat(1e5), fields: Array(9999).fill({ name: 'x'.repeat(1000), value: '-0700 '.repeat(1000) }) },
  ]
  for (const message of large) t.ok(isBounded(tokenizeMessage({ ...emptyMessage, ...message })))
  for (const message of large) t.ok(hasKeysOfTokens({ ...emptyMessage, ...message }))
  t.equal(tokenizeMessage({ ...emptyMessage, text: many }).length, 1000)
})

/** The keys that are made without strings are those of the tokens, in their order. */
function hasKeysOfTokens(message: SpamMessage): boolean {
  const expected = packKeys([...new Set(tokenizeMessage(message).map(hashWordToken))]).toString('base64')
  return packTokenKeys(message) === expected
}

t.test('the keys of a message are those of its tokens', async () => {
  const words = fc.constantFrom(
    'one',
    'One',
    'TWO',
    "don't",
    '$5',
    '€5',
    'дом',
    '日本語',
    'x86',
    '—',
    '\n',
    'q'.repeat(30),
  )
  const text = fc.array(words, { maxLength: 40 }).map((parts) => parts.join(' '))
  fc.assert(
    fc.property(anyMessage, text, text, (message, one, other) =>
      hasKeysOfTokens({ ...message, text: one, html: other, subject: one }),
    ),
  )
  fc.assert(fc.property(anyMessage, hasKeysOfTokens))
})

t.test('the hash of a token is a number of 48 bits that is read back from its bytes', async (t) => {
  fc.assert(
    fc.property(fc.array(fc.string()), (tokens) => {
      const keys = tokens.map(hashWordToken)
      t.ok(keys.every((key) => Number.isSafeInteger(key) && key >= 0 && key < 2 ** 48))
      t.strictSame(unpackKeys(packKeys(keys)), keys)
    }),
    { numRuns: 50 },
  )
  const different = new Set(Array.from({ length: 200_000 }, (_, n) => hashWordToken(`word${n.toString(36)}`)))
  t.equal(different.size, 200_000)
})

t.test('a field with the name of a property of all objects is a field like any other', async (t) => {
  for (const name of ['constructor', '__proto__', 'tostring']) {
    const own = tokenizeMessage({ ...emptyMessage, fields: [{ name, value: 'word' }] })
    t.same(
      own.filter((token) => token.includes('word') || token.includes('[') || token.includes('native')),
      [],
      name,
    )
    t.ok(own.includes(`field:${name}`))
  }
})
