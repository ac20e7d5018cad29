import fc from 'fast-check'
import t from 'tap'
import { findFields, type Header, readFieldValue, scanHeader, spliceHeader } from '../../src/mail/header-fields.js'
import { decodeHeaderText } from '../../src/mail/header-text.js'
import { isUnambiguous, parseMailboxList, parseSimpleMailbox, truncateList } from '../../src/mail/mailbox-list.js'
import { formatMessageDate } from '../../src/mail/message-date.js'
import { createMessageId, isMessageId } from '../../src/mail/message-id.js'
import { oddMessages } from '../fixtures/odd-messages.js'

function scanText(text: string): { readonly fields: readonly [string, string][]; readonly body: string | null } {
  const raw = Buffer.from(text)
  const header = scanHeader(raw)
  const fields = header.fields.map((field): [string, string] => [field.name, readFieldValue(raw, field)])
  return { fields, body: header.bodyStart === header.end ? null : raw.toString('utf8', header.bodyStart) }
}

t.test('fields are found with their folded lines', (t) => {
  t.strictSame(scanText('From: a\r\nSUBJECT :  b\r\n c\r\n\td \r\nX-Empty:\r\n\r\nbody: x\r\n'), {
    fields: [
      ['from', 'a'],
      ['subject', 'b c\td'],
      ['x-empty', ''],
    ],
    body: 'body: x\r\n',
  })
  t.end()
})

t.test('offsets are those of the bytes', (t) => {
  const raw = Buffer.from('A: 1\r\nBc \t:\r\n 2\r\n\r\nx')
  t.strictSame(scanHeader(raw), {
    fields: [
      { name: 'a', start: 0, colon: 1, end: 6 },
      { name: 'bc', start: 6, colon: 10, end: 17 },
    ],
    end: 17,
    bodyStart: 19,
  })
  t.end()
})

t.test('the header ends at an empty line, at the end, or at a line that is no field', (t) => {
  const cases: Record<string, { readonly names: string; readonly end: number; readonly bodyStart: number }> = {
    '': { names: '', end: 0, bodyStart: 0 },
    '\r\n': { names: '', end: 0, bodyStart: 2 },
    '\r\nA: 1\r\n': { names: '', end: 0, bodyStart: 2 },
    'A: 1': { names: 'a', end: 4, bodyStart: 4 },
    'A: 1\r\n': { names: 'a', end: 6, bodyStart: 6 },
    'A: 1\r\n\r\n': { names: 'a', end: 6, bodyStart: 8 },
    'A: 1\r\n \r\n\r\n': { names: 'a', end: 9, bodyStart: 11 },
    'A: 1\r\nno field\r\nB: 2\r\n': { names: 'a', end: 6, bodyStart: 6 },
    'A: 1\r\n: no name\r\n': { names: 'a', end: 6, bodyStart: 6 },
    'A: 1\r\nA b: no name\r\n': { names: 'a', end: 6, bodyStart: 6 },
    'A: 1\r\nÄ: no name\r\n': { names: 'a', end: 6, bodyStart: 6 },
    ' continues nothing\r\nA: 1\r\n': { names: '', end: 0, bodyStart: 0 },
    'A: 1\n\nbare': { names: 'a', end: 5, bodyStart: 6 },
  }
  for (const [text, { names, ...offsets }] of Object.entries(cases)) {
    const { fields, end, bodyStart } = scanHeader(Buffer.from(text))
    t.strictSame({ end, bodyStart }, offsets, JSON.stringify(text))
    t.equal(fields.map(({ name }) => name).join(), names, JSON.stringify(text))
  }
  t.end()
})

t.test('a header without measure is refused', (t) => {
  t.equal(scanHeader(Buffer.from('a:\r\n'.repeat(10_000))).fields.length, 10_000)
  t.throws(() => scanHeader(Buffer.from('a:\r\n'.repeat(10_001))), { name: 'Refusal', kind: 'malformed-message' })
  t.end()
})

t.test('values are UTF-8, or Latin-1 where they are not', (t) => {
  const raw = Buffer.concat([Buffer.from('A: Grüße\r\nB: '), Buffer.from([0x47, 0xfc]), Buffer.from('\r\n')])
  t.strictSame(
    scanHeader(raw).fields.map((field) => readFieldValue(raw, field)),
    ['Grüße', 'Gü'],
  )
  t.end()
})

t.test('splicing removes and adds whole lines and keeps every other byte', (t) => {
  const raw = Buffer.from('A: 1\r\nBcc: x\r\n y\r\nC: 3\r\nbcc: z\r\n\r\nbody \r\n')
  const header = scanHeader(raw)
  const remove = findFields(header, 'bcc').toReversed()
  t.equal(remove.length, 2)
  const splice = { remove, prepend: 'R: ü\r\n', append: 'D: 4\r\n' }
  t.equal(spliceHeader(raw, header, splice).toString(), 'R: ü\r\nA: 1\r\nC: 3\r\nD: 4\r\n\r\nbody \r\n')
  t.equal(spliceHeader(raw, header, {}).toString(), raw.toString())
  t.end()
})

