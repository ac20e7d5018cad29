/** Messages of unusual structure show what a generous parser shows, and what programs read differently is named. */
import fc from 'fast-check'
import t from 'tap'
import { scanHeader, scanHeaderOrEmpty } from '../../../../src/base/mail/header-fields.js'
import { MessageContent } from '../../../../src/records/messages/mime/message-content.js'
import type { MimeContent } from '../../../../src/records/messages/mime/mime-parts-protocol.js'
import { type Part, PartWalker } from '../../../../src/records/messages/mime/structure/part-tree.js'

const root = (type: string, ...more: readonly string[]): string =>
  ['From: a@a.test', 'Subject: hello', `Content-Type: ${type}`, ...more, '', ''].join('\n')

const text = 'Content-Type: text/plain\n\nwords'
const html = 'Content-Type: text/html\n\n<b>words</b>'
const file = 'Content-Type: application/pdf; name=a.pdf\nContent-Transfer-Encoding: base64\n\nJVBERi0='

interface Seen {
  readonly text?: string | RegExp | null
  readonly html?: string | null
  /** Name, type and size of each. */
  readonly files?: readonly (string | RegExp)[]
  readonly ambiguous?: boolean
}

function see(message: string): MimeContent {
  const raw = Buffer.from(message.replaceAll('\n', '\r\n'))
  return new MessageContent(raw, scanHeader(raw)).read()
}

