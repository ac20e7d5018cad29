/** Mailboxes as people write them: what is written is read again as the same mailbox. */
import fc from 'fast-check'
import t from 'tap'
import { parseAddress } from '../../../src/base/mail/address.js'
import { isDisplayName, tryParseNamedAddress, writeNamedAddress } from '../../../src/base/mail/named-address.js'

const address = parseAddress('bob@b.test')

t.test('plain where it can be, quoted where it must be', async (t) => {
  for (const [name, written] of [
    ['', 'bob@b.test'],
    ['Bob', 'Bob <bob@b.test>'],
    ["Bob O'Neil, of B", "Bob O'Neil, of B <bob@b.test>"],
    ['Bob <b>', '"Bob <b>" <bob@b.test>'],
    ['"Bob"', '"\\"Bob\\"" <bob@b.test>'],
    ['a@b.test, Bob', '"a@b.test, Bob" <bob@b.test>'],
  ] as const) {
    t.equal(writeNamedAddress({ address, name }), written)
  }
})

t.test('any name is read again', async (t) => {
  const special = fc.constantFrom('"', '\\', '<', '>', '@', ',', ';', ' ', 'a', 'é', '🦊')
  const names = fc.oneof(fc.string({ unit: 'grapheme', maxLength: 60 }), fc.string({ unit: special, maxLength: 30 }))
  fc.assert(
    fc.property(names, (given) => {
      const name = given.trim()
      fc.pre(isDisplayName(name))
      t.same(tryParseNamedAddress(writeNamedAddress({ address, name })), { address, name })
    }),
  )
})
