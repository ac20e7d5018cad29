/** The rate limits of ACME servers are kept. */
import t from 'tap'
import { OrderLimits } from '../../src/certificates/order-limits.js'
import { parseDomainName } from '../../src/mail/address.js'

const HOUR = 3_600_000
const WEEK = 168 * HOUR
const YEAR_OF_CERTIFICATE = 90 * 24 * HOUR
const now = Date.UTC(2026, 10, 23)

function nameOf(at: number, domain = `customer-${at}.com`) {
  return parseDomainName(`posthorn.${domain}`)
}

t.test('one name: four orders a week, unless its certificates live for days', async (t) => {
  const limits = new OrderLimits()
  const name = nameOf(1)
  for (let at = 0; at < 4; at += 1) {
    t.equal(limits.nextOrderAt(name, now + at * HOUR, YEAR_OF_CERTIFICATE), now + at * HOUR)
    limits.record(name, now + at * HOUR)
  }
  t.equal(limits.nextOrderAt(name, now + 4 * HOUR, YEAR_OF_CERTIFICATE), now + WEEK)
  t.equal(limits.nextOrderAt(name, now + 4 * HOUR, null), now + WEEK)
  t.equal(limits.nextOrderAt(name, now + 4 * HOUR, 6 * 24 * HOUR), now + 4 * HOUR)
  t.equal(limits.nextOrderAt(nameOf(2), now + 4 * HOUR, null), now + 4 * HOUR, 'another name need not wait')
  t.same(limits.recentOrders(name, now + WEEK + HOUR / 2), [now + HOUR, now + 2 * HOUR, now + 3 * HOUR])
})

t.test('one registered domain: forty orders a week', async (t) => {
  const limits = new OrderLimits()
  for (let at = 0; at < 40; at += 1) limits.record(nameOf(at, `team-${at}.customer.co.uk`), now + at)
  t.equal(limits.nextOrderAt(nameOf(0, 'another.customer.co.uk'), now + HOUR, null), now + WEEK)
  t.equal(limits.nextOrderAt(nameOf(0, 'other.co.uk'), now + HOUR, null), now + HOUR, 'co.uk is no registered domain')
})

t.test('the account: two hundred orders in three hours', async (t) => {
  const limits = new OrderLimits()
  for (let at = 0; at < 200; at += 1) limits.record(nameOf(at), now + at)
  t.equal(limits.nextOrderAt(nameOf(999), now + HOUR, null), now + 3 * HOUR)
  limits.record(nameOf(999), now + 4 * HOUR)
  t.equal(limits.nextOrderAt(nameOf(1000), now + 4 * HOUR, null), now + 4 * HOUR)
})

t.test('orders that are read from files in any order count', async (t) => {
  const limits = new OrderLimits()
  const name = nameOf(1)
  for (const at of [3, 1, 2, 0]) limits.record(name, now + at)
  t.equal(limits.nextOrderAt(name, now + HOUR, null), now + WEEK)
})
