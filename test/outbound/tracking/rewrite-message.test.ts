/** HTML parts of submitted messages: which are tracked, how they are encoded, and that every other byte stays. */
import assert from 'node:assert/strict'
import fc from 'fast-check'
import { simpleParser } from 'mailparser'
import t from 'tap'
import { parseDomainName } from '../../../src/base/mail/address.js'
import { encodeBase64Lines } from '../../../src/base/mail/base64-lines.js'
import { scanHeader } from '../../../src/base/mail/header-fields.js'
import { encodeQuotedPrintable } from '../../../src/base/mail/quoted-printable.js'
import { restoreHtml } from '../../../src/outbound/tracking/restore-html.js'
import { rewriteMessage } from '../../../src/outbound/tracking/rewrite-message.js'
import { EmailTracker, type EmailTracking } from '../../../src/outbound/tracking/track-email.js'
import { checkForm } from '../../helpers/mail/check-form.js'

/** Stands for a link that is longer than the one before. */
const trackHtml: EmailTracking['trackHtml'] = (html, withPixel = true) =>
  `${html.replaceAll('LINK', 'TRACKED-LINK')}${withPixel ? '<img>' : ''}`

function rewrite(raw: string | Buffer): Buffer | string {
  const bytes = typeof raw === 'string' ? Buffer.from(raw, 'latin1') : raw
  return join(rewriteMessage(bytes, scanHeader(bytes), trackHtml))
}

function join(result: ReturnType<typeof rewriteMessage>): Buffer | string {
  return typeof result === 'string' ? result : Buffer.concat(result)
}

const text = (raw: string | Buffer): string => {
  const rewritten = rewrite(raw)
  return typeof rewritten === 'string' ? rewritten : rewritten.toString('latin1')
}

const lines = (...all: readonly string[]): string => all.map((line) => `${line}\r\n`).join('')
const top = ['From: a@a.test', 'MIME-Version: 1.0']
const html = ['Content-Type: text/html; charset=utf-8', '', '<p>LINK</p>']
const multipart = (type: string, parts: readonly (readonly string[])[], boundary = 'b'): readonly string[] => [
  `Content-Type: multipart/${type}; boundary=${boundary}`,
  '',
  ...parts.flatMap((part) => [`--${boundary}`, ...part]),
  `--${boundary}--`,
]
const named = (name: string): readonly string[] => [
  `Content-Type: text/html; charset=utf-8; name=${name}`,
  '',
  '<p>LINK</p>',
]
const plain = ['Content-Type: text/plain', '', 'LINK']

t.test('which parts are HTML bodies', async (t) => {
  const tracked: readonly (readonly string[])[] = [
    html,
    multipart('alternative', [plain, html]),
    multipart('mixed', [multipart('alternative', [plain, multipart('related', [html, plain], 'r')], 'a'), plain]),
    multipart('mixed', [['Content-Disposition: inline', ...html]]),
    ['Content-type: TEXT/HTML;charset="UTF-8"', '', '<p>LINK</p>'],
    ['Content-Type: text/html; charset=utf-8;', ' format=flowed', '', '<p>LINK</p>'],
    ['Content-Type: multipart/mixed; boundary="b c"', '', 'preamble', '--b c  ', ...html, '--b c-- ', 'epilogue'],
    multipart('mixed', [['Content-Type: application/pdf; name=a b.pdf', '', 'LINK'], html]),
    multipart('mixed', [multipart('signed', [html, plain], 's'), html]),
    multipart('alternative', [plain, named('body.html')]),
    multipart('related', [named('body.html'), plain]),
    multipart('mixed', [multipart('alternative', [plain, multipart('mixed', [named('a.html'), plain], 'm')], 'a')]),
    named('page.html'),
    multipart('mixed', [named('""')]),
  ]
  for (const part of tracked) {
    const raw = lines(...top, ...part)
    const at = raw.lastIndexOf('<p>LINK</p>')
    t.equal(text(raw), `${raw.slice(0, at)}<p>TRACKED-LINK</p><img>${raw.slice(at + 11)}`, part[0] ?? '')
  }
  const two = text(lines(...top, ...multipart('mixed', [html, html])))
  t.equal(two.split('<img>').length, 2, 'one pixel')
  t.equal(two.split('TRACKED').length, 3)
  t.equal(two.indexOf('<img>'), two.indexOf('</p>') + 4, 'in the first body')
})

