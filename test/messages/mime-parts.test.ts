/** Messages taken apart in threads: what comes of good ones, of hostile ones, and who waits for whom. */
import t, { type Test } from 'tap'
import { Refusal } from '../../src/mail/refusal.js'
import { defaultMimeLimits, type MimeLimits, MimeReader } from '../../src/messages/mime-parts.js'
import type { MimeParts } from '../../src/messages/mime-parts-protocol.js'

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

t.test('a message is taken apart: bodies, fields in their order, what is attached', async (t) => {
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

t.test('a message has the bodies that it has', async (t) => {
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

const nested = (depth: number): string =>
  lines(
    ...Array.from({ length: depth }, (_, n) => `Content-Type: multipart/mixed; boundary=b${n}\r\n\r\n--b${n}`),
    'Content-Type: text/plain',
    '',
    'deep down',
  )
const manyParts = (count: number): string =>
  lines('Content-Type: multipart/mixed; boundary=b', '', ...Array<string>(count).fill('--b\r\n\r\nx'), '--b--')

/** What hostile messages are made of; each is answered, and the limits are those of the daemon. */
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
  'links without end': Buffer.from(lines('Subject: x', '', 'xn--a.'.repeat(150_000), '@'.repeat(500_000))),
  noise: Buffer.from(Array.from({ length: 200_000 }, (_, n) => (n * n * 31 + (n >> 3)) % 256)),
}

t.test('hostile messages are answered, and the next one is read', async (t) => {
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

/** Two million empty lines take far longer than the limit that the test sets. */
const slow = Buffer.from(lines('Subject: slow', '', '\r\n'.repeat(2_000_000)))

/** Each of its escapes becomes a number, and each number an object of the heap. */
const hungry = Buffer.from(
  lines('Content-Type: text/plain; charset=iso-2022-jp', '', '\x1b$B$3$s'.repeat(1_000_000)),
  'latin1',
)

t.test('a message has its time, and the thread that it held is replaced', async (t) => {
  const from = reader(t, { time: 50, threads: 1 })
  t.match(await from.read('ws_1', () => slow), { kind: 'unreadable', why: 'time' })
  t.equal((await parts(patient, lines('Subject: x', '', 'a line'))).text, 'a line')
  t.match(await from.read('ws_1', () => slow), { kind: 'unreadable', why: 'time' }, 'as often as it takes')
})

t.test('a message has its memory, and the thread that it filled is replaced', async (t) => {
  const from = reader(t, { memory: 48, threads: 1 })
  t.match(await from.read('ws_1', () => hungry), { kind: 'unreadable', why: 'memory' })
  t.equal((await parts(from, lines('Subject: x', '', 'a line'))).text, 'a line')
})

const small = Buffer.from(lines('Subject: x', '', 'a line'))

t.test('one party cannot have all threads, nor wait with more than its share', async (t) => {
  const from = reader(t, { threads: 2, waiting: 3, waitingOfParty: 3 })
  const done: string[] = []
  const read = async (party: string, raw: Buffer): Promise<void> => {
    await from.read(party, () => raw)
    done.push(party)
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

t.test('where all places are taken, a party of which nothing waits has one still, and no second', async (t) => {
  const from = reader(t, { threads: 1, waiting: 2 })
  const read = (party: string): Promise<unknown> => from.read(party, () => small)
  const taken = [read('first'), read('first'), read('first')]
  const placed = read('second')
  await t.rejects(read('second'), { name: 'Refusal', kind: 'unavailable' })
  await t.rejects(read('first'), { name: 'Refusal', kind: 'unavailable' })
  await t.resolves(Promise.all([...taken, placed]))
})

t.test('the turn goes round among the parties, whoever came first with however many', async (t) => {
  const from = reader(t, { threads: 1 })
  const turns: string[] = []
  const read = (party: string): Promise<unknown> =>
    from.read(party, () => {
      turns.push(party)
      return undefined
    })
  await Promise.all(['a', 'a', 'a', 'a', 'b', 'b', 'b', 'c'].map(read))
  t.equal(turns.join(''), 'aabcabab')
})

t.test('a workspace may ask for as many emails at once as any plan lets it, and more wait of all', async (t) => {
  const from = reader(t, { threads: 1 })
  const asked = Array.from({ length: 10_000 }, (_, n) => from.read(`ws_${n % 10}`, () => undefined))
  await t.resolves(Promise.all(asked))
})

t.test('a message whose bytes are gone is said to be gone; a fault of the source is its own', async (t) => {
  const from = reader(t, { threads: 1 })
  t.match(await from.read('ws_1', () => undefined), { kind: 'unreadable', why: 'gone' })
  const fault = from.read('ws_1', () => {
    throw new Error('the disk')
  })
  await t.rejects(fault, { message: 'the disk' })
  t.equal((await parts(from, lines('Subject: x', '', 'a line'))).text, 'a line')
})

t.test('closing leaves nobody waiting', async (t) => {
  const from = new MimeReader({ ...defaultMimeLimits, threads: 1 })
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
