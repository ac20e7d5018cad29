/** Messages parsed in child processes: good ones, hostile ones, and the order in which they wait. */
import t, { type Test } from 'tap'
import { Refusal } from '../../../../src/base/mail/refusal.js'
import { defaultMimeLimits, type MimeLimits, MimeReader } from '../../../../src/records/messages/mime/mime-parts.js'
import type { MimeAttachment, MimeParts } from '../../../../src/records/messages/mime/mime-parts-protocol.js'
import { contentAnalyzer } from '../../../fixtures/odd-analyzer.js'

function reader(t: Pick<Test, 'teardown'>, limits: Partial<MimeLimits> = {}): MimeReader {
  const made = new MimeReader({ ...defaultMimeLimits, ...limits })
  t.teardown(() => made.close())
  return made
}

/** With the limits of the daemon. */
const patient = reader(t)

async function parts(from: MimeReader, raw: string | Buffer): Promise<MimeParts> {
  const result = await from.read('ws_1', () => Buffer.from(raw as string))
  if (result.kind !== 'parts') throw new Error(result.message)
  return result.parts
}

const lines = (...all: readonly string[]): string => [...all, ''].join('\r\n')

const mixed = lines(
  'Received: by mail.service.test with ESMTPS id 1;',
  '\tThu, 1 Jan 2026 00:00:00 +0000',
  'From: App <app@a.test>',
  'Subject: =?utf-8?q?Gr=C3=BC=C3=9Fe?=',
  'x-oDD: one',
  'X-Odd: =?utf-8?b?4oKs?=',
  'MIME-Version: 1.0',
  'Content-Type: multipart/mixed; boundary=outer',
  '',
  'nobody reads this',
  '--outer',
  'Content-Type: multipart/related; boundary=rel',
  '',
  '--rel',
  'Content-Type: multipart/alternative; boundary=alt',
  '',
  '--alt',
  'Content-Type: text/plain; charset=iso-8859-1',
  'Content-Transfer-Encoding: quoted-printable',
  '',
  'Gr=FC=DFe=20',
  'http://a.test/',
  '--alt',
  'Content-Type: text/html; charset=utf-8',
  'Content-Transfer-Encoding: base64',
  '',
  Buffer.from('<p>Grüße <img src="cid:logo@a.test"></p>').toString('base64'),
  '--alt--',
  '--rel',
  'Content-Type: image/png; name=logo.png',
  'Content-ID: <logo@a.test>',
  'Content-Disposition: inline; filename=logo.png',
  'Content-Transfer-Encoding: base64',
  '',
  Buffer.alloc(1000, 7).toString('base64'),
  '--rel--',
  '--outer',
  'Content-Type: application/octet-stream',
  "Content-Disposition: attachment; filename*=utf-8''%E2%82%AC%0Auros.pdf",
  'Content-Transfer-Encoding: base64',
  '',
  Buffer.from('twelve bytes').toString('base64'),
  '--outer',
  'Content-Type: message/rfc822',
  '',
  'Subject: inner',
  '',
  'inner text',
  '--outer--',
)

t.test('a message is parsed: bodies, fields in their order, attachments', async (t) => {
  t.same(await parts(patient, mixed), {
    html: '<p>Grüße <img src="cid:logo@a.test"></p>',
    text: 'Grüße \nhttp://a.test/',
    headers: [
      { name: 'Received', value: 'by mail.service.test with ESMTPS id 1; Thu, 1 Jan 2026 00:00:00 +0000' },
      { name: 'From', value: 'App <app@a.test>' },
      { name: 'Subject', value: 'Grüße' },
      { name: 'x-oDD', value: 'one' },
      { name: 'X-Odd', value: '€' },
      { name: 'MIME-Version', value: '1.0' },
      { name: 'Content-Type', value: 'multipart/mixed; boundary=outer' },
    ],
    attachments: [
      {
        filename: 'logo.png',
        content_type: 'image/png',
        size: 1000,
        content_id: 'logo@a.test',
        disposition: 'inline',
      },
      {
        filename: '€ uros.pdf',
        content_type: 'application/octet-stream',
        size: 12,
        content_id: null,
        disposition: 'attachment',
      },
      { filename: null, content_type: 'message/rfc822', size: 28, content_id: null, disposition: 'attachment' },
    ],
  })
})