t.test('what stays, byte for byte', async (t) => {
  const start = ['Content-Type: multipart/related; boundary=b; start="<root>"', '']
  const untouched: readonly (readonly string[])[] = [
    plain,
    ['', 'no type'],
    multipart('mixed', [['Content-Disposition: attachment', ...html]]),
    multipart('mixed', [['Content-Disposition: inline; filename=a.html', ...html]]),
    multipart('mixed', [plain, named('report.html')]),
    multipart('mixed', [plain, named('"annual report.html"')]),
    multipart('mixed', [plain, ["Content-Type: text/html; name*=utf-8''a%20b.html", '', '<p>LINK</p>']]),
    multipart('mixed', [plain, ['Content-Type: text/html; name*0=a; name*1=b.html', '', '<p>LINK</p>']]),
    multipart('mixed', [plain, ['Content-Type: text/html;', '\tNAME = a.html', '', '<p>LINK</p>']]),
    multipart('mixed', [['Content-Disposition: form-data', ...html]]),
    multipart('alternative', [plain, ['Content-Disposition: attachment; filename=a.html', ...html]]),
    multipart('mixed', [['Content-Type: message/rfc822', '', ...html]]),
    multipart('mixed', [['Content-Type: text/calendar', '', 'LINK']]),
    multipart('report', [html]),
    multipart('digest', [html]),
    multipart('related', [plain, html]),
    [...start, '--b', ...html, '--b', 'Content-ID: <root>', ...plain, '--b--'],
  ]
  for (const part of untouched) {
    const raw = lines(...top, ...part)
    t.equal(text(raw), raw)
  }
})

t.test('what is not taken apart, and why', async (t) => {
  const typed = (type: string): readonly string[] => [`Content-Type: ${type}`, '', '<p>LINK</p>']
  const encoded = (encoding: string, body: string): readonly string[] => [
    `Content-Transfer-Encoding: ${encoding}`,
    'Content-Type: text/html; charset=utf-8',
    '',
    body,
  ]
  const nest = (depth: number): readonly string[] =>
    depth === 0 ? html : multipart('mixed', [nest(depth - 1)], `level${depth}.`)
  const table: readonly [string, readonly string[]][] = [
    ['signed', multipart('signed', [html])],
    ['encrypted', multipart('encrypted', [html])],
    ['signed', typed('application/pkcs7-mime; smime-type=signed-data')],
    ['encrypted', typed('application/x-pkcs7-mime; smime-type=enveloped-data')],
    ['signed', [...html, '-----BEGIN PGP SIGNED MESSAGE-----']],
    ['encrypted', [...html, '-----BEGIN PGP MESSAGE-----']],
    ['malformed', ['Content-Type: text/plain', ...html]],
    ['malformed', ['Content-Transfer-Encoding: 7bit', 'Content-Transfer-Encoding: base64', ...html]],
    ['malformed', typed('text/html; charset=utf-8; charset=latin1')],
    ['malformed', typed("text/html; charset*=utf-8''utf-8")],
    ['malformed', typed('text/html (page); charset=utf-8')],
    ['malformed', typed('multipart/mixed')],
    ['malformed', typed('multipart/mixed; boundary=""')],
    ['malformed', typed('multipart/mixed; boundary="é"')],
    ['malformed', typed('multipart/mixed; boundary=b')],
    ['malformed', multipart('mixed', [html]).slice(0, -1)],
    ['malformed', [...multipart('mixed', [html]), '--b', ...html, '--b--']],
    ['malformed', multipart('mixed', [multipart('mixed', [html], 'bb')])],
    ['malformed', multipart('mixed', [['no header'], html])],
    ['malformed', ['Content-Type: multipart/related; boundary=b; start=x', '', '--b', ...html, '--b--']],
    ['malformed', nest(11)],
    [
      'malformed',
      multipart(
        'mixed',
        Array.from({ length: 500 }, () => html),
      ),
    ],
    ['encoding', encoded('uuencode', '<p>LINK</p>')],
    ['encoding', encoded('quoted-printable', '<p>=XX</p>')],
    ['encoding', encoded('base64', 'PHA+*')],
    ['encoding', encoded('base64', 'PHA')],
    ['charset', typed('text/html; charset=x-unheard-of')],
    ['charset', typed('text/html; charset=utf-16')],
    ['charset', typed('text/html; charset=iso-2022-jp')],
    ['charset', typed('text/html; charset=utf-7')],
    ['charset', ['Content-Type: text/html; charset=utf-8', '', '\xe9']],
    ['charset', ['Content-Type: text/html; charset=us-ascii', '', '\xc3\xa9']],
    ['charset', ['Content-Type: text/html; charset=shift_jis', '', '\x83\x41']],
    ['charset', ['Content-Type: text/html', '', '\xe9']],
  ]
  for (const [reason, part] of table) t.equal(text(lines(...top, ...part)), reason, part.slice(0, 3).join(' / '))
  t.match(text(lines(...top, ...nest(10))), 'TRACKED', 'ten levels are read')
  t.match(
    text(
      lines(
        ...top,
        ...multipart(
          'mixed',
          Array.from({ length: 499 }, () => html),
        ),
      ),
    ),
    'TRACKED',
  )
})

