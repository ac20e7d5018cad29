import t from 'tap'
import { judgeNumber, normalizeNumber } from '../../../src/workspaces/sms/judge-number.js'
import { catchRefusal } from '../../helpers/catch-refusal.js'

const allowed = ['DE', 'US', 'FR', 'GB', 'AT']

t.test('a mobile number of an allowed country', async (t) => {
  const german = { phone: '+4915123456789', range: '+491512345', prefix: '+49151', country: 'DE' }
  t.same(judgeNumber('+49 (0)151 23456789', allowed), german)
  const american = { phone: '+12025550123', range: '+1202555', prefix: '+1202', country: 'US' }
  t.same(judgeNumber('+1 202-555-0123', allowed), american, 'a range of fixed and mobile numbers')
  t.equal(judgeNumber('+447400123456', ['GB']).prefix, '+44740')
  t.equal(judgeNumber('+35799123456', ['CY']).prefix, '+357991')
})

/** The first fault in this order is reported: no number, its country, its range, its kind. */
const faults: readonly (readonly [phone: string, reason: string])[] = [
  ['', 'not_possible'],
  ['015123456789', 'not_possible'],
  ['+49', 'not_possible'],
  ['+4912', 'not_possible'],
  ['+491512345678901234', 'not_possible'],
  ['+336123456', 'not_possible'],
  ['+4915123456789x', 'not_possible'],
  [`+49151${'1'.repeat(100)}`, 'not_possible'],
  ['+393123456789', 'country_not_allowed'],
  ['+447797712345', 'country_not_allowed'],
  ['+18762345678', 'country_not_allowed'],
  ['+80012345678', 'country_not_allowed'],
  ['+883510012345678', 'country_not_allowed'],
  ['+870773111632', 'country_not_allowed'],
  ['+4990012345678', 'unallocated'],
  ['+447700900123', 'unallocated'],
  ['+33899123456', 'premium_rate'],
  ['+19002345678', 'premium_rate'],
  ['+49180123456', 'shared_cost'],
  ['+43820123456', 'shared_cost'],
  ['+4930123456', 'not_mobile'],
  ['+442079460958', 'not_mobile'],
  ['+18002345678', 'not_mobile'],
  ['+15005550006', 'not_mobile'],
]

t.test('each fault is refused with its field, value and reason', async (t) => {
  for (const [phone, reason] of faults) {
    const refusal = await catchRefusal(() => judgeNumber(phone, allowed))
    t.equal(refusal.kind, 'invalid-parameter', phone)
    t.match(refusal.message, /^phone: must be a /)
    t.match(refusal.details, { field: 'phone', reason }, phone)
    t.ok(String(refusal.details['value']).length <= 100)
  }
})

t.test('no country is allowed by default', async (t) => {
  t.match((await catchRefusal(() => judgeNumber('+4915123456789', []))).details, { reason: 'country_not_allowed' })
})

t.test('a number is normalized whatever its country and kind', async (t) => {
  t.equal(normalizeNumber('+44 20 7946-0958'), '+442079460958')
  t.match((await catchRefusal(() => normalizeNumber('+49'))).details, { reason: 'not_possible' })
})
