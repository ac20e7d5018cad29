/** The limits of sign-in tell nobody which addresses have an account, and an IPv6 site has no more attempts than it should. */
import t from 'tap'
import { parseAddress } from '../../../../src/base/mail/address.js'
import { ClientLimit, SignInLimits } from '../../../../src/workspaces/accounts/sessions/sign-in-limits.js'

const NOW = Date.UTC(2026, 0, 1)
const refused = { message: /^too many requests/ }

t.test('invented addresses take no count from an address without an account', async (t) => {
  const { accounts } = new SignInLimits()
  const one = { email: parseAddress('one@b.test'), userId: null }
  for (let count = 0; count < 10; count += 1) accounts.take(one, NOW)
  t.throws(() => accounts.take(one, NOW), refused)
  for (let other = 0; other < 80_000; other += 1) {
    try {
      accounts.take({ email: parseAddress(`x${other}@b.test`), userId: null }, NOW)
    } catch {
      // It shares its count with others.
    }
  }
  t.throws(() => accounts.take(one, NOW), refused, 'as that of an account would be')
  accounts.take({ email: one.email, userId: 'u' }, NOW)
})

t.test('the networks of an IPv6 site count together, and IPv4 addresses alone', async (t) => {
  const clients = new ClientLimit()
  for (let network = 0; network < 10; network += 1) {
    for (let attempt = 0; attempt < 30; attempt += 1) clients.take(`2001:db8:1:${network}::${attempt}`, NOW)
    t.throws(() => clients.take(`2001:db8:1:${network}::1`, NOW), refused, 'a /64 is one address')
  }
  t.throws(() => clients.take('2001:db8:1:ffff::1', NOW), refused, 'the site has used up its own')
  clients.take('2001:db8:2::1', NOW)
  for (let host = 0; host < 20; host += 1)
    for (let attempt = 0; attempt < 30; attempt += 1) clients.take(`192.0.2.${host}`, NOW)
})