/** `[what is unusual, message, what people see]` */
const cases: readonly (readonly [string, string, Seen])[] = [
  ['blanks behind delimiters', `${root('multipart/mixed; boundary="b"')}--b \n${text}\n--b\t \n${file}\n--b-- \n`, {}],
  ['no last delimiter', `${root('multipart/mixed; boundary=b')}--b\n${text}\n--b\n${file}`, {}],
  [
    'a comment before the boundary',
    `${root('multipart/mixed; (a "comment") boundary=b')}--b\n${text}\n--b\n${file}\n--b--\n`,
    {},
  ],
  [
    'a comment that has one',
    `${root('multipart/mixed (a (nested) one; boundary=x); boundary=b')}--b\n${text}\n--b\n${file}\n--b--\n`,
    {},
  ],
  [
    'a boundary in sections',
    `${root('multipart/mixed; boundary*0="ab"; boundary*1="cd"')}--abcd\n${text}\n--abcd\n${file}\n--abcd--\n`,
    {},
  ],
  [
    'a boundary with a charset',
    `${root("multipart/mixed; boundary*=us-ascii''a%62")}--ab\n${text}\n--ab\n${file}\n--ab--\n`,
    {},
  ],
  [
    'blanks around the equals sign',
    `${root('multipart/mixed ; boundary = "b"')}--b\n${text}\n--b\n${file}\n--b--\n`,
    {},
  ],
  [
    'a blank before the colon',
    `From: a@a.test\nContent-Type : multipart/mixed; boundary=b\n\n--b\n${text}\n--b\n${file}\n--b--\n`,
    {},
  ],
  [
    'two boundaries, of which the second comes',
    `${root('multipart/mixed; boundary=x; boundary=b')}--b\n${text}\n--b\n${file}\n--b--\n`,
    { ambiguous: true },
  ],
  [
    'no semicolon before the boundary',
    `${root('multipart/mixed boundary="b"')}--b\n${text}\n--b\n${file}\n--b--\n`,
    { ambiguous: true },
  ],
  ['a type of one word', `${root('multipart; boundary="b"')}--b\n${text}\n--b\n${file}\n--b--\n`, { ambiguous: true }],
  ['no boundary', `${root('multipart/mixed')}--b\n${text}\n--b\n${file}\n--b--\n`, { ambiguous: true }],
  [
    'a boundary that never comes',
    `${root('multipart/mixed; boundary=B')}--b\n${text}\n--b\n${file}\n--b--\n`,
    { ambiguous: true },
  ],
  [
    'parts after the last delimiter',
    `${root('multipart/mixed; boundary=b')}--b\n${text}\n--b\n${file}\n--b--\n--b\n${html}\n`,
    { ambiguous: true },
  ],
  [
    'a second type',
    `${root('multipart/mixed; boundary=b', 'Content-Type: text/plain')}--b\n${text}\n--b\n${file}\n--b--\n`,
    { ambiguous: true },
  ],
  [
    'an encoded multipart',
    `${root('multipart/mixed; boundary=b', 'Content-Transfer-Encoding: base64')}--b\n${text}\n--b\n${file}\n--b--\n`,
    { ambiguous: true },
  ],
  [
    'a nested multipart without a boundary',
    `${root('multipart/mixed; boundary=b')}--b\nContent-Type: multipart/alternative\n\n--c\n${text}\n--c--\n--b\n${file}\n--b--\n`,
    { ambiguous: true },
  ],
  [
    'an inner multipart that does not end',
    `${root('multipart/mixed; boundary=b')}--b\nContent-Type: multipart/alternative; boundary=c\n\n--c\n${text}\n--b\n${file}\n--b--\n`,
    {},
  ],
  [
    'a header of a part without an empty line',
    `${root('multipart/mixed; boundary=b')}--b\nContent-Type: text/plain\nwords\n--b\n${file}\n--b--\n`,
    { ambiguous: true },
  ],
  [
    'a part without a header',
    `${root('multipart/mixed; boundary=b')}--b\nwords\n--b\n${file}\n--b--\n`,
    { ambiguous: true },
  ],
  [
    'a continued line at the beginning of a header',
    `${root('multipart/mixed; boundary=b')}--b\n${text}\n--b\n stray\n${file}\n--b--\n`,
    {},
  ],
  [
    'a line of a mailbox file in a part',
    `${root('multipart/mixed; boundary=b')}--b\nFrom a Mon Jan 1\n${text}\n--b\n${file}\n--b--\n`,
    {},
  ],
  ...['base64;', '"base64"', 'base64 (really)', '(a) BASE64', 'base64 7bit'].map((encoding): (typeof cases)[number] => [
    `the encoding ${encoding}`,
    `${root('multipart/mixed; boundary=b')}--b\n${text}\n--b\n${file.replace('base64', encoding)}\n--b--\n`,
    { ambiguous: !encoding.includes('(') },
  ]),
  [
    'two encodings',
    `${root('multipart/mixed; boundary=b')}--b\n${text}\n--b\n${file.replace('base64', 'base64\nContent-Transfer-Encoding: 7bit')}\n--b--\n`,
    { ambiguous: true },
  ],
  [
    'a uuencoded part',
    `${root('multipart/mixed; boundary=b')}--b\n${text}\n--b\nContent-Type: application/pdf; name=a.pdf\nContent-Transfer-Encoding: x-uuencode\n\nbegin 644 a.pdf\n%)5!$1BT \n\`\nend\n--b--\n`,
    {},
  ],
  [
    'a text of an encoding in quotes',
    `${root('text/plain', 'Content-Transfer-Encoding: "base64"')}d29yZHM=\n`,
    { files: [], ambiguous: true },
  ],
  ['the type text', `${root('text', 'Content-Transfer-Encoding: base64')}d29yZHM=\n`, { files: [], ambiguous: true }],
  [
    'an HTML type without its semicolon',
    `${root('text/html charset=utf-8')}<b>words</b>\n`,
    { text: null, html: '<b>words</b>', files: [], ambiguous: true },
  ],
  [
    'a charset with a comment',
    `${root('text/plain; charset=iso-8859-1 (Latin)', 'Content-Transfer-Encoding: quoted-printable')}w=F6rds\n`,
    { text: 'wörds', files: [] },
  ],
  [
    'a digest',
    `${root('multipart/digest; boundary=b')}--b\n\nFrom: c@c.test\nSubject: one\nContent-Type: multipart/mixed; boundary=c\n\n--c\n${text}\n--c\n${file}\n--c--\n--b--\n`,
    { text: /^words/m },
  ],
  [
    'a message as the message',
    `${root('message/rfc822')}From: c@c.test\nSubject: one\nContent-Type: multipart/mixed; boundary=c\n\n--c\n${text}\n--c\n${file}\n--c--\n`,
    { text: /^words/m },
  ],
  ...['message/global', 'message/news'].map((type): (typeof cases)[number] => [
    `a message of the type ${type} as the message`,
    `${root(type)}From: c@c.test\nSubject: one\nContent-Type: multipart/mixed; boundary=c\n\n--c\n${text}\n--c\n${file}\n--c--\n`,
    { text: /^words/m },
  ]),
  [
    'a message that is encoded as a whole',
    `${root('message/rfc822', 'Content-Transfer-Encoding: base64')}${Buffer.from(`From: c@c.test\n\n${html}`).toString('base64')}\n`,
    { text: null, files: [/message\/rfc822/], ambiguous: true },
  ],
  [
    'a boundary in quotes of another kind',
    `${root("multipart/mixed; boundary='b'")}--b\n${text}\n--b\n${file}\n--b--\n`,
    { ambiguous: true },
  ],
  [
    'a boundary that ends with a blank',
    `${root('multipart/mixed; boundary="b "')}--b\n${text}\n--b\n${file}\n--b--\n`,
    { ambiguous: true },
  ],
]

for (const [
  name,
  message,
  { text = 'words', html = null, files = ['a.pdf application/pdf 5'], ambiguous = false },
] of cases) {
  t.test(name, async (t) => {
    const seen = see(message)
    t.match(seen.text, text)
    t.equal(seen.html, html)
    t.match(
      seen.attachments.map(({ filename, content_type, size }) => `${filename} ${content_type} ${size}`),
      files,
    )
    t.equal(seen.attachments.length, files.length)
    t.equal(seen.ambiguous, ambiguous)
  })
}

