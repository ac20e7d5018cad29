/** The rate limits of ACME servers are kept. */
import t from 'tap'
import { parseDomainName } from '../../../src/base/mail/address.js'
import { OrderLimits } from '../../../src/operations/certificates/order-limits.js'

const HOUR = 3_600_000
const WEEK = 168 * HOUR
const YEAR_OF_CERTIFICATE = 90 * 24 * HOUR
const now = Date.UTC(2026, 10, 23)

function nameOf(at: number, domain = `customer-${at}.com`) {
  return parseDomainName(`posthorn.${domain}`)
}

t.test('one name: four certificates a week, unless its certificates live for days', async (t) => {
  const limits = new OrderLimits()
  const name = nameOf(1)
  for (let at = 0; at < 4; at += 1) {
    t.equal(limits.nextOrderAt(name, now + at * HOUR, YEAR_OF_CERTIFICATE), now + at * HOUR)
    limits.recordOrder(name, now + at * HOUR)
    limits.recordIssue(name, now + at * HOUR)
  }
  t.equal(limits.nextOrderAt(name, now + 4 * HOUR, YEAR_OF_CERTIFICATE), now + WEEK)
  t.equal(limits.nextOrderAt(name, now + 4 * HOUR, null), now + WEEK)
  t.equal(limits.nextOrderAt(name, now + 4 * HOUR, 6 * 24 * HOUR), now + 4 * HOUR)
  t.equal(limits.nextOrderAt(nameOf(2), now + 4 * HOUR, null), now + 4 * HOUR, 'another name need not wait')
  t.same(limits.recall(name, now + WEEK + HOUR / 2), {
    orders: [],
    issued: [now + HOUR, now + 2 * HOUR, now + 3 * HOUR],
  })
})

t.test('what a clock noted while it was ahead does not count', async (t) => {
  const limits = new OrderLimits()
  const years = 4 * 365 * 24 * HOUR
  for (let at = 0; at < 4; at += 1) limits.recordIssue(nameOf(1), now + years + at)
  t.equal(limits.nextOrderAt(nameOf(1), now, YEAR_OF_CERTIFICATE), now)
})

t.test('one registered domain: forty certificates a week', async (t) => {
  const limits = new OrderLimits()
  for (let at = 0; at < 40; at += 1) limits.recordIssue(nameOf(at, `team-${at}.customer.co.uk`), now + at)
  t.equal(limits.nextOrderAt(nameOf(0, 'another.customer.co.uk'), now + HOUR, null), now + WEEK)
  t.equal(limits.nextOrderAt(nameOf(0, 'other.co.uk'), now + HOUR, null), now + HOUR, 'co.uk is no registered domain')
})

t.test('the account: two hundred orders in three hours', async (t) => {
  const limits = new OrderLimits()
  for (let at = 0; at < 200; at += 1) limits.recordOrder(nameOf(at), now + at)
  t.equal(limits.nextOrderAt(nameOf(999), now + HOUR, null), now + 3 * HOUR)
  limits.recordOrder(nameOf(999), now + 4 * HOUR)
  t.equal(limits.nextOrderAt(nameOf(1000), now + 4 * HOUR, null), now + 4 * HOUR)
})

t.test('what was stored in any order counts, and what is no longer stored does not', async (t) => {
  const limits = new OrderLimits()
  const name = nameOf(1)
  limits.load([[name, { orders: [], issued: [now + 3, now + 1, now + 2, now] }]])
  t.equal(limits.nextOrderAt(name, now + HOUR, null), now + WEEK)
  limits.load([])
  t.equal(limits.nextOrderAt(name, now + HOUR, null), now + HOUR)
})

t.test('orders without a certificate do not keep a name waiting', async (t) => {
  const limits = new OrderLimits()
  for (let at = 0; at < 20; at += 1) limits.recordOrder(nameOf(1), now + at)
  t.equal(limits.nextOrderAt(nameOf(1), now + HOUR, null), now + HOUR)
})