t.test('a missing body is not invented', async (t) => {
  const from = patient
  t.match(await parts(from, lines('Subject: plain', '', 'a line')), { html: null, text: 'a line', attachments: [] })
  t.match(await parts(from, lines('Content-Type: text/html', '', '<b>x</b>')), { html: '<b>x</b>', text: null })
  t.match(await parts(from, lines('Content-Type: text/plain', '', '')), { html: null, text: null })
  t.match(await parts(from, lines('Subject: plain', '', 'a line', '')), { text: 'a line\n' }, 'of two line ends one')
  const encoded = Buffer.from('a line\n').toString('base64')
  t.match(await parts(from, lines('Content-Transfer-Encoding: base64', '', encoded)), { text: 'a line\n' }, 'its own')
  t.match(await parts(from, ''), { html: null, text: null, headers: [], attachments: [] })
  t.match(
    await parts(
      from,
      lines('Content-Type: application/pdf; name=a.pdf', 'Content-Transfer-Encoding: base64', '', 'AAAA'),
    ),
    { html: null, text: null, attachments: [{ filename: 'a.pdf', content_type: 'application/pdf', size: 3 }] },
  )
  t.match(await parts(from, lines('Content-Type: x y/z', 'Content-Disposition: attachment', '', 'a')), {
    attachments: [{ filename: null, content_type: 'application/octet-stream' }],
  })
})

/** `body`: one character a byte. */
async function textOf(type: string, body: string, encoding = '8bit'): Promise<string | null> {
  const raw = lines(`Content-Type: ${type}`, `Content-Transfer-Encoding: ${encoding}`, '', body)
  const { text, html } = await parts(patient, Buffer.from(raw, 'latin1'))
  return text ?? html
}

const charsets: readonly (readonly [charset: string, bytes: string, text: string])[] = [
  ['ISO-2022-JP', '\x1b$B$3$s$K$A$O\x1b(B!', 'こんにちは!'],
  ['shift_jis', '\x82\xb1\x82\xf1', 'こん'],
  ['GB18030', '\xc4\xe3\xba\xc3\x95\x32\x82\x36', '你好𠀀'],
  ['gb2312', '\xc4\xe3\xba\xc3', '你好'],
  ['big5', '\xa7A\xa6n', '你好'],
  ['ks_c_5601-1987', '\xbe\xc8\xb3\xe7', '안녕'],
  ['KOI8-R', '\xf0\xd2\xc9\xd7\xc5\xd4', 'Привет'],
  ['windows-1250', 'P\xf8\xedli\x9a', 'Příliš'],
  ['cp1251', '\xcf\xf0\xe8\xe2\xe5\xf2', 'Привет'],
  ['windows-1252', '\x80 \x93q\x94', '€ “q”'],
  ['windows-1253', '\xe3\xe5\xe9\xdc', 'γειά'],
  ['windows-1254', '\xfe\xf0\xfd', 'şğı'],
  ['windows-1255', '\xf9\xec\xe5\xed', 'שלום'],
  ['windows-1256', '\xe3\xd1\xcd\xc8\xc7', 'مرحبا'],
  ['windows-1257', '\xe0\xe8\xeb', 'ąčė'],
  ['windows-1258', '\xd0', 'Đ'],
  ['utf-16le', 'h\0\xe9\0', 'hé'],
  ['utf-7', 'Hi +AOk-', 'Hi é'],
  ['us-ascii', 'Gr\xc3\xbc\xc3\x9fe', 'Grüße'],
  ['x-unknown', 'plain', 'plain'],
]

t.test('bodies are decoded from their charset, and from UTF-8 without one', async (t) => {
  for (const [charset, bytes, text] of charsets) {
    for (const type of [`text/plain; charset=${charset}`, `text/html; charset="${charset}"`]) {
      const base64 = Buffer.from(bytes, 'latin1').toString('base64')
      t.equal(await textOf(type, base64, 'base64'), text, type)
      if (charset !== 'utf-16le') t.equal(await textOf(type, bytes), text, type)
    }
  }
  t.equal(await textOf('text/plain', 'Gr\xc3\xbc\xc3\x9fe'), 'Grüße')
  t.equal(await textOf('text/plain', 'Gr\xfc\xdfe'), 'Grüße', 'what is no UTF-8 is Latin-1')
  t.equal(await textOf('text/html; charset=us-ascii', 'Gr=FC=DFe', 'quoted-printable'), 'Grüße')
  t.equal(await textOf('text/plain; charset=utf-8', 'Gr\xfce'), 'Gr\ufffde', 'but for what is declared as UTF-8')
  t.equal(await textOf('text/plain', 'aGVsbG8!!!*==', 'base64'), 'hello', 'odd characters in base64 are passed over')
  t.equal(await textOf('text/plain', 'hello=', 'quoted-printable'), 'hello')
  t.equal(await textOf('text/plain', 'hello', 'x-unheard-of'), 'hello')
  t.equal(await textOf('text/plain; format=flowed; delsp=yes', 'hel \r\nlo'), 'hello')
})

