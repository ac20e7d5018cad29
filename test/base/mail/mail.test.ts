/** Small values of mail: addresses, dates, message ids, line ends. */
import fc from 'fast-check'
import t from 'tap'
import { formatForDisplay, parseAddress, tryParseAddress } from '../../../src/base/mail/address.js'
import { withCrlf } from '../../../src/base/mail/line-ends.js'
import { personKey } from '../../../src/base/mail/mailbox-key.js'
import { formatMessageDate } from '../../../src/base/mail/message-date.js'
import { createMessageId, isMessageId } from '../../../src/base/mail/message-id.js'
import { tryParseNamedAddress } from '../../../src/base/mail/named-address.js'

t.test('a value is cut before it is made printable', async (t) => {
  const value = 'a\u0000'.repeat(3_000_000)
  let replaced = 0
  const replace = String.prototype.replace
  t.intercept(String.prototype, 'replace', {
    value(this: string, ...given: Parameters<typeof replace>) {
      replaced = Math.max(replaced, this.length)
      return replace.apply(this, given)
    },
  })
  const said = formatForDisplay(value)
  t.equal(said, `${'a?'.repeat(48)}a...`)
  t.equal(replaced, 97)
  t.equal(formatForDisplay('x'.repeat(100)), 'x'.repeat(100))
  t.equal(formatForDisplay('😀'.repeat(100)), `${'😀'.repeat(48)}?...`, 'a pair that the cut divides')
})

t.test('the fast check of a plain address accepts what the full parser accepts, and nothing else', (t) => {
  const local = fc.string({
    unit: fc.constantFrom('a', '1', '.', '-', '_', '+', '=', '"', ' ', 'ü', '@'),
    maxLength: 6,
  })
  const domain = fc.string({ unit: fc.constantFrom('a', '1', '.', '-', '_', 'x.test'), maxLength: 8 })
  const property = fc.property(local, domain, (name, host) => {
    // Capitals in the domain are left to the full parser.
    if (!/[a-z]/.test(host)) return
    t.equal(tryParseAddress(`${name}@${host}`), tryParseAddress(`${name}@${host.toUpperCase()}`))
  })
  fc.assert(property)
  for (const length of [63, 64, 65]) {
    t.equal(tryParseAddress(`${'a'.repeat(length)}@b.test`) !== null, length <= 64)
    t.equal(tryParseAddress(`a@${'b'.repeat(length)}.test`) !== null, length <= 63)
  }
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
  const ofBroadcast = createMessageId('bc-0193a111-2222-7333-8444-555566667777', 'mail.service.test')
  for (const id of [made, ofBroadcast, '<a.b+c=d@e>', '<"x"@[10.0.0.1]>', '<ü@bücher.test>', '<a..b@c>'])
    t.ok(isMessageId(id), id)
  const wrong = ['', '<>', 'a@b', '<a>', '<a@b', '<a@@b>', '<a b@c>', '<a@b>\r\nX: y', '<a@b> ', '<a@b><c@d>', '<\0@b>']
  for (const id of [...wrong, `<${'x'.repeat(500)}@b>`]) t.notOk(isMessageId(id), JSON.stringify(id))
  t.end()
})

t.test('every line end becomes CRLF, as a replacement by pattern would have it', async (t) => {
  const texts = fc.array(fc.constantFrom('\r', '\n', '\r\n', 'a', 'ü', '')).map((parts) => parts.join(''))
  fc.assert(
    fc.property(texts, (text) => withCrlf(Buffer.from(text)).toString() === text.replace(/\r\n|\r|\n/g, '\r\n')),
  )
  t.equal(withCrlf(Buffer.from('a\n\rb\r\n')).toString(), 'a\r\n\r\nb\r\n')
})

t.test('different spellings of an address have one key, other addresses have others', async (t) => {
  const ways = ['nina@b.test', 'NINA@B.test', '"nina"@b.test', '"n\\ina"@b.test', 'nina+x@b.test', '"nina+x y"@b.test']
  for (const way of [...ways, 'nina++@b.test', 'ｎina@b.test', 'nina@b.test.']) {
    t.equal(personKey(parseAddress(way)), 'nina@b.test', way)
  }
  t.equal(personKey(parseAddress('+a@b.test')), '+a@b.test')
  t.equal(personKey(parseAddress('+b@b.test')), '+b@b.test')
  t.not(personKey(parseAddress('nino@b.test')), 'nina@b.test')
  t.not(personKey(parseAddress('nina@c.test')), 'nina@b.test')
})

t.test('one mailbox is parsed from text, and a possible list is not', async (t) => {
  const good: readonly (readonly [string, string, string])[] = [
    ['bob@b.test', 'bob@b.test', ''],
    [' <bob@B.test> ', 'bob@b.test', ''],
    ['Bob <bob@b.test>', 'bob@b.test', 'Bob'],
    ['"Bob, \\"B\\"" <bob@b.test>', 'bob@b.test', 'Bob, "B"'],
    ['Doe, John <bob@b.test>', 'bob@b.test', 'Doe, John'],
    ['bob@b.test <bob@b.test>', 'bob@b.test', 'bob@b.test'],
    ['Jürgen <j@münchen.test>', 'j@xn--mnchen-3ya.test', 'Jürgen'],
    ['"a@b"@b.test', '"a@b"@b.test', ''],
  ]
  for (const [text, address, name] of good) t.same(tryParseNamedAddress(text), { address, name }, text)
  const lists = ['a@b.test, b@b.test', 'a@b.test, Bob <b@b.test>', 'A <a@b.test> <b@b.test>', 'a@b.test; <b@b.test>']
  const bad = ['', 'Bob', '<>', 'Bob <>', 'Bob <bob>', 'bob@', 'Bob <bob@b.test> x', 'Bob bob@b.test', '<bob@b.test']
  const controls = ['A\r\nBcc: x <a@b.test>', 'a@b.test\r\nBcc: x', 'A\0 <a@b.test>', '\ud800 <a@b.test>']
  const long = [`${'n'.repeat(257)} <a@b.test>`, `${'l'.repeat(65)}@b.test`]
  for (const text of [...lists, ...bad, ...controls, ...long]) t.equal(tryParseNamedAddress(text), null, text)
})