t.test('what all programs read alike is exact, and nothing else', (t) => {
  const exact = [
    `${root('multipart/mixed; boundary="b"')}--b\n${text}\n--b \n${file}\n--b--\n`,
    `${root('multipart/mixed; boundary=b')}--b\n${text}\n--b--`,
    `${root('multipart/mixed; boundary=b')}\n--b\n${text}\n--b--\nepilogue --b\n`,
  ]
  const other = [
    `${root('multipart/mixed; boundary=b; boundary=b')}--b\n${text}\n--b--\n`,
    `${root('multipart/mixed; boundary*0=b')}--b\n${text}\n--b--\n`,
    `${root('multipart/mixed (comment); boundary=b')}--b\n${text}\n--b--\n`,
    `${root('multipart/mixed boundary=b')}--b\n${text}\n--b--\n`,
    `${root('multipart/mixed; boundary="b')}--b\n${text}\n--b--\n`,
    `${root('multipart/mixed; boundary="b "')}--b\n${text}\n--b--\n`,
    `${root('multipart/mixed; boundary=b')}--b\n${text}\n--bc\n--b--\n`,
    `${root('multipart/mixed; boundary=b')}--b\n${text}\n--b--\n--b--\n`,
    `${root('multipart/mixed; boundary=b')}--b--\n--b\n${text}\n--b--\n`,
    `${root('multipart/mixed; boundary=b')}--b\n--b--\n`,
    `${root('multipart/mixed; boundary=b')}--b\n${text}\n`,
    `${root('multipart/mixed')}--b\n${text}\n--b--\n`,
  ]
  const isExact = (raw: Buffer): boolean => {
    const walker = new PartWalker(raw)
    return walker.root.isExact && walker.open(walker.root)?.isExact === true
  }
  for (const message of exact) {
    t.ok(isExact(Buffer.from(message.replaceAll('\n', '\r\n'))), message)
    t.notOk(isExact(Buffer.from(message)), 'lines that end with LF alone')
  }
  for (const message of other) t.notOk(isExact(Buffer.from(message.replaceAll('\n', '\r\n'))), message)
  t.end()
})

t.test('limits of a reader', (t) => {
  const raw = Buffer.from(`${root('multipart/mixed; boundary=b')}${`--b\n${text}\n`.repeat(5)}--b--\n`)
  const limits = { parts: 5, depth: 1, searched: raw.length, headers: 1_000 }
  const count = (changed: Partial<typeof limits>): number | undefined => {
    const walker = new PartWalker(raw, null, { ...limits, ...changed })
    return walker.open(walker.root)?.parts.filter(({ header }) => header.end > 0).length
  }
  t.equal(count({}), 5)
  t.equal(count({ parts: 4 }), undefined)
  t.equal(count({ depth: 0 }), undefined)
  t.equal(count({ searched: 100 }), undefined)
  t.equal(count({ headers: 60 }), 2, 'the header of a part that exceeds the limit is cut')
  t.end()
})

t.test('what cannot be taken apart is shown as a text', async (t) => {
  const seen = see(`${root('multipart/mixed; boundary=b')}no part begins here\n`)
  t.match(seen, { text: 'no part begins here', ambiguous: true })
  const many = see(`${root('multipart/mixed; boundary=b')}${`--b\n${text}\n`.repeat(1_001)}--b--\n`)
  t.equal(many.ambiguous, true)
  t.match(many.text, /words/)
})

const pieces = fc.constantFrom(
  ...['--b', '--c', '--b--', '--c-- ', '', ' ', 'words', 'Content-Type: multipart/mixed; boundary=b', 'From x y'],
  ...[
    'Content-Type: multipart/digest; boundary=c',
    'Content-Type: message/rfc822',
    'Content-Type: text (',
    'From: a@a.test',
  ],
  ...[
    'Content-Transfer-Encoding: base64;',
    'Content-Transfer-Encoding: uue',
    'begin 644 a',
    'M',
    '"',
    '(',
    'boundary*0=c;',
  ],
)

/** The parts in a part, each within it and behind the one before. */
function checkPlaces(walker: PartWalker, part: Part): boolean {
  let at = part.bodyStart
  for (const child of walker.open(part)?.parts ?? []) {
    if (child.start < at || child.bodyStart < child.start || child.end < child.start || child.end > part.end)
      return false
    if (!checkPlaces(walker, child)) return false
    at = child.end
  }
  return true
}

t.test('whatever the lines are, a message is read, and its parts lie within each other', async () => {
  fc.assert(
    fc.property(fc.array(pieces, { maxLength: 40 }), (lines) => {
      const raw = Buffer.from(lines.join('\r\n'))
      new MessageContent(raw, scanHeaderOrEmpty(raw)).readParts()
      const walker = new PartWalker(raw)
      return checkPlaces(walker, walker.root)
    }),
  )
})
