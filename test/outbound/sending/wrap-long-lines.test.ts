/** Long lines are folded or encoded; what readers see stays, and sealed parts are not touched. */
import fc from 'fast-check'
import { simpleParser } from 'mailparser'
import t from 'tap'
import { wrapLongLines } from '../../../src/outbound/sending/wrap-long-lines.js'

const MAX = 998
const long = 'word '.repeat(400).trimEnd()

function wrap(...lines: readonly string[]): string | null {
  return wrapLongLines(Buffer.from(lines.join('\r\n')), MAX)?.toString() ?? null
}

function longestOf(text: string): number {
  return Math.max(...text.split('\r\n').map((line) => Buffer.byteLength(line)))
}

const kept = (text: string | null): string => {
  if (text === null) throw new Error('it was not wrapped')
  return text
}

t.test('a body of text becomes quoted-printable', async (t) => {
  const wrapped = kept(wrap('Subject: s', '', `${long}=ü`, 'short', ''))
  t.ok(longestOf(wrapped) <= 76)
  t.match(wrapped, /^Subject: s\r\nMIME-Version: 1\.0\r\nContent-Type: text\/plain; charset=utf-8\r\nContent-Transfer-/)
  t.equal((await simpleParser(wrapped)).text, `${long}=ü\nshort\n`)
})

t.test('the declared encoding is replaced, and the type stays', async (t) => {
  const head = ['MIME-Version: 1.0', 'Content-Type: text/html; charset=utf-8', 'Content-Transfer-Encoding: 8bit']
  const wrapped = kept(wrap(...head, 'Subject: s', '', `<p>${long}ä</p>`, ''))
  t.match(wrapped, /^MIME-Version: 1\.0\r\nContent-Type: text\/html; charset=utf-8\r\nSubject: s\r\nContent-Transfer-/)
  t.equal(wrapped.match(/content-transfer-encoding/gi)?.length, 1)
  t.equal((await simpleParser(wrapped)).html, `<p>${long}ä</p>\n`)
})

t.test('only the parts with long lines change, at any depth', async (t) => {
  const wrapped = kept(
    wrap(
      ...['MIME-Version: 1.0', 'Content-Type: multipart/mixed; boundary=o', '', long, '--o'],
      ...['Content-Type: multipart/alternative; boundary=i', '', '--i', '', 'plain', '--i'],
      ...['Content-Type: text/html', '', long, '--i--', '', '--o'],
      ...[
        'Content-Type: application/json',
        'Content-Disposition: attachment; filename=a.json',
        '',
        `["${long}"]`,
        '--o',
      ],
      ...['Content-Type: message/rfc822', '', 'Subject: inner', '', long, '', '--o--', long, ''],
    ),
  )
  t.ok(longestOf(wrapped) <= MAX)
  t.match(wrapped, /boundary=o\r\n\r\n--o\r\n/, 'the preamble is dropped')
  t.match(wrapped, /--i\r\n\r\nplain\r\n--i\r\n/, 'a part without long lines stays')
  t.match(wrapped, /\r\n--o--\r\n$/)
  const parsed = await simpleParser(wrapped)
  t.equal(parsed.text?.split('\n')[0], 'plain')
  t.equal(parsed.html, long)
  t.equal(parsed.attachments[0]?.content.toString(), `["${long}"]`)
  const inner = /Subject: inner\r\n(Content-Transfer-Encoding: quoted-printable\r\n\r\n[\s\S]*?)\r\n--o--/.exec(wrapped)
  t.equal((await simpleParser(inner?.[1] ?? 'X: none\r\n\r\n')).text?.trim(), long)
})

t.test('lines of encoded parts are written anew', async (t) => {
  const base64 = kept(wrap('Content-Transfer-Encoding: base64', '', Buffer.from(long).toString('base64'), ''))
  t.ok(longestOf(base64) <= 76)
  t.equal((await simpleParser(base64)).text, `${long}`)
  const quoted = kept(wrap('Content-Transfer-Encoding: quoted-printable', '', `${long}=C3=A4`, ''))
  t.ok(longestOf(quoted) <= 76)
  t.match(quoted, /=C3=A4\r\n$/)
})

