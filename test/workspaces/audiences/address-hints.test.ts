/** Hints at addresses: roles, throw-away domains, slips of the keyboard; and what must not be hinted at. */
import fc from 'fast-check'
import t from 'tap'
import { parseAddress } from '../../../src/base/mail/address.js'
import { mailboxProviders } from '../../../src/base/mail/mailbox-providers.js'
import {
  addHints,
  createHintFinder,
  findIntendedDomain,
  isOneSlip,
  MAX_HINTS,
  noHints,
} from '../../../src/workspaces/audiences/address-hints.js'

t.test('what is said about an address', async (t) => {
  const findHints = await createHintFinder()
  const rows: readonly (readonly [string, string, string?])[] = [
    ['bob@example.org', ''],
    ['bob@gmail.com', ''],
    ['Postmaster@example.org', 'role'],
    ['sales+eu@example.org', 'role'],
    ['salesman@example.org', ''],
    ['no-reply@example.org', 'role'],
    ['bob@mailinator.com', 'disposable'],
    ['bob@inbox.Mailinator.com', 'disposable'],
    ['bob@gmial.com', 'typo', 'bob@gmail.com'],
    ['Bob@gmail.co', 'typo', 'Bob@gmail.com'],
    ['info@hotmal.com', 'typo role', 'info@hotmail.com'],
  ]
  for (const [address, kinds, suggestion] of rows) {
    const hints = findHints(parseAddress(address))
    t.equal(hints.map(({ hint }) => hint).join(' '), kinds, address)
    t.equal(hints[0]?.suggestion ?? undefined, suggestion, address)
  }
})

t.test('slips of domains', async (t) => {
  const rows: readonly (readonly [string, string | null])[] = [
    ['gmail.com', null],
    ['gamil.com', 'gmail.com'],
    ['gmaill.com', 'gmail.com'],
    ['gmal.com', 'gmail.com'],
    ['gmail.cmo', 'gmail.com'],
    ['gmail.con', 'gmail.com'],
    ['GMAIL.CM', 'gmail.com'],
    ['yaho.com', 'yahoo.com'],
    ['outlok.com', 'outlook.com'],
    ['iclould.com', 'icloud.com'],
    ['gmall.co', null],
    ['mail.com', null],
    ['ymail.com', null],
    ['yahoo.se', null],
    ['outlook.at', null],
    ['line.com', null],
    ['we.com', null],
    ['gmailcom', 'gmail.com'],
    ['gmail', null],
    ['', null],
  ]
  for (const [typed, intended] of rows) t.equal(findIntendedDomain(typed), intended, typed)
  for (const { domains } of mailboxProviders) for (const domain of domains) t.equal(findIntendedDomain(domain), null)
})

/** Damerau-Levenshtein distance, from its definition. */
function distanceOf(one: string, other: string): number {
  const rows = Array.from({ length: one.length + 1 }, (_, at) => [at])
  for (let column = 0; column <= other.length; column += 1) (rows[0] ?? [])[column] = column
  const cell = (row: number, column: number): number => rows[row]?.[column] ?? 0
  for (let row = 1; row <= one.length; row += 1) {
    for (let column = 1; column <= other.length; column += 1) {
      const same = one[row - 1] === other[column - 1] ? 0 : 1
      const isSwap = row > 1 && column > 1 && one[row - 1] === other[column - 2] && one[row - 2] === other[column - 1]
      ;(rows[row] ?? [])[column] = Math.min(
        ...[cell(row - 1, column) + 1, cell(row, column - 1) + 1, cell(row - 1, column - 1) + same],
        isSwap ? cell(row - 2, column - 2) + 1 : Number.POSITIVE_INFINITY,
      )
    }
  }
  return cell(one.length, other.length)
}

t.test('one slip is a distance of 1', async () => {
  const word = fc.string({ unit: fc.constantFrom('a', 'b', 'c'), maxLength: 6 })
  fc.assert(fc.property(word, word, (one, other) => isOneSlip(one, other) === (distanceOf(one, other) === 1)))
})

t.test('counts of all, and a list of the first', async (t) => {
  const line = { line: 1, email: 'info@a.test', hint: 'role', suggestion: null } as const
  const many = addHints(noHints, Array(MAX_HINTS - 1).fill(line))
  const more = addHints(many, [line, { ...line, line: 2 }])
  t.equal(more.hints.length, MAX_HINTS)
  t.same(more.hinted, { role: MAX_HINTS + 1, disposable: 0, typo: 0 })
})