/** The only attachment of a message whose part has these fields. */
async function readAttachment(
  fields: readonly string[],
  octets: BufferEncoding = 'utf8',
): Promise<MimeAttachment | undefined> {
  const raw = lines('Content-Type: multipart/mixed; boundary=b', '', '--b', ...fields, '', 'x', '--b--')
  return (await parts(patient, Buffer.from(raw, octets))).attachments[0]
}

const japanese = Buffer.from('\x1b$B%F%9%H\x1b(B').toString('base64')

const fileNames: readonly (readonly [parameters: string, name: string, octets?: BufferEncoding])[] = [
  [`filename*0*=utf-8''%e2%82%ac%20; filename*1*=re; filename*2="port.pdf"`, '€ report.pdf'],
  ["filename*=windows-1251'ru'%CF%F0%E8.pdf", 'При.pdf'],
  ["filename*=iso-2022-jp''%1B$B$3$s%1B%28B.pdf", 'こん.pdf'],
  ['filename*0="a b"; filename*1=.pdf', 'a b.pdf'],
  ['filename="=?koi8-r?b?8NLJ18XU?=.pdf"', 'Привет.pdf'],
  ['filename="=?utf-8?q?=E2=82?=\r\n =?utf-8?q?=AC.pdf?="', '€.pdf'],
  ['filename="grüße.pdf"', 'grüße.pdf'],
  ['filename=plain.pdf', 'plain.pdf'],
  [`filename="=?iso-2022-jp?b?${japanese}?=\r\n =?iso-2022-jp?b?${japanese}?=.pdf"`, 'テストテスト.pdf'],
  ['filename="=?iso-8859-1?q?Fr\xf6sche?=.pdf"', 'Frösche.pdf', 'latin1'],
  ['filename="\xfcber.pdf"', 'über.pdf', 'latin1'],
]

t.test('file names come in continuations, in charsets, in encoded words and bare', async (t) => {
  for (const [parameters, name, octets] of fileNames) {
    const disposition = `Content-Disposition: attachment; ${parameters}`
    const found = await readAttachment(['Content-Type: application/pdf', disposition], octets)
    t.equal(found?.filename, name, parameters)
    const byType = `Content-Type: application/pdf; ${parameters.replaceAll('filename', 'name')}`
    t.equal((await readAttachment([byType], octets))?.filename, name, byType)
  }
})

t.test('a displayed text with a file name is an attachment too', async (t) => {
  const raw = lines(
    'Content-Type: multipart/mixed; boundary=b',
    '',
    '--b',
    'Content-Type: multipart/alternative; boundary=c',
    '',
    '--c',
    'Content-Type: text/plain; name=body.txt',
    '',
    'body',
    '--c',
    'Content-Type: multipart/related; boundary=d',
    '',
    '--d',
    'Content-Type: text/html; name=body.html',
    '',
    '<p>body</p>',
    '--d--',
    '--c--',
    '--b',
    'Content-Type: text/plain; charset=iso-8859-1; name="n=FCr.txt"',
    'Content-Disposition: inline; filename=notes.txt',
    'Content-ID: <notes@a.test>',
    'Content-Transfer-Encoding: quoted-printable',
    '',
    'n=E4me',
    '--b',
    'Content-Type: image/png; name=a.png',
    '',
    'png',
    '--b',
    'Content-Type: text/plain; name=last.txt',
    '',
    'last',
    '--b',
    'Content-Disposition: inline',
    '',
    'no name',
    '--b--',
  )
  const { text, html, attachments } = await parts(patient, raw)
  t.equal(text, 'body\nnäme\nlast\nno name', 'the text is what it was')
  t.match(html, /^<p>body<\/p>/)
  t.same(
    attachments.map(({ filename, size, disposition }) => [filename, size, disposition]),
    [
      ['notes.txt', 4, 'inline'],
      ['a.png', 3, 'attachment'],
      ['last.txt', 4, 'inline'],
    ],
  )
  t.match(attachments[0], { content_type: 'text/plain', content_id: 'notes@a.test' })
  const bytes = async (place: number): Promise<string | null> => {
    const found = await patient.readAttachment('ws_1', () => Buffer.from(raw), place)
    return found.kind === 'attachment' ? found.bytes.toString('latin1') : null
  }
  t.same([await bytes(0), await bytes(1), await bytes(2), await bytes(3)], ['n\xe4me', 'png', 'last', null])
  const alone = (field: string): string => lines('Content-Type: text/plain; name=a.txt', field, '', 'x')
  t.match(await parts(patient, alone('X: y')), { text: 'x', attachments: [] })
  t.match(await parts(patient, alone('Content-Disposition: inline; filename=b.txt')), {
    text: 'x',
    attachments: [{ filename: 'b.txt' }],
  })
})

