import t from 'tap'
import { MAX_CODE_LENGTH } from '../../../src/workspaces/sms/check-code.js'
import { catchRefusal } from '../../helpers/catch-refusal.js'
import { PHONE, START, sendCode, type TestCodes, testCodes, toWrongCode } from '../../helpers/sms/test-codes.js'

const MINUTE = 60_000
const checkCode = (codes: TestCodes, code: string, phone = PHONE) => codes.check({ workspaceId: 'ws_1', phone, code })

const wrong = (left: string) => ({ valid: false, status: 'invalid', message: `the code is wrong: ${left}` })
const nothingPending = { valid: false, status: 'invalid', message: 'no code is pending for this phone' }
const verified = { valid: true, status: 'verified', message: 'the code is correct' }
const expired = { valid: false, status: 'expired', message: 'the code has expired: send a new one' }
const usedUp = { valid: false, status: 'max_attempts', message: '3 wrong codes were entered: send a new one' }

interface State {
  readonly status: string
  readonly attempts: number
}
const stateOf = async ({ database }: Awaited<ReturnType<typeof testCodes>>): Promise<State | undefined> =>
  (await database.read<State>('select status, attempts from sms_codes order by created_at desc', []))[0]

t.test('a code is used once', async (t) => {
  const codes = await testCodes(t)
  const { code } = await sendCode(codes)
  codes.clock.now += 1
  t.same(await checkCode(codes, code, '+49 151 / 23456789'.replace('/', '-')), verified)
  t.same(await checkCode(codes, code), nothingPending)
  const events = await codes.database.read<{ data: string }>("select data from events where type = 'sms.verified'", [])
  t.equal(events.length, 1)
  t.match(JSON.parse(events[0]?.data ?? ''), { phone: PHONE, verified_at: '2030-01-01T00:00:00.001Z' })
  t.match(codes.lines.at(-1), { msg: 'code checked', level: 20, status: 'invalid', sms_id: /^[0-9a-f-]{36}$/ })
})

t.test('three wrong codes are counted, the fourth check is refused and every later one', async (t) => {
  const codes = await testCodes(t)
  const { code } = await sendCode(codes)
  t.same(await checkCode(codes, toWrongCode(code)), wrong('2 attempts are left'))
  t.same(await checkCode(codes, toWrongCode(code)), wrong('1 attempt is left'))
  t.same(await checkCode(codes, toWrongCode(code)), wrong('no attempt is left'))
  t.same(await stateOf(codes), { status: 'pending', attempts: 3 })
  t.same(await checkCode(codes, code), usedUp, 'the correct one, too')
  t.same(await stateOf(codes), { status: 'max_attempts', attempts: 3 })
  codes.clock.now += 11 * MINUTE
  t.same(await checkCode(codes, code), usedUp, 'whatever the time')
  const next = await sendCode(codes)
  t.same(await checkCode(codes, next.code), verified, 'until a new code is sent')
})

t.test('a code expires, and is marked', async (t) => {
  const codes = await testCodes(t)
  const { code, expiresAt } = await sendCode(codes, { expiryMinutes: 1 })
  codes.clock.now = expiresAt - 1
  t.same(await checkCode(codes, toWrongCode(code)), wrong('2 attempts are left'))
  codes.clock.now = expiresAt
  t.same(await checkCode(codes, code), expired)
  t.same(await stateOf(codes), { status: 'expired', attempts: 1 })
  t.same(await checkCode(codes, code), expired, 'again')
  const { code: next } = await sendCode(codes)
  codes.clock.now = START
  t.same(await checkCode(codes, next), verified)
})

t.test('three wrong codes outweigh the expiry', async (t) => {
  const codes = await testCodes(t)
  const { code, expiresAt } = await sendCode(codes)
  for (let guess = 0; guess < 3; guess++) await checkCode(codes, toWrongCode(code))
  codes.clock.now = expiresAt + MINUTE
  t.same(await checkCode(codes, code), usedUp)
})

t.test('a text that is no code is a wrong code, up to its limit', async (t) => {
  const codes = await testCodes(t)
  const { code } = await sendCode(codes)
  t.same(await checkCode(codes, ` ${code}`), wrong('2 attempts are left'))
  t.same(await checkCode(codes, '\u0000'), wrong('1 attempt is left'))
  t.same(await checkCode(codes, '9'.repeat(MAX_CODE_LENGTH)), wrong('no attempt is left'))
  for (const text of ['', '9'.repeat(MAX_CODE_LENGTH + 1)]) {
    const refusal = await checkCode(codes, text).then(
      () => null,
      (error: unknown) =>
        catchRefusal(() => {
          throw error
        }),
    )
    t.match(refusal, { kind: 'invalid-parameter', details: { field: 'code', value: null } })
  }
})

t.test('a phone without a code, and one that is no number', async (t) => {
  const codes = await testCodes(t)
  t.same(await checkCode(codes, '123456'), nothingPending)
  t.same(await checkCode(codes, '123456', '+33612345678'), nothingPending, 'of a country that is not allowed')
  const refusal = await checkCode(codes, '123456', '+49').catch((error: unknown) => error)
  t.match(refusal, { kind: 'invalid-parameter', details: { field: 'phone', reason: 'not_possible' } })
})

t.test('the code that was sent last decides, though the clock stands still or goes back', async (t) => {
  const codes = await testCodes(t)
  for (let round = 0; round < 5; round++) {
    codes.clock.now -= round
    const used = await sendCode(codes)
    t.same(await checkCode(codes, used.code), verified)
    const { code } = await sendCode(codes)
    for (let guess = 0; guess < 4; guess++) await checkCode(codes, toWrongCode(code))
    t.same(await checkCode(codes, code), usedUp)
  }
})

t.test('checks at the same moment', async (t) => {
  const codes = await testCodes(t)
  for (let round = 0; round < 20; round++) {
    codes.clock.now += MINUTE
    const { code } = await sendCode(codes)
    const bad = toWrongCode(code)
    const answers = async (...texts: string[]) =>
      (await Promise.all(texts.map((text) => checkCode(codes, text)))).map(({ message }) => message).sort()
    if (round % 3 === 0) {
      t.same(await answers(code, code), [nothingPending.message, verified.message], 'one of two correct ones verifies')
    } else if (round % 3 === 1) {
      t.same(await answers(bad, bad), [wrong('1 attempt is left').message, wrong('2 attempts are left').message])
      t.same(await stateOf(codes), { status: 'pending', attempts: 2 })
    } else {
      const messages = await answers(bad, bad, bad, bad, bad, code)
      const attempts = messages.filter((message) => message.startsWith('the code is wrong')).length
      // The correct one may come before the third wrong one.
      const isVerified = messages.includes(verified.message)
      t.equal(messages.filter((message) => message === usedUp.message).length, isVerified ? 0 : 3, 'no guess is free')
      t.same(await stateOf(codes), { status: isVerified ? 'verified' : 'max_attempts', attempts })
    }
  }
})

t.test('a correct check beside a wrong one', async (t) => {
  const codes = await testCodes(t)
  for (const isRightFirst of [true, false]) {
    const { code } = await sendCode(codes)
    const order = isRightFirst ? [code, toWrongCode(code)] : [toWrongCode(code), code]
    const answers = await Promise.all(order.map((text) => checkCode(codes, text)))
    t.same(answers[isRightFirst ? 0 : 1], verified)
    const other = answers[isRightFirst ? 1 : 0]
    t.same(other, other?.message === nothingPending.message ? nothingPending : wrong('2 attempts are left'))
  }
})