t.test('what would take long is not taken apart', async (t) => {
  const parts = (count: number, part: readonly string[]): readonly string[] =>
    multipart(
      'mixed',
      Array.from({ length: count }, () => part),
    )
  const field = `X: ${'x'.repeat(990)}`
  const manyFields = Array.from({ length: 140 }, () => field)
  const half = `${'x'.repeat(98)}\r\n`.repeat(5_300)
  const table: readonly [string, readonly string[]][] = [
    ['malformed', ['Content-Type: multipart/mixed; boundary=b', '', '--b\r\n\r\n\r\n'.repeat(1_000_000), '--b--']],
    [
      'malformed',
      multipart('mixed', [multipart('mixed', [html, html], 'c'), ...Array.from({ length: 499 }, () => html)]),
    ],
    ['malformed', parts(1, [...manyFields, ...html])],
    ['malformed', parts(4, [...manyFields.slice(0, 40), ...html])],
    ['too-large', [...html, half, half]],
    ['too-large', parts(2, [...html, half])],
  ]
  for (const [place, [reason, part]] of table.entries()) t.equal(text(lines(...top, ...part)), reason, `${place}`)
  t.match(text(lines(...top, ...parts(1, [...html, half]))), 'TRACKED')
  t.match(text(lines(...top, ...parts(3, [...manyFields.slice(0, 40), ...html]))), 'TRACKED')
})

t.test('each charset and transfer encoding is kept', async (t) => {
  const page = (charset: string, body: Buffer): Buffer =>
    Buffer.concat([Buffer.from(lines(...top, `Content-Type: text/html; charset=${charset}`, '')), body])
  for (const charset of [
    'iso-8859-1',
    'iso-8859-2',
    'iso-8859-15',
    'windows-1252',
    'windows-1251',
    'koi8-r',
    'latin1',
  ]) {
    const octets = Array.from({ length: 96 }, (_, place) => 160 + place)
    const body = Buffer.from([...Buffer.from('LINK'), ...octets, 0x0d, 0x0a])
    const end = Buffer.from([...Buffer.from('TRACKED-LINK'), ...octets, ...Buffer.from('<img>\r\n')])
    t.same(rewrite(page(charset, body)), page(charset, end), charset)
  }
  t.equal(text(page('iso-8859-3', Buffer.from([0xa5, 0xae]))), 'charset', 'octets without a character')
  const utf8 = page('utf-8', Buffer.from('\ufeffLINK 😀\r\n'))
  t.same(rewrite(utf8), page('utf-8', Buffer.from('\ufeffTRACKED-LINK 😀<img>\r\n')))
  t.same(
    rewrite(page('gbk', Buffer.from('LINK\r\n'))),
    page('gbk', Buffer.from('TRACKED-LINK<img>\r\n')),
    'ASCII of another',
  )

  const encoded = (encoding: string, body: string): string =>
    lines(...top, 'Content-Type: text/html; charset=utf-8', `Content-Transfer-Encoding: ${encoding}`, '') + body
  t.equal(
    text(encoded('Quoted-Printable', 'LI=\r\nNK=C3=A9 =3D\r\n')),
    encoded('Quoted-Printable', 'TRACKED-LINK=C3=A9 =3D<img>\r\n'),
  )
  const base64 = (body: string): string => `${Buffer.from(body).toString('base64')}\r\n`
  t.equal(text(encoded('BASE64', base64('LINK é'))), encoded('BASE64', base64('TRACKED-LINK é<img>')))
})