t.test('splicing writes the line ends that are missing', (t) => {
  const cases: Record<string, string> = {
    '': 'P: p\r\nE: e\r\n',
    '\r\nbody': 'P: p\r\nE: e\r\n\r\nbody',
    'A: 1': 'P: p\r\nA: 1\r\nE: e\r\n',
    'A: 1\r\nbody': 'P: p\r\nA: 1\r\nE: e\r\n\r\nbody',
    ' body': 'P: p\r\nE: e\r\n\r\n body',
  }
  for (const [text, wanted] of Object.entries(cases)) {
    const raw = Buffer.from(text)
    const made = spliceHeader(raw, scanHeader(raw), { prepend: 'P: p\r\n', append: 'E: e\r\n' })
    t.equal(made.toString(), wanted, JSON.stringify(text))
  }
  t.end()
})

function coversAll(raw: Buffer, { fields, end, bodyStart }: Header): boolean {
  const ends = [0, ...fields.map((field) => field.end)]
  const ordered = fields.every(({ start, colon, end }, at) => start === ends[at] && start < colon && colon < end)
  return ordered && ends.at(-1) === end && bodyStart >= end && bodyStart <= end + 2 && bodyStart <= raw.length
}

t.test('fields lie side by side, whatever the bytes', (t) => {
  for (const { raw } of oddMessages(200, 3)) t.ok(coversAll(raw, scanHeader(raw)))
  const bytes = fc.array(fc.constantFrom('a', 'B:', ':', ' ', '\t', '\r\n', '\r', '\n', '\0', 'ü', '\r\n\r\n'))
  const property = fc.property(bytes, (parts) => {
    const raw = Buffer.from(parts.join(''))
    const header = scanHeader(raw)
    t.ok(coversAll(raw, header))
    t.ok(spliceHeader(raw, header, {}).includes(raw.subarray(header.end)))
    for (const field of header.fields) t.notMatch(readFieldValue(raw, field), /\n/)
  })
  fc.assert(property, { numRuns: 200, seed: 11 })
  t.end()
})

const words = { japanese: `=?ISO-2022-JP?B?${Buffer.from('\x1b$B%F%9%H\x1b(B').toString('base64')}?=` }

t.test('encoded words are decoded', (t) => {
  t.equal(decodeHeaderText('=?windows-1252*en?Q?=80_5?= =?iso-8859-1?q?_=93=E9=94?='), '€ 5 “é”')
  const cases: Record<string, string> = {
    plain: 'plain',
    '=?utf-8?Q?Gr=C3=BC=C3=9Fe?=': 'Grüße',
    '=?UTF-8?b?R3LDvMOfZQ==?= you': 'Grüße you',
    '=?iso-8859-1?q?=FCber_alles?=': 'über alles',
    '=?ISO-8859-15*de?q?=A4?=': '€',
    '=?utf-8?q?a?= =?utf-8?q?b?=  c =?utf-8?q?d?=': 'ab  c d',
    '=?utf-8?q?=C3?= =?utf-8?q?=BC?=': 'ü',
    '=?utf-8?b?w7w=?=\t=?iso-8859-1?q?=FC?=': 'üü',
    '=?iso-2022-jp?B?GyRCJDMkcxsoQg==?=': 'こん',
    '=?utf-8?q?with blanks=21?=': 'with blanks!',
    '=?utf-8?q?bare ü=C3=BC?=': 'bare üü',
    '=?no-such?q?a?= =?utf-8?q?b?=': '=?no-such?q?a?= b',
    '=?utf-8?x?a?=': '=?utf-8?x?a?=',
    '=?utf-8?q?a=0D=0ABcc:_b?=': 'a Bcc: b',
    '=?utf-8?q?a=00=7F=E2=80=AEb?=': 'a b',
    '=?utf-8?q?=FF=ED=A0=80?=': '\ufffd'.repeat(4),
    'a=?utf-8?q?b?=c': 'abc',
    [`${words.japanese} ${words.japanese}`]: 'テストテスト',
    [`${words.japanese}\t=?iso-2022-jp?Q?=1B$B$3=1B(B_x?=`]: 'テストこ x',
    '=?utf8?q?=C3?= =?UTF-8?q?=BC?=': 'ü',
    '=?iso-8859-1?q?Fr\xf6sche?=': 'Frösche',
    '=?koi8-r?q?\xf0=D2?= =?utf-8?q?Fr\xc3\xb6?=': 'ПрFrö',
    '=?iso-8859-1?q?€_=E4?=': '€ ä',
  }
  for (const [source, wanted] of Object.entries(cases)) t.equal(decodeHeaderText(source), wanted, source)
  t.end()
})