t.test('encoded words are decoded across folds and charsets, and other text stays', async (t) => {
  const subject = async (...value: readonly string[]): Promise<string | undefined> =>
    (await parts(patient, lines(`Subject: ${value.join('\r\n ')}`, '', 'x'))).headers[0]?.value
  const folded = ['=?utf-8?q?Gr=C3?=', '=?utf-8?q?=BC=C3=9Fe?= und =?iso-2022-jp?b?GyRCJDMkcxsoQg==?=']
  t.equal(await subject(...folded), 'Grüße und こん')
  t.equal(await subject('=?gb18030?b?xOO6ww==?=', '=?koi8-r?q?=F0=D2?='), '你好Пр')
  t.equal(await subject('=?windows-1252*en?Q?=80_5?= ok'), '€ 5 ok')
  t.equal(await subject('=?x-unheard-of?q?=41?= =?utf-8?q?=41'), '=?x-unheard-of?q?=41?= =?utf-8?q?=41')
})

t.test('the contents of an attachment stay inside: winmail.dat, a message in a message in a message', async (t) => {
  const tnef = Buffer.from('eJ8+IgABAAAA', 'base64')
  const winmail = ['Content-Type: application/ms-tnef; name="winmail.dat"', 'Content-Transfer-Encoding: base64', '']
  const inner = [
    'Subject: outer',
    'Content-Type: multipart/mixed; boundary=c',
    '',
    '--c',
    'Content-Type: message/rfc822',
  ]
  const innermost = ['', 'Subject: inner', '', 'deep', '--c--']
  const raw = lines(
    'Content-Type: multipart/mixed; boundary=b',
    '',
    '--b',
    ...winmail,
    tnef.toString('base64'),
    '--b',
    'Content-Type: message/rfc822',
    '',
    ...inner,
    ...innermost,
    '--b--',
  )
  t.match(await parts(patient, raw), {
    text: null,
    html: null,
    attachments: [
      { filename: 'winmail.dat', content_type: 'application/ms-tnef', size: tnef.length },
      { filename: null, content_type: 'message/rfc822' },
    ],
  })
  const bytes = async (place: number): Promise<string | null> => {
    const found = await patient.readAttachment('ws_1', () => Buffer.from(raw), place)
    return found.kind === 'attachment' ? found.bytes.toString('latin1') : null
  }
  t.equal(await bytes(0), tnef.toString('latin1'), 'as it is')
  t.equal(await bytes(1), [...inner, ...innermost].join('\r\n'))
  t.equal(await bytes(2), null)
})

t.test('empty, missing and malformed headers and boundaries hide nothing', async (t) => {
  const text = async (...all: readonly string[]): Promise<string | null> => (await parts(patient, lines(...all))).text
  t.equal(await text('', 'just a body'), 'just a body')
  t.equal(await text('Subject:', 'From:', 'Content-Type:', 'Content-Transfer-Encoding:', '', 'body'), 'body')
  t.equal(await text('Content-Type: nonsense', '', 'body'), 'body')
  t.match(await parts(patient, 'Subject: no end'), { headers: [{ name: 'Subject', value: 'no end' }], text: null })
  t.equal(await text('no colon here', 'Subject: x', '', 'body'), 'no colon here\nSubject: x\n\nbody')
  t.equal(await text('Content-Type: multipart/mixed', '', '--x', '', 'body'), '--x\n\nbody')
  t.equal(await text('Content-Type: multipart/mixed; boundary=""', '', '--', '', 'body'), '--\n\nbody')
  t.equal(await text('Content-Type: multipart/mixed; boundary=never', '', 'body'), 'body')
  t.equal(
    await text('Content-Type: multipart/mixed; boundary=b', '', '--b', '', 'body without an end'),
    'body without an end\n',
  )
  t.equal(
    await text('Content-Type: multipart/mixed; boundary=b', '', '--b', '', '', '--b--'),
    null,
    'nothing is nothing',
  )
})