t.test('a line that becomes too long makes the body quoted-printable', async (t) => {
  const body = `${'x'.repeat(990)}LINK\r\nnext = é\r\n`
  const field = 'Content-Transfer-Encoding: 8bit'
  const raw = Buffer.from(lines(...top, field, 'Content-Type: text/html; charset=utf-8', '') + body)
  const rewritten = rewrite(raw)
  assert.ok(Buffer.isBuffer(rewritten))
  t.equal(checkForm(rewritten, { maxLineOctets: 998 }).kind, 'ok')
  t.match(
    rewritten.toString(),
    lines(...top, 'Content-Transfer-Encoding: quoted-printable', 'Content-Type: text/html; charset=utf-8'),
  )
  t.equal((await simpleParser(rewritten)).html, `${'x'.repeat(990)}TRACKED-LINK\nnext = é<img>\n`)

  const without = Buffer.from(lines(...top, ...multipart('mixed', [[...html, 'y'.repeat(994), 'LINK'.repeat(240)]])))
  const added = rewrite(without)
  assert.ok(Buffer.isBuffer(added))
  t.match(
    added.toString(),
    '--b\r\nContent-Type: text/html; charset=utf-8\r\nContent-Transfer-Encoding: quoted-printable\r\n\r\n',
  )
  t.equal(checkForm(added, { maxLineOctets: 998 }).kind, 'ok')
})

/** A message of nested parts, as bytes, with what `rewriteMessage` should make of it. */
interface Sample {
  readonly raw: string
  readonly expected: string
}

const leaf: fc.Arbitrary<Sample> = fc
  .record({
    isHtml: fc.boolean(),
    encoding: fc.constantFrom('7bit', 'base64', 'none'),
    body: fc.array(
      fc.constantFrom('LINK', ' ', '<p>', '=', '-', '--', '\r\n', '\r\n--', '\r\nx', '.', '</body>', 'a: b'),
      {
        maxLength: 12,
      },
    ),
  })
  .map(({ isHtml, encoding, body }) => {
    const content = body.join('')
    const head = `${encoding === 'none' ? '' : `Content-Transfer-Encoding: ${encoding}\r\n`}Content-Type: text/${isHtml ? 'html' : 'plain'}\r\n\r\n`
    const toBody = (plain: string): string =>
      encoding === 'base64'
        ? Buffer.from(plain)
            .toString('base64')
            .replace(/.{76}(?=.)/g, '$&\r\n')
        : plain
    const last = content.endsWith('\r\n') ? '\r\n' : ''
    const changed = content.slice(0, content.length - last.length).replaceAll('LINK', 'TRACKED-LINK') + last
    return { raw: head + toBody(content), expected: head + toBody(isHtml ? changed : content) }
  })

const { tree } = fc.letrec<{ tree: Sample; group: Sample }>((tie) => ({
  tree: fc.oneof({ maxDepth: 3 }, leaf, tie('group')),
  group: fc
    .record({
      parts: fc.array(tie('tree'), { minLength: 1, maxLength: 4 }),
      number: fc.integer({ min: 100_000, max: 999_999 }),
      type: fc.constantFrom('mixed', 'alternative'),
      around: fc.constantFrom('', 'preamble\r\n'),
    })
    .map(({ parts, number, type, around }) => {
      const join = (all: readonly string[]): string =>
        `Content-Type: multipart/${type}; boundary="=_${number}"\r\n\r\n${around}` +
        `${all.map((part) => `--=_${number}\r\n${part}\r\n`).join('')}--=_${number}--`
      return { raw: join(parts.map(({ raw }) => raw)), expected: join(parts.map(({ expected }) => expected)) }
    }),
}))

t.test('of any tree of parts, only the HTML bodies change', async () => {
  let changed = 0
  fc.assert(
    fc.property(tree, ({ raw, expected }) => {
      const bytes = Buffer.from(`From: a@a.test\r\n${raw}\r\n`)
      const result = join(rewriteMessage(bytes, scanHeader(bytes), (html) => html.replaceAll('LINK', 'TRACKED-LINK')))
      if (typeof result === 'string') return
      changed += result.equals(bytes) ? 0 : 1
      assert.equal(result.toString(), `From: a@a.test\r\n${expected}\r\n`)
    }),
  )
  assert.ok(changed > 15, `${changed} messages were changed`)
})