t.test('texts are cut at 2,000 characters, not inside one', (t) => {
  t.equal(decodeHeaderText('x'.repeat(3000)).length, 2000)
  t.equal(decodeHeaderText(`x${'😀'.repeat(1500)}`).length, 1999)
  t.end()
})

t.test('a text fits one line of JSON and of a log, whatever came', (t) => {
  const unit = fc.constantFrom(
    '=?utf-8?q?',
    '=?utf-8?b?',
    '?=',
    '=0A',
    '=C3',
    '_',
    ' ',
    'AAo',
    '\n',
    '\u2028',
    '?',
    'ü',
  )
  const property = fc.property(fc.string({ unit }), (source) => {
    const text = decodeHeaderText(source)
    // biome-ignore lint/suspicious/noControlCharactersInRegex: these must be gone
    t.notMatch(text, /[\x00-\x1f\x7f\u2028]/)
    t.equal(Buffer.from(text).toString(), text)
  })
  fc.assert(property, { numRuns: 300, seed: 5 })
  t.end()
})

t.test('a list of authors is one that everybody reads alike, or it is not', (t) => {
  const clear = [
    'a@b.test',
    '<a@b.test>',
    '"x, y" <a@b.test>',
    'Joe Q. Public <a@b.test> (at home)',
    '=?utf-8?Q?a=2C_b?= <a@b.test>',
    'A <a@b.test>, B <c@d.test>',
    'Team: a@b.test, c@d.test;',
    '"one (of <two" <a@b.test>',
    'me@s.test <me@s.test>',
    'Ünï <a@b.test>',
  ]
  const unclear = [
    'me@s.test victim@bank.test',
    '<me@s.test> <victim@bank.test>',
    '<me@s.test> victim@bank.test',
    'me <me@s.test> and others',
    'A <a@b.test',
    'a@b@c.test',
    '<a@b c>',
    'nobody',
    '(<c@d.test>',
    'a "b <c@d.test>',
  ]
  for (const value of clear) t.equal(isUnambiguous(value), true, value)
  for (const value of unclear) t.equal(isUnambiguous(value), false, value)
  const unit = fc.constantFrom('a@b.test', '<', '>', ' ', ',', 'x', '<c@d.test>', ':', ';')
  const property = fc.property(fc.array(unit), (parts) => {
    const value = parts.join('')
    if (!isUnambiguous(value)) return
    for (const { name } of parseMailboxList(value)) if (name.includes('<')) throw new Error(`${value} hides ${name}`)
  })
  fc.assert(property, { numRuns: 500, seed: 7 })
  t.end()
})

t.test('the short way for simple mailboxes gives what the long way gives', (t) => {
  t.strictSame(parseSimpleMailbox('Some One <Some.One+x@b.test>'), { address: 'Some.One+x@b.test', name: 'Some One' })
  t.strictSame(parseSimpleMailbox('a@B.test'), { address: 'a@b.test', name: '' })
  for (const value of [
    '',
    'a@b.test, c@d.test',
    '"a" <a@b.test>',
    'a (x) <a@b.test>',
    '=?utf-8?q?x?= <a@b.test>',
    '<a@b@c>',
  ])
    t.equal(parseSimpleMailbox(value), null, value)
  const unit = fc.constantFrom(
    'a',
    'B.c',
    '@',
    'b.test',
    '<',
    '>',
    ' ',
    '-',
    '+',
    '=?',
    '?=',
    '%',
    'x@y.test',
    '<x@y.test>',
    "'",
    '/',
    '!',
  )
  const property = fc.property(fc.array(unit, { maxLength: 8 }), (parts) => {
    const value = parts.join('').trim()
    const simple = parseSimpleMailbox(value)
    if (simple === null) return
    // A blank behind it is all that keeps the short way from being taken.
    t.strictSame([simple], parseMailboxList(`${value} `), value)
    t.ok(isUnambiguous(value), value)
  })
  fc.assert(property, { numRuns: 20_000, seed: 3 })
  t.end()
})

t.test('mailboxes come out of lists, groups and comments', (t) => {
  t.strictSame(
    parseMailboxList('"Müller, A" <a@Example.TEST>, b@example.test (Bob), =?utf-8?q?=2C_x?= <c@bücher.test>'),
    [
      { address: 'a@example.test', name: 'Müller, A' },
      { address: 'b@example.test', name: 'Bob' },
      { address: 'c@xn--bcher-kva.test', name: ', x' },
    ],
  )
  t.strictSame(parseMailboxList('undisclosed-recipients:;'), [])
  t.strictSame(
    parseMailboxList('team: a@example.test, "B" <b@example.test>;, c@example.test').map(({ address }) => address),
    ['a@example.test', 'b@example.test', 'c@example.test'],
  )
  t.strictSame(parseMailboxList(''), [])
  t.end()
})