t.test('a text is generated from HTML for display only', async (t) => {
  const html = lines('Content-Type: text/html', '', '<style>p{}</style><p>Hello <b>you</b></p><script>x</script>')
  const read = async (raw: string): Promise<Record<'html' | 'text', unknown>> => {
    const result = await patient.readForDisplay('ws_1', () => Buffer.from(raw))
    if (result.kind === 'unreadable') throw new Error(result.message)
    const parsed = (body: Buffer | null): unknown => (body === null ? null : JSON.parse(body.toString()))
    return { html: parsed(result.parts.html), text: parsed(result.parts.text) }
  }
  t.match(await read(html), { text: 'Hello you', html: /<b>you/ })
  t.equal((await parts(patient, html)).text, null)
  const both = lines(
    'Content-Type: multipart/alternative; boundary=b',
    '',
    '--b',
    '',
    'own',
    '--b',
    'Content-Type: text/html',
    '',
    '<p>x</p>',
    '--b--',
  )
  t.match(await read(both), { text: 'own' })
  const empty = lines('Content-Type: text/html', '', '<p><img src=x></p>')
  t.match(await read(empty), { text: null, html: /img/ })
  const long = `x${'\u{1f600}"\\\t\u00e9'.repeat(30_000)}`
  const utf8 = lines('Content-Type: text/plain; charset=utf-8', 'Content-Transfer-Encoding: 8bit', '', long)
  t.equal((await read(utf8)).text, long, 'pieces of a long body cut no character')
})

const nested = (depth: number): string =>
  lines(
    ...Array.from({ length: depth }, (_, n) => `Content-Type: multipart/mixed; boundary=b${n}\r\n\r\n--b${n}`),
    'Content-Type: text/plain',
    '',
    'deep down',
  )
const manyParts = (count: number): string =>
  lines('Content-Type: multipart/mixed; boundary=b', '', ...Array<string>(count).fill('--b\r\n\r\nx'), '--b--')

const small = Buffer.from(lines('Subject: x', '', 'a line'))

/** Hostile messages; each gets an answer, with the limits of the daemon. */
const bombs: Readonly<Record<string, Buffer>> = {
  'multiparts 2,000 deep': Buffer.from(nested(2_000)),
  '20,000 parts': Buffer.from(manyParts(20_000)),
  'a header of 1 MB': Buffer.from(lines(`X-Long: ${'x'.repeat(1_048_576)}`, '', 'a line')),
  'an address field of 1 MB': Buffer.from(lines(`From: ${'a@b.test, '.repeat(100_000)}`, '', 'a line')),
  '50,000 encoded words': Buffer.from(lines(`Subject: ${'=?utf-8?q?=41?= '.repeat(50_000)}`, '', 'a line')),
  '20,000 header fields': Buffer.from(lines(...Array<string>(20_000).fill('X: y'), '', 'a line')),
  '40,000 parameters': Buffer.from(
    lines(`Content-Type: text/plain; ${Array.from({ length: 40_000 }, (_, n) => `a*${n}*=x`).join('; ')}`, '', 'x'),
  ),
  '800 KB of nested tables': Buffer.from(lines('Content-Type: text/html', '', '<table><tr><td>'.repeat(55_000), '')),
  '990 attachments': Buffer.from(
    lines(
      'Content-Type: multipart/mixed; boundary=b',
      '',
      ...Array<string>(990).fill('--b\r\nContent-Type: image/png\r\n\r\nx'),
      '--b--',
    ),
  ),
  'messages in messages, 5,000 deep': Buffer.from(
    lines(...Array<string>(5_000).fill('Content-Type: message/rfc822\r\n')),
  ),
  'a header of 1 MB in short folds': Buffer.from(lines(`X-Long: x${'\r\n x'.repeat(262_000)}`, '', 'a line')),
  'links without end': Buffer.from(lines('Subject: x', '', 'xn--a.'.repeat(150_000), '@'.repeat(500_000))),
  noise: Buffer.from(Array.from({ length: 200_000 }, (_, n) => (n * n * 31 + (n >> 3)) % 256)),
}

