/** What is read in one pass: the same as by the complete parser, or nothing. */
import fc from 'fast-check'
import t from 'tap'
import { scanHeaderOrEmpty } from '../../../../src/base/mail/header-fields.js'
import { parseByLibrary, parseContent } from '../../../../src/records/messages/mime/parse-parts.js'
import { readSimpleBodies } from '../../../../src/records/messages/mime/simple-bodies.js'

const lines = (...text: readonly string[]): Buffer => Buffer.from(text.join('\r\n'))

function isSimple(raw: Buffer): boolean {
  return readSimpleBodies(raw, scanHeaderOrEmpty(raw)) !== null
}

async function readBoth(raw: Buffer): Promise<readonly [unknown, unknown]> {
  const header = scanHeaderOrEmpty(raw)
  return [await parseContent(raw, header), await parseByLibrary(raw)]
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
  t.test(`${name}: read in one pass, as by the complete parser`, async (t) => {
    const unixLines = Buffer.from(raw.toString('latin1').replaceAll('\r\n', '\n'), 'latin1')
    for (const message of [raw, unixLines]) {
      t.ok(isSimple(message))
      const [one, other] = await readBoth(message)
      t.same(one, other)
    }
  })
}

const others: Readonly<Record<string, Buffer>> = {
  'another charset': lines('Content-Type: text/plain; charset=iso-8859-1', '', 'x'),
  'octets that are no UTF-8': Buffer.from(`${plain}\r\n\r\n\xff\xe4\r\n`, 'latin1'),
  'flowed text': lines('Content-Type: text/plain; charset=utf-8; format=flowed', '', 'x'),
  'an attachment': lines(plain, 'Content-Disposition: attachment; filename=a.txt', '', 'x'),
  'a file name': lines('Content-Type: text/plain; name=a.txt', '', 'x'),
  'another type of part': lines(mixed, '', '--b', 'Content-Type: image/png', '', 'x', '--b--'),
  'a repeated field': lines(plain, html, '', 'x'),
  'no empty line': lines(plain),
  'a line that is no field': lines(plain, 'no field', '', 'x'),
  'an mbox line': lines('From : x', plain, '', 'x'),
  'CR alone': Buffer.from(`${plain}\r\n\r\na\rb`),
  'an unfinished multipart': lines(mixed, '', '--b', plain, '', 'x', ''),
  'an end before any part': lines(mixed, '', '--b--', '', '--b', plain, '', 'x', '--b--'),
  'a boundary that goes on': lines(mixed, '', '--b', plain, '', 'x', '--bc', '--b--'),
  'a boundary with a blank after it': lines(mixed, '', '--b', plain, '', 'x', '--b ', '--b--'),
  'a part without content': lines(mixed, '', '--b', plain, '', '--b--'),
  'a part without an empty line': lines(mixed, '', '--b', plain, '--b--'),
  'a multipart without a boundary': lines('Content-Type: multipart/mixed', '', '--b', plain, '', 'x', '--b--'),
  'octets above ASCII in quoted-printable': lines(plain, 'Content-Transfer-Encoding: quoted-printable', '', 'ä'),
  'base64 with other characters': lines(plain, 'Content-Transfer-Encoding: base64', '', 'w6Q=!', ''),
  'base64 that goes on after its end': lines(plain, 'Content-Transfer-Encoding: base64', '', 'w6Q=', 'w6Q=', ''),
  'another encoding': lines(plain, 'Content-Transfer-Encoding: 7bit (really)', '', 'x'),
  'a boundary that ends with a blank of Unicode': lines(
    'Content-Type: multipart/alternative; boundary=b\u00a0; charset=utf-8',
    '',
    ...['--b', plain, '', 'x', '--b--', '--b\u00a0', html, '', '<p>', '--b\u00a0--'],
  ),
  'a type that ends with a line separator of Unicode': lines(`${plain}\u2028`, '', 'x'),
  'an encoding that ends with one': lines(plain, 'Content-Transfer-Encoding: base64\u2028', '', 'w6Q=', ''),
  'a form feed': lines('Content-Type: text/plain;\fcharset=utf-8', '', 'x'),
  'a large message': lines(plain, '', 'x'.repeat(65_536)),
  'many parts': lines(mixed, '', ...Array.from({ length: 21 }, () => ['--b', plain, '', 'x']).flat(), '--b--'),
}

for (const [name, raw] of Object.entries(others)) {
  t.test(`${name}: left to the complete parser`, async (t) => {
    t.notOk(isSimple(raw))
  })
}

const pieces = [
  ...['\r\n', '\r\n', '\r\n', '\n', '\r', '\r\n\r\n', ' ', '\t', 'x', 'ä', '=', '=3D', '=\r\n', 'w6Q=', 'w6QK'],
  ...['--b', '--c', '--b--', '--c--', '--', '--b\r\n', '\r\n--b\r\n', '\r\n--b--\r\n', '\r\n--c\r\n', '\r\n--c--\r\n'],
  ...[`${plain}\r\n`, `${html}\r\n`, `${mixed}\r\n`, `${alternative}\r\n`, `${plain}\r\n\r\n`, `${html}\r\n\r\n`],
  ...['Content-Type: multipart/related; boundary=c\r\n\r\n', 'Content-Type: text/html\r\n\r\n', 'Subject: x\r\n'],
  ...['Content-Transfer-Encoding: quoted-printable\r\n', 'Content-Transfer-Encoding: base64\r\n'],
  ...['Content-Disposition: inline\r\n', 'Content-Disposition: attachment\r\n', '; format=flowed', 'From x\r\n'],
]

t.test('whatever is put together: if it is read in one pass, the complete parser reads the same', async (t) => {
  let read = 0
  const message = fc
    .tuple(
      fc.constantFrom(plain, html, mixed, alternative, 'Subject: x'),
      fc.array(fc.constantFrom(...pieces), { maxLength: 25 }),
    )
    .map(([first, rest]) => Buffer.from(`${first}\r\n${rest.join('')}`))
  await fc.assert(
    fc.asyncProperty(message, async (raw) => {
      if (!isSimple(raw)) return
      read += 1
      const [one, other] = await readBoth(raw)
      t.same(one, other)
    }),
  )
  t.ok(read > 0, `${read} were read in one pass`)
})
