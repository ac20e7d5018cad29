/** Which addresses count as one. */
import t from 'tap'
import { parseAddress } from '../../src/mail/address.js'
import { personKey } from '../../src/mail/mailbox-key.js'

t.test('the many ways to write an address are one person, other addresses are others', async (t) => {
  const ways = ['nina@b.test', 'NINA@B.test', '"nina"@b.test', '"n\\ina"@b.test', 'nina+x@b.test', '"nina+x y"@b.test']
  for (const way of [...ways, 'nina++@b.test', 'ｎina@b.test', 'nina@b.test.']) {
    t.equal(personKey(parseAddress(way)), 'nina@b.test', way)
  }
  t.equal(personKey(parseAddress('+a@b.test')), '+a@b.test')
  t.equal(personKey(parseAddress('+b@b.test')), '+b@b.test')
  t.not(personKey(parseAddress('nino@b.test')), 'nina@b.test')
  t.not(personKey(parseAddress('nina@c.test')), 'nina@b.test')
})