t.test('hostile messages get an answer, and the next one is parsed', async (t) => {
  const from = patient
  for (const [name, raw] of Object.entries(bombs)) {
    const result = await from.read('ws_1', () => raw)
    t.ok(
      result.kind === 'parts' || result.why === 'broken',
      `${name}: ${result.kind === 'parts' ? 'read' : result.message}`,
    )
    t.equal((await parts(from, lines('Subject: x', '', 'a line'))).text, 'a line')
  }
})

/** With two running processes: starting one may take longer than what a test parses. */
async function startProcesses(from: MimeReader): Promise<MimeReader> {
  await Promise.all(['first', 'second'].map((workspace) => from.read(workspace, () => small)))
  return from
}

t.test('while bombs occupy a process, messages of other workspaces are parsed', async (t) => {
  const from = await startProcesses(reader(t))
  const order: string[] = []
  const all = Object.entries(bombs).flatMap(([name, raw]) => [
    from.readForDisplay('bomber', () => raw).then(({ kind }) => order.push(`bomb ${name} ${kind}`)),
    from.readAttachment('bomber', () => raw, 0).then(({ kind }) => order.push(`bomb ${name} ${kind}`)),
  ])
  for (let n = 0; n < 3; n += 1) {
    const result = await from.read('other', () => small)
    t.match(result, { kind: 'parts', parts: { text: 'a line' } })
    order.push('other')
  }
  await Promise.all(all)
  t.equal(order.length, all.length + 3, 'each of them is answered')
  t.match(order.at(-1), /^bomb/, 'who wrote one line did not wait for all of that')
})

/** Two million empty lines take far longer than the limit of the test. */
const slow = Buffer.from(lines('Subject: slow', '', '\r\n'.repeat(2_000_000)))

/** Its text is a string of 60 MB, since each of its octets becomes two. */
const hungry = Buffer.from(
  lines('Content-Type: text/plain; charset=koi8-r', '', `${'\xf0'.repeat(998)}\r\n`.repeat(30_000)),
  'latin1',
)

t.test('a message has a time limit, and the process that it occupied is replaced', async (t) => {
  const from = reader(t, { time: 50, timePerMegabyte: 0, processes: 1 })
  t.match(await from.read('ws_1', () => slow), { kind: 'unreadable', why: 'time' })
  t.equal((await parts(patient, lines('Subject: x', '', 'a line'))).text, 'a line')
  t.match(await from.read('ws_1', () => slow), { kind: 'unreadable', why: 'time' }, 'as often as it takes')
})

t.test('a message has a memory limit, and the process that it filled is replaced', async (t) => {
  const from = reader(t, { memory: 48, processes: 1 })
  t.match(await from.read('ws_1', () => hungry), { kind: 'unreadable', why: 'memory' })
  t.equal((await parts(from, lines('Subject: x', '', 'a line'))).text, 'a line')
})

t.test('a workspace cannot have all processes, nor wait with more than its share', async (t) => {
  const from = await startProcesses(reader(t, { processes: 2, maxWaiting: 3, maxWaitingPerWorkspace: 3 }))
  const done: string[] = []
  const read = async (workspace: string, raw: Buffer): Promise<void> => {
    await from.read(workspace, () => raw)
    done.push(workspace)
  }
  const own = [read('bomber', slow), read('bomber', slow), read('bomber', slow)]
  const other = read('other', small)
  const fourth = read('bomber', small)
  await t.rejects(
    read('bomber', small),
    { name: 'Refusal', kind: 'rate-limited', details: { retry_after: 1 } },
    'its share is used up',
  )
  await t.resolves(read('other', small), 'which is not the share of others')
  await other
  t.same(done, ['other', 'other'], 'who does not wait for the bombs of another')
  await Promise.all([...own, fourth])
})

t.test('if the queue is full, a workspace without a waiting message still gets one slot, and no second', async (t) => {
  const from = reader(t, { processes: 1, maxWaiting: 2 })
  const read = (workspace: string): Promise<unknown> => from.read(workspace, () => small)
  const taken = [read('first'), read('first'), read('first')]
  const placed = read('second')
  await t.rejects(read('second'), { name: 'Refusal', kind: 'unavailable' })
  await t.rejects(read('first'), { name: 'Refusal', kind: 'unavailable' })
  await t.resolves(Promise.all([...taken, placed]))
})

