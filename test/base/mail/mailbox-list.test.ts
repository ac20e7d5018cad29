/** Mailboxes and lists of them (RFC 5322). */

import fc from 'fast-check'
import { DkimVerifier } from 'mailauth/lib/dkim/dkim-verifier.js'
import t from 'tap'
import {
  findAuthor,
  isUnambiguous,
  parseAuthors,
  parseMailboxList,
  parseSimpleMailbox,
  truncateList,
} from '../../../src/base/mail/mailbox-list.js'

t.test('a list of authors that readers may interpret differently is ambiguous', (t) => {
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
    'Ann (a (nested (deep)) b) <a@b.test>',
    'a@b.test (a (nested \\) b) c)',
    '(x (y)) a@b.test',
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
    'Ann (a (nested) <c@d.test>) <a@b.test>',
    'Ann (a (nested) b <a@b.test>',
    'a@b.test (a (x), c@d.test)',
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
  fc.assert(property)
  t.end()
})

t.test('the fast parser of simple mailboxes gives the result of the full parser', (t) => {
  t.strictSame(parseSimpleMailbox('Some One <Some.One+x@b.test>'), { address: 'Some.One+x@b.test', name: 'Some One' })
  t.strictSame(parseSimpleMailbox('a@B.test'), { address: 'a@b.test', name: '' })
  t.strictSame(parseSimpleMailbox('"One, Some A." <a@b.test>'), { address: 'a@b.test', name: 'One, Some A.' })
  for (const value of [
    '',
    'a@b.test, c@d.test',
    '"a\\"b" <a@b.test>',
    '"a" b <a@b.test>',
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
    '"',
    '" ',
    ',',
    '/',
    '!',
  )
  const property = fc.property(fc.array(unit, { maxLength: 8 }), (parts) => {
    const value = parts.join('').trim()
    const simple = parseSimpleMailbox(value)
    if (simple === null) return
    // The space after it is all that keeps the fast parser from being used.
    t.strictSame([simple], parseMailboxList(`${value} `), value)
    t.ok(isUnambiguous(value), value)
  })
  fc.assert(property)
  t.end()
})

t.test('mailboxes are found in lists, groups and comments', (t) => {
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

t.test('an invalid address is shown as such, never dropped', (t) => {
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

t.test('lists beyond the limits are refused', (t) => {
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

t.test('one pass over quoted strings, comments and encoded words finds what the expression finds', (t) => {
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
    // The expression refuses each nested comment.
    if (/\([^)]*\(/.test(value)) t.ok(!unambiguousByExpression(value) || isUnambiguous(value), value)
    else t.equal(isUnambiguous(value), unambiguousByExpression(value), value)
  })
  fc.assert(property)
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

t.test('the author is the first entry with an address, valid or not', (t) => {
  const base64 = `=?utf-8?B?${Buffer.from('admin@legit.test').toString('base64')}?=`
  const cases: readonly (readonly [value: string, address: string | null, name: string])[] = [
    [`${base64},<second@attack.test>`, 'second@attack.test', ''],
    [`${base64}, Bob <second@attack.test>`, 'second@attack.test', 'admin@legit.test, Bob'],
    ['=?utf-8?Q?admin=40legit.test=2C?=, <second@attack.test>', 'second@attack.test', ''],
    ['=?utf-8?Q?admin@legit.test?=, <second@attack.test>', 'second@attack.test', ''],
    ['admin at legit.test, <second@attack.test>', 'second@attack.test', ''],
    ['admin at legit.test; <second@attack.test>', 'second@attack.test', ''],
    ['(admin@legit.test), second@attack.test', 'second@attack.test', ''],
    ['Admin <>, second@attack.test', 'second@attack.test', ''],
    ['<nobody>, <second@attack.test>', 'second@attack.test', ''],
    ['@legit.test, a@, <second@attack.test>', 'second@attack.test', ''],
    ['"admin@legit.test, x" <second@attack.test>', 'second@attack.test', 'admin@legit.test, x'],
    ['Team: nobody, <a@b.test>;, c@d.test', 'a@b.test', ''],
    ['Nobody:;, c@d.test', 'c@d.test', ''],
    ['a@b.test, nobody', 'a@b.test', ''],
    ['"a@b"@c.test', '"a@b"@c.test', ''],
    ['<@relay.test:a@b.test>', 'a@b.test', ''],
    ['Ann <john..doe@B.test>', 'john..doe@b.test', 'Ann'],
    ['john.@b\u00fccher.test', 'john.@xn--bcher-kva.test', ''],
    [`<${'v'.repeat(90)}@b.test>`, `${'v'.repeat(90)}@b.test`, ''],
    ['a..b@ba\u00adnk.te\u200bst', 'a..b@bank.test', ''],
    ['a@[192.0.2.1]', 'a@[192.0.2.1]', ''],
    ['john..doe@b.test, ann@b.test', 'john..doe@b.test', ''],
    [`<${'v'.repeat(400)}@b.test>`, null, ''],
    ['a\u202eb@b..test', null, ''],
    ['nobody', null, ''],
    ['=?utf-8?Q?admin@legit.test?=', null, ''],
    ['a@b@c.test', null, ''],
    ['', null, ''],
  ]
  for (const [value, address, name] of cases)
    t.strictSame(findAuthor(parseAuthors(value)), address === null ? null : { address, name }, value)
  t.end()
})

t.test('the authors of a field are those that mailauth reads', async (t) => {
  const unit = fc.constantFrom(
    ...['a', '@', 'b.test', 'x@y.test', '<', '>', '<c@d.test>', ',', ';', ':', '"', '(', ')', '\\', ' ', '=?utf-8?q?'],
    ...['?=', '[', ']', 'c..d@e.test'],
  )
  const property = fc.asyncProperty(fc.string({ unit, maxLength: 12 }), async (text) => {
    const value = text.trim()
    const verifier = new DkimVerifier({ strict: true })
    await verifier.emitHeaders(Buffer.from(`From: ${value}\r\n`))
    const written = parseAuthors(value).flatMap((author) => (author.written === '' ? [] : [author.written]))
    t.strictSame(written, verifier.headerFrom, value)
  })
  await fc.assert(property)
})