t.test('any bytes are read without an error, and what stays is equal', async () => {
  const piece = fc.constantFrom(
    ...[
      '\r\n',
      '\n',
      '\r\n\r\n',
      '--b',
      '--b--',
      '--',
      ' ',
      ';',
      '"',
      '=',
      'boundary=b',
      'boundary="b"',
      'LINK',
      '=E9',
    ],
    ...[
      'Content-Type: ',
      'text/html',
      'multipart/mixed; boundary=b',
      'Content-Transfer-Encoding: base64',
      'charset=utf-8',
    ],
  )
  fc.assert(
    fc.property(fc.array(fc.oneof(piece, fc.string({ unit: 'binary' })), { maxLength: 40, size: 'max' }), (pieces) => {
      const raw = Buffer.from(`Content-Type: multipart/mixed; boundary=b\r\n\r\n--b\r\n${pieces.join('')}`)
      const result = join(rewriteMessage(raw, scanHeader(raw), (html) => html))
      if (typeof result !== 'string') assert.deepEqual(result, raw)
    }),
  )
})

const emailId = '0192aaaa-bbbb-7ccc-8ddd-eeeeeeeeeeee'
const base = 'https://mail.test'
const tracker = new EmailTracker({ trackingHost: { baseFor: () => base }, publicUrl: base })

const submitted = fc.record({
  charset: fc.constantFrom('utf-8', 'iso-8859-1'),
  encoding: fc.constantFrom('8bit', 'quoted-printable', 'base64'),
  pieces: fc.array(
    fc.constantFrom(
      ...['<a href="http://a.test/?b&amp;c">', "<A HREF='https://ä.test/é'>", '<a href=http://a.test/?b&c>', '</a>'],
      ...['<p>', 'é ', ' x ', '=', '\r\n', '</body>', '<!-- <a href="http://b.test/"> -->', 'y'.repeat(900)],
    ),
    { minLength: 1, maxLength: 20 },
  ),
})

t.test('another reader sees the same HTML before, and after it was restored', async (t) => {
  let links = 0
  const readBody = async (raw: Buffer): Promise<string | false> =>
    (await simpleParser(raw, { skipHtmlToText: true, skipImageLinks: true })).html
  await fc.assert(
    fc.asyncProperty(submitted, async ({ charset, encoding, pieces }) => {
      const octets = Buffer.from(`${pieces.join('')}\r\n`, charset === 'utf-8' ? 'utf8' : 'latin1')
      const head = lines(
        ...top,
        `Content-Type: text/html; charset=${charset}`,
        `Content-Transfer-Encoding: ${encoding}`,
        '',
      )
      const body =
        encoding === 'base64'
          ? Buffer.from(`${encodeBase64Lines(octets).toString()}\r\n`)
          : encoding === 'quoted-printable'
            ? encodeQuotedPrintable(octets)
            : octets
      const raw = Buffer.concat([Buffer.from(head), body])
      const domain = parseDomainName('a.test')
      const tracking = tracker.begin({ workspaceId: 'ws_1', emailId, domain, opens: true, clicks: true, now: 0 })
      assert.ok(tracking !== null)
      const result = join(rewriteMessage(raw, scanHeader(raw), tracking.trackHtml))
      assert.ok(Buffer.isBuffer(result))
      const writes = tracking.collectWrites()
      links += writes.length - 1
      const edits = writes.at(-1)?.parameters.find((value) => typeof value === 'string' && value.startsWith('['))
      const html = await readBody(result)
      assert.ok(html !== false && html.includes('/v1/track/open/'))
      assert.equal(restoreHtml(html, emailId, JSON.parse(String(edits)) as string[]), await readBody(raw))
    }),
  )
  t.ok(links > 60, `${links} links`)
})

t.test('all HTML parts together may have 1 MB as they are encoded', async (t) => {
  const part = (size: number): readonly string[] => ['Content-Type: text/html', '', 'x'.repeat(size)]
  const head = 'Content-Type: text/html\r\n\r\n'.length
  const half = 524_288 - head
  t.equal(text(lines(...top, ...multipart('mixed', [part(1_048_577 - head)]))), 'too-large')
  t.not(text(lines(...top, ...multipart('mixed', [part(1_048_576 - head)]))), 'too-large')
  t.not(text(lines(...top, ...multipart('mixed', [part(half), part(half), plain]))), 'too-large')
  t.equal(text(lines(...top, ...multipart('mixed', [part(half), part(half + 1), plain]))), 'too-large')
})