t.test('turns go round the workspaces, whatever the order and number of their messages', async (t) => {
  const from = reader(t, { processes: 1 })
  const turns: string[] = []
  const read = (workspace: string): Promise<unknown> =>
    from.read(workspace, () => {
      turns.push(workspace)
      return undefined
    })
  await Promise.all(['a', 'a', 'a', 'a', 'b', 'b', 'b', 'c'].map(read))
  t.equal(turns.join(''), 'aabcabab')
})

t.test('a workspace may request as many emails at once as any plan allows, and more wait in total', async (t) => {
  const from = reader(t, { processes: 1 })
  const asked = Array.from({ length: 10_000 }, (_, n) => from.read(`ws_${n % 10}`, () => undefined))
  await t.resolves(Promise.all(asked))
})

t.test('a message whose bytes are gone is reported as gone; a fault of the source stays its own', async (t) => {
  const from = reader(t, { processes: 1 })
  t.match(await from.read('ws_1', () => undefined), { kind: 'unreadable', why: 'gone' })
  const fault = from.read('ws_1', () => {
    throw new Error('the disk')
  })
  await t.rejects(fault, { message: 'the disk' })
  t.equal((await parts(from, lines('Subject: x', '', 'a line'))).text, 'a line')
})

t.test('closing leaves no request waiting', async (t) => {
  const from = new MimeReader({ ...defaultMimeLimits, processes: 1 })
  const outcomes = Promise.allSettled([from.read('ws_1', () => slow), from.read('ws_1', () => slow)])
  await from.close()
  const [first, second] = await outcomes
  t.match(first, { value: { kind: 'unreadable' } })
  t.match(second, { reason: { kind: 'unavailable' } })
  await t.rejects(
    from.read('ws_1', () => slow),
    Refusal,
  )
})

t.test('the analysis of a room above runs in the process, and its failure stays there', async (t) => {
  const reader = new MimeReader({ ...defaultMimeLimits, time: 500, memory: 64, processes: 1 }, contentAnalyzer)
  t.teardown(() => reader.close())
  const raw = Buffer.from('From: a@b.test\r\nSubject: hello\r\n\r\ntext\r\n')
  const analyzed = (facts: string) => reader.analyze('ws_1', () => raw, facts)
  t.match(await analyzed('count'), {
    kind: 'analyzed',
    summary: { hasText: true },
    analysis: { bytes: raw.length, facts: 'count' },
  })
  for (const facts of ['throw', 'hang', 'fill']) {
    t.match(await analyzed(facts), { kind: 'analyzed', summary: { hasText: true }, analysis: null }, facts)
  }
  t.match(await analyzed('count'), { analysis: { facts: 'count' } }, 'the next message has a process')
  t.match(await reader.analyze('ws_1', () => undefined, ''), { kind: 'unreadable', why: 'gone' })
})

t.test(
  'a message that ends its process does so twice at most, and the others of its workspace have their turns',
  async (t) => {
    const reader = new MimeReader({ ...defaultMimeLimits, time: 3_000, memory: 64 }, contentAnalyzer)
    t.teardown(() => reader.close())
    const raw = Buffer.from('From: a@b.test\r\nSubject: hello\r\n\r\ntext\r\n')
    const asked = [
      'die',
      'one',
      'two',
      'three',
      'fill',
      'four',
      'hang',
      'five',
      'throw',
      'six',
      'die',
      'die',
      'die',
      'die',
    ]
    const reads = asked.map(() => 0)
    const done: string[] = []
    const results = await Promise.all(
      asked.map(async (facts, place) => {
        const source = (): Buffer => {
          reads[place] = (reads[place] ?? 0) + 1
          return Buffer.from(raw)
        }
        const result = await reader.analyze('ws_1', source, facts, raw.length)
        done.push(facts)
        return result.kind === 'analyzed' ? result.analysis : result.kind
      }),
    )
    t.match(
      results,
      asked.map((facts) => (/^(die|fill|hang|throw)$/.test(facts) ? null : { facts })),
    )
    t.ok(Math.max(...reads) <= 2, JSON.stringify(reads))
    t.same(done, asked, 'in their order')
  },
)
