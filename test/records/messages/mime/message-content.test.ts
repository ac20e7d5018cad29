/** What people see of a message: the same as in other programs, for what all of them read alike. */
import { simpleParser } from 'mailparser'
import t from 'tap'
import { scanHeaderOrEmpty } from '../../../../src/base/mail/header-fields.js'
import { MessageContent } from '../../../../src/records/messages/mime/message-content.js'
import type { MimeContent } from '../../../../src/records/messages/mime/mime-parts-protocol.js'

const lines = (...text: readonly string[]): Buffer => Buffer.from(text.join('\r\n'))

function read(raw: Buffer): MimeContent {
  return new MessageContent(raw, scanHeaderOrEmpty(raw)).read()
}

const options = { skipHtmlToText: true, skipTextToHtml: true, skipImageLinks: true, skipTextLinks: true }

/** Bodies as another parser reads them; blank ones count as missing, and the last line end as that of the message. */
async function readElsewhere(raw: Buffer, isWhole: boolean): Promise<Record<'html' | 'text', string | null>> {
  const { html, text } = await simpleParser(raw, options)
  const toBody = (body: string | false | undefined): string | null =>
    body === undefined || body === false || body.trim() === '' ? null : isWhole ? body.replace(/\n$/, '') : body
  return { html: toBody(html), text: toBody(text) }
}

const html = 'Content-Type: text/html; charset="utf-8"'
const plain = 'Content-Type: text/plain; charset=utf-8'
const mixed = 'Content-Type: multipart/mixed; boundary="b"'
const alternative = 'Content-Type: multipart/alternative;\r\n\tboundary=b'

const simple: Readonly<Record<string, Buffer>> = {
  'without a type': lines('Subject: x', '', 'text', ''),
  'a text of several blank lines at its end': lines('Subject: x', plain, '', 'text', '', '', ''),
  'HTML alone': lines('Subject: x', html, '', '<p>x</p>', ''),
  'an empty body': lines('Subject: x', plain, '', ''),
  'quoted-printable': lines(
    plain,
    'Content-Transfer-Encoding: quoted-printable',
    '',
    'a =C3=A4 = =3 =XY  ',
    'long=',
    ' line=20=  ',
    '=3=',
    'D =',
  ),
  'base64 as a whole message': lines(plain, 'Content-Transfer-Encoding: BASE64', '', 'w6QK', 'w6Q=', ''),
  alternatives: lines(alternative, '', 'preamble', '--b', plain, '', 'text', '--b', html, '', '<p>', '--b--', 'after'),
  'several texts': lines(mixed, '', '--b', plain, '', 'one', '', '--b', '', 'two', '--b', html, '', '<b>', '--b--', ''),
  'HTML alone in a multipart': lines(mixed, '', '--b', html, '', '<p>', '--b--'),
  'parts in base64 and quoted-printable': lines(
    alternative,
    '',
    ...['--b', plain, 'Content-Transfer-Encoding: base64', '', 'dGV4dA==', ''],
    ...['--b', html, 'Content-Transfer-Encoding: quoted-printable', '', '<p =', '>=3D</p>'],
    '--b--',
  ),
  'a multipart in another': lines(
    mixed,
    '',
    ...[
      '--b',
      'Content-Type: multipart/alternative; boundary=c',
      '',
      '--c',
      plain,
      '',
      'x',
      '--c',
      html,
      '',
      'y',
      '--c--',
    ],
    ...['', '--b', 'Content-Disposition: inline', plain, '', 'z', '--b--', ''],
  ),
  'a body that begins with its boundary': lines(mixed, '', '--b', plain, '', 'x', '--b--'),
  'lines that resemble a boundary': lines(mixed, '', '--b', plain, '', ' --b', 'x--b', '--', '--b--'),
}

for (const [name, raw] of Object.entries(simple)) {
  t.test(`${name}: read as by another parser`, async (t) => {
    const unixLines = Buffer.from(raw.toString('latin1').replaceAll('\r\n', '\n'), 'latin1')
    const isWhole = !/multipart|base64/i.test(raw.toString())
    for (const message of [raw, unixLines]) t.match(read(message), await readElsewhere(message, isWhole))
  })
}

t.test('names of charsets in all their spellings', async (t) => {
  for (const [charset, hex, text] of [
    ['cp932', '82b182f1', 'こん'],
    ['x-cp932', '82b182f1', 'こん'],
    ['cp936', 'c4e3bac3', '你好'],
    ['x-windows-949', 'b0a1', '가'],
    ['windows-950', 'a741a66e', '你好'],
    ['utf-7', '2b414f512d', 'ä'],
    ['unicode-1-1-utf-7', '2b414f512d', 'ä'],
    ['dos-850', '84', 'ä'],
    ['cp437', '84', 'ä'],
    ['iso-2022-jp-ms', '1b244224331b2842', 'こ'],
    ['utf-8', 'c3a4', 'ä'],
    ['iso-8859-1', 'e4', 'ä'],
  ] as const) {
    const head = `Content-Type: text/plain; charset=${charset}\r\nContent-Transfer-Encoding: base64\r\n\r\n`
    const raw = Buffer.from(`${head}${Buffer.from(hex, 'hex').toString('base64')}\r\n`)
    t.equal(read(raw).text, text, charset)
  }
})

