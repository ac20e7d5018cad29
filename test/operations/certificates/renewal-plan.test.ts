/** When certificates are renewed, when their expiry is a warning, and how long names wait. */
import t from 'tap'
import {
  daysLeft,
  expiresSoon,
  isValidAt,
  isWaiting,
  MAX_WAIT,
  readCertificateFacts,
  renewalTimeOf,
  waitAfterFailures,
} from '../../../src/operations/certificates/renewal-plan.js'
import { createSelfSigned } from '../../helpers/certificates.js'

const HOUR = 3_600_000
const DAY = 24 * HOUR

t.test('renewal is due at two thirds of the lifetime, up to 3 % earlier or later', async (t) => {
  for (const days of [6, 45, 90]) {
    const validity = { from: 0, to: days * DAY }
    t.equal(renewalTimeOf({ ...validity, spread: 0.5 }, null), Math.round((days * DAY * 2) / 3))
    t.equal(renewalTimeOf({ ...validity, spread: 0 }, null), Math.round(days * DAY * (2 / 3 - 0.03)))
    t.equal(renewalTimeOf({ ...validity, spread: 1 }, null), Math.round(days * DAY * (2 / 3 + 0.03)))
  }
})

t.test('the window of the server comes first, and never leads beyond the expiry', async (t) => {
  const facts = { from: 0, to: 90 * DAY, spread: 0.25 }
  t.equal(renewalTimeOf(facts, { start: 10 * DAY, end: 14 * DAY }), 11 * DAY)
  t.equal(renewalTimeOf(facts, { start: -2 * DAY, end: -DAY }), -1.75 * DAY, 'a certificate that will be revoked')
  t.equal(renewalTimeOf(facts, { start: 200 * DAY, end: 300 * DAY }), 90 * DAY)
})

t.test('a wait that a clock noted while it was ahead does not count', async (t) => {
  t.notOk(isWaiting(0, DAY), 'over')
  t.ok(isWaiting(DAY, 0))
  t.ok(isWaiting(MAX_WAIT, 0))
  t.notOk(isWaiting(365 * DAY, 0))
})

t.test('the spread of a certificate is fixed', async (t) => {
  const [one, other] = [await createSelfSigned(['a.test']), await createSelfSigned(['b.test'])]
  const facts = readCertificateFacts(one.cert)
  t.same(readCertificateFacts(one.cert), facts)
  t.not(readCertificateFacts(other.cert).spread, facts.spread)
  t.ok(facts.spread >= 0 && facts.spread <= 1)
  t.equal(facts.to, Date.UTC(2099, 0, 1))
})

t.test('an expiry is near with 14 days, or a sixth of the lifetime if that is shorter', async (t) => {
  const long = { from: 0, to: 90 * DAY }
  t.notOk(expiresSoon(long, 76 * DAY))
  t.ok(expiresSoon(long, 76 * DAY + 1))
  const short = { from: 0, to: 6 * DAY }
  t.notOk(expiresSoon(short, 5 * DAY), 'its renewal was due for a day')
  t.ok(expiresSoon(short, 5 * DAY + 1))
  t.equal(daysLeft(long, 75.5 * DAY), 14)
  t.equal(daysLeft(long, 91 * DAY), -1)
  t.ok(isValidAt(long, 0))
  t.notOk(isValidAt(long, 90 * DAY))
  t.notOk(isValidAt(long, -1))
})

t.test('a name waits up to a day, a server up to an hour', async (t) => {
  const minutes = (failures: number, subject: 'name' | 'server'): number =>
    waitAfterFailures(failures, 0, subject) / 60_000
  const expected = [15, 15, 30, 60, 120, 240, 480, 960, 1440, 1440]
  t.same(
    expected.map((_, at) => minutes(at + 1, 'name')),
    expected,
  )
  t.same(
    [1, 2, 3, 7, 100].map((failures) => minutes(failures, 'server')),
    [1, 2, 5, 60, 60],
  )
  t.equal(waitAfterFailures(1, 1, 'name'), 16.5 * 60_000, 'a tenth longer')
})

t.test('the waits keep the limit of five failed validations an hour', async (t) => {
  const times = [0]
  for (let failures = 1; failures < 10; failures += 1) {
    times.push((times.at(-1) ?? 0) + waitAfterFailures(failures, 0, 'name'))
  }
  for (const from of times) t.ok(times.filter((at) => at >= from && at < from + HOUR).length < 5)
})