t.test('header fields are folded at blanks', async (t) => {
  const addresses = Array.from({ length: 100 }, (_, n) => `user${n}@example.test`).join(', ')
  const wrapped = kept(wrap(`To: ${addresses}   `, 'Subject: s', '', 'body', ''))
  t.ok(longestOf(wrapped) <= MAX)
  t.equal(wrapped.replace(/\r\n(?= )/g, ''), `To: ${addresses}\r\nSubject: s\r\n\r\nbody\r\n`)
  t.notMatch(wrapped, /\r\n[ \t]*\r\n /)
})

t.test('fields of a delivery status are folded', async (t) => {
  const report = ['Content-Type: multipart/report; boundary=r', '', '--r', 'Content-Type: message/delivery-status', '']
  const wrapped = kept(wrap(...report, `Diagnostic-Code: smtp; ${long}`, '--r--', ''))
  t.ok(longestOf(wrapped) <= MAX)
  t.ok(wrapped.replace(/\r\n(?= )/g, '').includes(`smtp; ${long}\r\n--r--`))
})

const unwrappable: readonly (readonly [what: string, lines: readonly string[]])[] = [
  [
    'a signed part',
    ['Content-Type: multipart/signed; boundary=s', '', '--s', '', long, '--s', 'Content-Type: x/y', '', '--s--', ''],
  ],
  ['an encrypted message', ['Content-Type: application/pkcs7-mime', '', long, '']],
  [
    'a signed part in another',
    [
      'Content-Type: multipart/mixed; boundary=o',
      '',
      '--o',
      'Content-Type: multipart/signed; boundary=s',
      '',
      '--s',
      '',
      long,
      '--s--',
      '--o--',
      '',
    ],
  ],
  ['an unknown encoding', ['Content-Transfer-Encoding: x-own', '', long, '']],
  ['uuencode', ['Content-Transfer-Encoding: uuencode', '', long, '']],
  ['a field without blanks', [`X-Long: ${'x'.repeat(1_000)}`, '', 'body', '']],
  ['a multipart without a boundary', ['Content-Type: multipart/mixed', '', long, '']],
  ['a message in pieces', ['Content-Type: message/partial', '', long, '']],
]

for (const [what, lines] of unwrappable) {
  t.test(`it leaves alone: ${what}`, async (t) => t.equal(wrap(...lines), null))
}

t.test('a signed part without long lines stays byte for byte', async (t) => {
  const sealed = ['Content-Type: multipart/signed; boundary=s', '', '--s', '', 'text ', '--s', '', 'sig', '--s--']
  const wrapped = kept(
    wrap('Content-Type: multipart/mixed; boundary=o', '', '--o', ...sealed, '', '--o', '', long, '--o--', ''),
  )
  t.ok(wrapped.includes(sealed.join('\r\n')))
})

t.test('for any text, the decoded body is what was submitted', async () => {
  const piece = fc.constantFrom('a', '=', ' ', '\t', '.', '\r\n', 'ü', 'x'.repeat(1_100), '--b', 'From ')
  await fc.assert(
    fc.asyncProperty(fc.array(piece, { maxLength: 20 }), async (pieces) => {
      const body = `${pieces.join('')}${'y'.repeat(999)}\r\n`
      const wrapped = kept(wrap('Content-Type: text/plain; charset=utf-8', '', body))
      if (longestOf(wrapped) > MAX) throw new Error('a line is too long')
      const [, encoded = ''] = wrapped.split(/\r\n\r\n([\s\S]*)/)
      const decoded = encoded
        .replace(/=\r\n/g, '')
        .replace(/=([0-9A-F]{2})/g, (_, hex: string) => String.fromCharCode(Number.parseInt(hex, 16)))
      if (Buffer.from(decoded, 'latin1').toString() !== body) throw new Error('the text is another')
    }),
  )
})