t.test('names of files too', async (t) => {
  for (const [charset, octets, name] of [
    ['dos-850', '%84', 'ä'],
    ['cp51932', '%A4%B3', 'こ'],
    ['x-windows-949', '%8Cc', '똠'],
    ['latin-1', '%E4', 'ä'],
    ['x-unheard-of', '%C3%A4', 'ä'],
  ] as const) {
    const head = `Content-Type: application/pdf\r\nContent-Disposition: attachment; filename*=${charset}''${octets}.pdf`
    const { attachments } = read(Buffer.from(`${head}\r\n\r\nx\r\n`))
    t.match(attachments, [{ filename: `${name}.pdf` }], charset)
  }
})

t.test('text that flows is joined by paragraphs', (t) => {
  const text = (body: string, more = ''): string | null =>
    read(Buffer.from(`Content-Type: text/plain; format=flowed${more}\r\n\r\n${body}`)).text
  t.equal(text('one \r\ntwo\r\nthree\r\n'), 'one two\nthree')
  t.equal(text('one \r\n\r\ntwo\r\n'), 'one \ntwo', 'an empty line ends a paragraph')
  t.equal(text('on \r\ne\r\n', '; delsp=yes'), 'one')
  t.equal(text(' From here\r\n-- \r\nme\r\n'), 'From here\n-- \nme', 'lines that are stuffed, and a signature')
  t.end()
})

t.test('base64 ends with its padding, whatever is written behind it', (t) => {
  const text = (body: string): string | null =>
    read(Buffer.from(`Content-Transfer-Encoding: base64\r\n\r\n${body}\r\n`)).text
  t.equal(text('d29y\r\nZHM=\r\n_____\r\nlist footer'), 'words')
  t.equal(text('d29y-_ZHM'), 'words', 'the other alphabet means nothing here')
  t.end()
})

t.test('octets above ASCII in quoted-printable stay', (t) => {
  const raw = Buffer.from('Content-Transfer-Encoding: quoted-printable\r\n\r\n\u00e4=C3=A4=3\r\n')
  t.equal(read(raw).text, '\u00e4\u00e4=3')
  t.end()
})

t.test('a message that is shown in a message has its first fields above it', (t) => {
  const digest = lines(
    ...[
      'Content-Type: multipart/digest; boundary=b',
      '',
      '--b',
      '',
      'From: <A> a@a.test',
      'Subject: =?utf-8?q?=C3=A4?=',
    ],
    ...[
      'Content-Type: multipart/alternative; boundary=c',
      '',
      '--c',
      plain,
      '',
      'x',
      '--c',
      html,
      '',
      '<p>',
      '--c--',
      '--b--',
    ],
  )
  const { html: shown, text, attachments } = read(digest)
  t.equal(text, '\nFrom: <A> a@a.test\nSubject: \u00e4\n\nx')
  t.equal(shown, '<p>From: &lt;A&gt; a@a.test<br/>\nSubject: \u00e4</p><br/>\n<p>')
  t.same(attachments, [])
  t.end()
})

t.test('a part without a type has that of its name', (t) => {
  const typeOf = (field: string): string | undefined => read(lines(field, '', 'x')).attachments[0]?.content_type
  t.equal(typeOf('Content-Disposition: attachment; filename=a.pdf'), 'application/pdf')
  t.equal(typeOf('Content-Disposition: attachment; filename=a'), 'application/octet-stream')
  t.equal(typeOf('Content-Disposition: inline; filename=a.html'), 'text/html')
  t.equal(typeOf('Content-Disposition: attachment; filename=annual report (1).pdf'), 'application/pdf')
  t.end()
})

t.test('a file is read by its place', (t) => {
  const raw = lines(
    mixed,
    '',
    '--b',
    plain,
    '',
    'x',
    '--b',
    'Content-Type: a/b; name=a (1).b',
    'Content-Transfer-Encoding: base64',
    '',
    'eHl6',
    '--b--',
  )
  const content = new MessageContent(raw, scanHeaderOrEmpty(raw))
  t.match(content.readFile(0), { attachment: { filename: 'a (1).b', size: 3 }, bytes: Buffer.from('xyz') })
  t.equal(content.readFile(1), null)
  t.end()
})