t.test('what is no address is shown as such, never dropped', (t) => {
  t.strictSame(
    parseMailboxList('a@example.test, nobody, <b@@example.test>, c@[192.0.2.1]').map(({ address }) => address),
    ['a@example.test', null, null, null],
  )
  t.end()
})

t.test('an encoded word adds no address', (t) => {
  const list = parseMailboxList('=?utf-8?q?evil=40example.net=3E=2C?= <a@example.test>')
  t.strictSame(list, [{ address: 'a@example.test', name: 'evil@example.net>,' }])
  t.end()
})

t.test('lists without measure are refused', (t) => {
  const most = `${'a@b.test,'.repeat(908)}c@test,d@test`.padEnd(8192, ' ')
  t.equal(most.length, 8192)
  t.equal(parseMailboxList(most).length, 910)
  t.ok(isUnambiguous(most))
  for (const read of [parseMailboxList, isUnambiguous]) {
    t.throws(() => read(`${most} `), { name: 'Refusal', kind: 'malformed-message' })
    t.throws(() => read(`"${'x'.repeat(8192)}" <a@b.test>`), { name: 'Refusal', kind: 'malformed-message' })
  }
  t.equal(truncateList(most), most)
  t.equal(truncateList(`${most}, "e, f" <e@b.test>`), most, 'whole entries')
  t.equal(truncateList(`"${'x'.repeat(8192)}" <a@b.test>`), '')
  t.end()
})

/** What `isUnambiguous` made of quoted strings, comments and encoded words before it was a scanner. */
function unambiguousByExpression(value: string): boolean {
  const words = /"(?:[^"\\]|\\.)*"|\((?:[^()\\]|\\.)*\)|=\?[^?\s]*\?[bq]\?[^?\s]*\?=/gi
  const plain = value.replace(words, (word) => (word.startsWith('(') ? ' ' : 'w'))
  return !/["(]/.test(plain) && isUnambiguous(plain)
}

t.test('quoted strings, comments and encoded words are found in one pass as an expression finds them', (t) => {
  const unit = fc.constantFrom(
    '"',
    '(',
    ')',
    '\\',
    '=?',
    '?q?',
    '?b?',
    '?=',
    'x',
    ' ',
    '<',
    '>',
    ',',
    'a@b.test',
    '<c@d.test>',
  )
  const property = fc.property(fc.array(unit, { maxLength: 14 }), (parts) => {
    const value = parts.join('')
    t.equal(isUnambiguous(value), unambiguousByExpression(value), value)
  })
  fc.assert(property, { numRuns: 5_000, seed: 11 })
  t.end()
})

t.test('any list parses into addresses and names', (t) => {
  const unit = fc.constantFrom(
    'a',
    '@',
    'b.test',
    '<',
    '>',
    ',',
    ';',
    ':',
    '"',
    '(',
    ')',
    '\\',
    ' ',
    '=?utf-8?q?',
    '?=',
    'ü',
  )
  const property = fc.property(fc.string({ unit, maxLength: 60 }), (value) => {
    for (const { address, name } of parseMailboxList(value)) {
      t.ok(address === null || /^\S.*@[a-z0-9._-]+$/u.test(address), address ?? '')
      t.type(name, 'string')
    }
  })
  fc.assert(property, { numRuns: 300, seed: 9 })
  t.end()
})

t.test('dates are those of RFC 5322 in UTC', (t) => {
  t.equal(formatMessageDate(Date.UTC(2026, 10, 21, 1, 2, 3, 999)), 'Sat, 21 Nov 2026 01:02:03 +0000')
  t.equal(formatMessageDate(0), 'Thu, 01 Jan 1970 00:00:00 +0000')
  t.end()
})

t.test('message ids are made and recognised', (t) => {
  const made = createMessageId('0193a111-2222-7333-8444-555566667777', 'mail.example.test')
  t.equal(made, '<0193a111-2222-7333-8444-555566667777@mail.example.test>')
  for (const id of [made, '<a.b+c=d@e>', '<"x"@[10.0.0.1]>', '<ü@bücher.test>', '<a..b@c>']) t.ok(isMessageId(id), id)
  const wrong = ['', '<>', 'a@b', '<a>', '<a@b', '<a@@b>', '<a b@c>', '<a@b>\r\nX: y', '<a@b> ', '<a@b><c@d>', '<\0@b>']
  for (const id of [...wrong, `<${'x'.repeat(500)}@b>`]) t.notOk(isMessageId(id), JSON.stringify(id))
  t.end()
})
